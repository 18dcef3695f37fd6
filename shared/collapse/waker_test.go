package collapse

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestWaker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		w := setup(t, rdb).waker

		// A first watch is told to look when its subscription is confirmed, a
		// second one at once: nothing else would tell it what it has missed.
		first := w.watch("pears", "green")
		<-first.woken
		second := w.watch("pears", "red")
		<-second.woken

		// A message wakes the watches of its channel, and only those.
		other := w.watch("plums", "red")
		<-other.woken
		if n := rdb.Publish(ctx, "pears", "").Val(); n != 1 {
			t.Errorf("%d connections listen, want 1 for the instance", n)
		}
		<-first.woken
		<-second.woken
		if len(other.woken) > 0 {
			t.Error("plums were told of pears")
		}

		// One that names an entry wakes the watches of that entry.
		rdb.Publish(ctx, "pears", "red")
		<-second.woken
		if len(first.woken) > 0 {
			t.Error("green pears were told of red ones")
		}

		// Several messages are one reason to look.
		rdb.Publish(ctx, "pears", "")
		rdb.Publish(ctx, "pears", "")
		rdb.Publish(ctx, "plums", "")
		<-other.woken
		<-first.woken
		if len(first.woken) > 0 {
			t.Error("woken twice")
		}

		// The channel is left with its last watch, and may be joined again.
		w.unwatch(first)
		w.unwatch(second)
		eventually(t, "nobody listens to pears", func() bool { return rdb.PubSubNumSub(ctx, "pears").Val()["pears"] == 0 })
		again := w.watch("pears", "red")
		<-again.woken
		w.unwatch(again)
		w.unwatch(other)
	})
}
