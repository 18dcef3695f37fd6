package collapse

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

// redial is a client of the same server whose connections are wrapped.
func redial(t *testing.T, rdb *redis.Client, wrap func(net.Conn) net.Conn, hooks ...redis.Hook) *redis.Client {
	t.Helper()
	options := *rdb.Options()
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
	client := redis.NewClient(&options)
	for _, hook := range hooks {
		client.AddHook(hook)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// deaf subscribes to channels on which nobody speaks: every message is lost.
type deaf struct{ net.Conn }

func (d deaf) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\nsubscribe\r\n")) {
		p = bytes.ReplaceAll(p, []byte("seriatim-fetch:"), []byte("seriatim-void-:"))
	}
	return d.Conn.Write(p)
}

func TestDo_everyMessageLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, redial(t, rdb, func(c net.Conn) net.Conn { return deaf{c} }), a.origin)
		b.poll = 5 * time.Millisecond
		entered, release := a.origin.gated()
		leader := a.many(t, 1)
		<-entered
		there := b.many(t, 50)
		b.waitsInRedis(t)
		release()
		for _, r := range append(leader(), there()...) {
			if r.err != nil || string(r.Value) != "answer 1" {
				t.Errorf("%+v", r)
			}
		}
		a.origin.called(t, 1)
	})
}

// Without a poll only the message can wake a follower.
func TestDo_wokenByMessage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		b.poll = time.Hour
		for round := range int64(20) {
			if err := a.Invalidate(t.Context(), a.key); err != nil {
				t.Fatal(err)
			}
			entered, release := make(chan struct{}), make(chan struct{})
			a.origin.hook = func(context.Context, int64, *Stored) (Answer, error) {
				close(entered)
				<-release
				return Answer{Value: []byte("late")}, nil
			}
			leader := a.many(t, 1)
			<-entered
			there := b.many(t, 3, func(p *Policy) { p.Lease = time.Hour })
			if round%2 == 0 { // else the answer may come between look-up and subscription
				b.following(t, rdb, 1)
			}
			close(release)
			for _, r := range append(leader(), there()...) {
				if r.err != nil || string(r.Value) != "late" {
					t.Errorf("%+v", r)
				}
			}
			a.origin.called(t, round+1)
		}
	})
}

// twice sends every command again, as the client does when a reply was lost.
type twice struct{}

func (twice) DialHook(next redis.DialHook) redis.DialHook { return next }

func (twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		_ = next(ctx, cmd)
		cmd.SetErr(nil)
		return next(ctx, cmd)
	}
}

func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestDo_everythingSentTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		observer := redial(t, rdb, func(c net.Conn) net.Conn { return c })
		rdb.AddHook(twice{})
		a := setup(t, rdb)
		b := beside(t, rdb, a.origin)
		entered, release := a.origin.gated()
		leader := a.many(t, 1)
		<-entered
		here, there := a.many(t, 20), b.many(t, 20)
		a.waiting(t, 20)
		b.following(t, observer, 1)
		release()
		for _, r := range append(append(leader(), here()...), there()...) {
			if r.err != nil || string(r.Value) != "answer 1" {
				t.Errorf("%+v", r)
			}
		}
		if r := b.must(t); r.Outcome != Hit {
			t.Errorf("afterwards: %+v", r)
		}
		a.origin.called(t, 1)
	})
}
