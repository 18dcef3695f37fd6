package slot_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// A dead letter is kept anew whenever its request is replayed.
func TestADeadLetterThatIsKeptAgainTakesTheListFromNoOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		lane := paced("dead " + t.Name())
		letters := slot.NewDeadLetters(rdb)
		keep := func(id string, age time.Duration) {
			t.Helper()
			letter := slot.DeadLetter{ID: id, Ticket: 1, Finished: time.Now().Add(-age)}
			if err := letters.Keep(t.Context(), lane, letter, []byte("body")); err != nil {
				t.Fatal(err)
			}
		}
		const nearly = time.Minute
		keep("new", 0)
		keep("old", lane.Retention-nearly)
		list := rdb.PTTL(t.Context(), slot.KeysOf(lane.Key).DeadLetters()).Val()
		if letter := rdb.PTTL(t.Context(), slot.KeysOf(lane.Key).DeadLetter("new")).Val(); list < letter {
			t.Errorf("the list lives for %s, want at least as long as its letter: %s", list, letter)
		}
	})
}
