package slot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

// hubBundle is a hub on a Redis of its own.
type hubBundle struct {
	server *redistest.Server
	rdb    *redis.Client
	hub    *slot.Hub
}

func newHub(t *testing.T) *hubBundle {
	t.Helper()
	server := redistest.Start(t)
	b := &hubBundle{server: server, rdb: server.Client()}
	b.hub = slot.NewHub(b.rdb)
	t.Cleanup(func() { _ = b.hub.Close() })
	return b
}

// listen listens and waits until Redis has the subscription.
func (b *hubBundle) listen(t *testing.T, key string, ticket int64) *slot.Listener {
	t.Helper()
	l := b.hub.Listen(key, ticket)
	t.Cleanup(l.Close)
	if w := receive(t, l); w.At != 0 {
		t.Fatalf("first wake-up %+v, want the subscription's", w)
	}
	return l
}

func (b *hubBundle) publish(t *testing.T, key, payload string) {
	t.Helper()
	if err := b.rdb.Publish(t.Context(), slot.KeysOf(key).Wake(), payload).Err(); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, l *slot.Listener) slot.Wakeup {
	t.Helper()
	select {
	case w := <-l.C:
		return w
	case <-time.After(time.Minute):
		t.Fatal("no wake-up within a minute")
		return slot.Wakeup{}
	}
}

func silent(t *testing.T, l *slot.Listener) {
	t.Helper()
	select {
	case w := <-l.C:
		t.Errorf("woken with %+v, want nothing", w)
	default:
	}
}

func (b *hubBundle) subscribers(t *testing.T) int {
	t.Helper()
	list, err := b.rdb.Do(t.Context(), "CLIENT", "LIST", "TYPE", "PUBSUB").Text()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "\n")
}

