package collapse

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// untimed compares results but for their ages and lives.
var untimed = cmp.Options{
	cmpopts.IgnoreFields(Result{}, "TTL", "Age"), cmpopts.EquateErrors(),
	cmp.Comparer(bytes.Equal), // go-cmp takes half a minute for a mebibyte
}

func TestDo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)

		// The first caller fetches, later ones find the answer, here and elsewhere.
		want := Result{Value: []byte("answer 1"), Outcome: Miss, Stored: true}
		if diff := cmp.Diff(want, a.must(t), untimed); diff != "" {
			t.Errorf("first (-want +got):\n%s", diff)
		}
		want = Result{Value: []byte("answer 1"), Outcome: Hit}
		for _, instance := range []*bundle{a, b} {
			got := instance.must(t)
			if diff := cmp.Diff(want, got, untimed); diff != "" {
				t.Errorf("later (-want +got):\n%s", diff)
			}
			if got.TTL <= 53*time.Second || got.TTL > time.Minute {
				t.Errorf("TTL %v, want at most a minute, less a tenth and what has passed", got.TTL)
			}
		}
		a.origin.called(t, 1)

		// Another key is another read.
		b.key.Read += "&in=EUR"
		if got := b.must(t); string(got.Value) != "answer 2" {
			t.Errorf("other key: %q", got.Value)
		}
	})
}

func TestDo_collapses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, release := a.origin.gated()

		leader := a.many(t, 1)
		<-entered
		here, there := a.many(t, 50), b.many(t, 50)
		a.waiting(t, 50)
		b.following(t, rdb, 1)
		release()

		if got := leader()[0]; got.err != nil || got.Outcome != Miss || got.Collapsed {
			t.Errorf("leader: %+v", got)
		}
		for _, got := range append(here(), there()...) {
			if got.err != nil || string(got.Value) != "answer 1" {
				t.Fatalf("follower: %+v", got)
			}
		}
		a.origin.called(t, 1)
	})
}

func TestDo_keeps(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		answer Answer
		want   Result
	}{
		{"an empty value is a value", Answer{Value: []byte{}}, Result{Value: []byte{}, Outcome: Hit}},
		{"a value of no bytes at all is one too", Answer{}, Result{Value: []byte{}, Outcome: Hit}},
		{"the largest value", Answer{Value: make([]byte, MaxValue)}, Result{Value: make([]byte, MaxValue), Outcome: Hit}},
		{"a failure, for the negative TTL", Answer{Value: []byte("503"), Failed: true}, Result{Value: []byte("503"), Outcome: Hit, Failed: true}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
				b := setup(t, rdb)
				b.origin.hook = answers(tc.answer, nil)
				b.must(t)
				if diff := cmp.Diff(tc.want, b.must(t), untimed); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				b.origin.called(t, 1)
			})
		})
	}
}

func TestDo_sharesErrors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		refused := errors.New("connection refused")
		a.origin.hook = answers(Answer{}, refused)

		// Who fetched knows the error itself, the others its text.
		if _, err := a.do(t); !errors.Is(err, ErrOrigin) || !errors.Is(err, refused) {
			t.Errorf("leader: %v", err)
		}
		_, err := b.do(t)
		if !errors.Is(err, ErrOrigin) || errors.Is(err, refused) {
			t.Errorf("other instance: %v", err)
		}
		if want := "collapse: the origin failed: collapse: the origin failed: connection refused"; err != nil && err.Error() == want {
			t.Errorf("the text repeats itself: %v", err)
		}
		a.origin.called(t, 1)
	})
}