func TestHub(t *testing.T) {
	t.Parallel()
	t.Run("a wake-up reaches the listener of its ticket and nobody else", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		first, other := b.listen(t, "a", 1), b.hub.Listen("a", 2)
		defer other.Close()
		namesake := b.listen(t, "b", 1)
		b.publish(t, "a", wake(1, 77))
		if w := receive(t, first); w.At != 77 {
			t.Errorf("woken with %+v, want at 77", w)
		}
		b.publish(t, "b", wake(1, 78)) // the hub delivers in order: by now it has delivered the first to all
		receive(t, namesake)
		silent(t, other)
		silent(t, first)
	})
	t.Run("the end of a request wakes those who listen for it, and nobody else", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		store, lane := slot.New(b.rdb, slot.First, nil), paced("ends "+t.Name())
		ends, other := b.hub.ListenEnd(lane.Key, "a"), b.hub.ListenEnd(lane.Key, "b")
		defer ends.Close()
		defer other.Close()
		receive(t, ends) // the subscription has been made
		receive(t, other)
		req := ingest("a")
		req.Immediate = true
		res, err := store.Reserve(t.Context(), lane, req)
		if err == nil {
			_, err = store.Finish(t.Context(), lane, ended(res.Grant, "a", slot.Accept))
		}
		if err != nil {
			t.Fatal(err)
		}
		receive(t, ends)
		silent(t, other)
	})
	t.Run("a newer wake-up replaces one that nobody has read, and nonsense none", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		l, last := b.listen(t, "a", 1), b.listen(t, "b", 1)
		for i := range 100 {
			b.publish(t, "a", wake(1, int64(i)))
		}
		for _, nonsense := range []string{"", " ", "1", "1 ", "x 1", "1 x", "1 2 3", "99999999999999999999 1", "\x00", strings.Repeat("1", 1<<16)} {
			b.publish(t, "a", nonsense)
		}
		b.publish(t, "b", wake(1, 1))
		receive(t, last)
		if w := receive(t, l); w.At != 99 {
			t.Errorf("woken with %+v, want the last, at 99", w)
		}
		silent(t, l)
	})
	t.Run("a thousand listeners share one connection, and leave none of their channels behind", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		b.listen(t, "first", 1)
		var listeners []*slot.Listener
		for i := range 1000 {
			listeners = append(listeners, b.hub.Listen(fmt.Sprint("lane ", i%50), int64(i)))
		}
		if n := b.subscribers(t); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
		for _, l := range listeners {
			l.Close()
		}
		b.listen(t, "last", 1) // its confirmation comes after those of the unsubscriptions
		if channels := b.rdb.PubSubChannels(t.Context(), "*").Val(); len(channels) != 2 {
			t.Errorf("%d channels are subscribed, want the first and the last: %v", len(channels), channels)
		}
	})
	t.Run("one listener of a lane leaves, the other stays", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		stays, leaves := b.listen(t, "a", 1), b.hub.Listen("a", 2)
		leaves.Close()
		leaves.Close() // twice is once
		b.publish(t, "a", wake(1, 5))
		if w := receive(t, stays); w.At != 5 {
			t.Errorf("woken with %+v, want at 5", w)
		}
	})
	t.Run("after a lost connection everybody looks again, and wake-ups go on", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		l := b.listen(t, "a", 1)
		if err := b.rdb.Do(t.Context(), "CLIENT", "KILL", "TYPE", "PUBSUB").Err(); err != nil {
			t.Fatal(err)
		}
		if w := receive(t, l); w.At != 0 {
			t.Errorf("woken with %+v, want to look again", w)
		}
		b.publish(t, "a", wake(1, 6))
		if w := receive(t, l); w.At != 6 {
			t.Errorf("woken with %+v, want at 6", w)
		}
	})
	t.Run("a Redis that was away is heard again", func(t *testing.T) {
		t.Parallel()
		b := newHub(t)
		l := b.listen(t, "a", 1)
		b.server.Kill()
		away := b.hub.Listen("b", 1) // no error, no wake-up
		defer away.Close()
		b.server.Restart()
		for _, listener := range []*slot.Listener{l, away} {
			if w := receive(t, listener); w.At != 0 {
				t.Errorf("woken with %+v, want to look again", w)
			}
		}
		b.publish(t, "a", wake(1, 7))
		if w := receive(t, l); w.At != 7 {
			t.Errorf("woken with %+v, want at 7", w)
		}
	})
	t.Run("a Redis that does not answer keeps nobody waiting who listens", func(t *testing.T) {
		t.Parallel()
		silence := &unanswered{deaf: deaf{make(chan any)}, asked: make(chan []string), answers: make(chan struct{})}
		hub := slot.NewHubOn(func() slot.PubSub { return silence })
		defer hub.Close()
		first := hub.Listen("a", 1)
		defer first.Close()
		if got := <-silence.asked; !cmp.Equal(got, []string{slot.KeysOf("a").Wake()}) {
			t.Errorf("subscribes to %q, want the lane of the first", got)
		}
		left := hub.Listen("left", 1)
		for _, key := range []string{"c", "b", "b"} {
			defer hub.Listen(key, 2).Close()
		}
		left.Close()
		close(silence.answers)
		if got := <-silence.asked; !cmp.Equal(got, []string{slot.KeysOf("b").Wake(), slot.KeysOf("c").Wake()}) {
			t.Errorf("subscribes to %q, want all others at once", got)
		}
	})
	t.Run("a hub that nobody has listened to has no connection to close", func(t *testing.T) {
		t.Parallel()
		if err := slot.NewHubOn(func() slot.PubSub { panic("subscribed") }).Close(); err != nil {
			t.Error(err)
		}
	})
}

// deaf is a subscription on which no message ever comes.
type deaf struct{ messages chan any }

func (deaf) Subscribe(context.Context, ...string) error   { return nil }
func (deaf) Unsubscribe(context.Context, ...string) error { return nil }
func (d deaf) ChannelWithSubscriptions(...redis.ChannelOption) <-chan any {
	return d.messages
}
func (d deaf) Close() error {
	close(d.messages)
	return nil
}

// unanswered is a subscription that hangs until answers is closed.
type unanswered struct {
	deaf
	asked   chan []string
	answers chan struct{}
}

func (u *unanswered) Subscribe(_ context.Context, channels ...string) error {
	u.asked <- channels
	<-u.answers
	return nil
}

// TestEveryWakeupLost has all wake-ups lost: the lane goes on by the polls of its waiters, in order.
func TestEveryWakeupLost(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, paced("deaf"))
	c.lane.Spacing = 0
	c.hub = slot.NewHubOn(func() slot.PubSub { return deaf{make(chan any)} })
	t.Cleanup(func() { _ = c.hub.Close() })
	tasks := c.submit(t, 5)
	c.check(t, c.serve(t, tasks, 3), tasks)
}
