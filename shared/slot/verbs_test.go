package slot_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
)

func TestFormatOfANewerCode(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"every script refuses it and changes nothing": func(t *testing.T, b *bundle) {
			task := b.queued(t, "a")[0]
			g := b.immediateOn(t, "other")
			b.write(t, "format", 2)
			before := b.dump(t)
			ctx, lane := t.Context(), b.lane
			calls := map[string]func() error{
				"reserve": func() error { _, err := b.store.Reserve(ctx, lane, ingest("b")); return err },
				"start":   func() error { _, err := b.store.Start(ctx, lane, task); return err },
				"finish":  func() error { _, err := b.store.Finish(ctx, lane, ended(g, "a", slot.Accept)); return err },
				"renew":   func() error { _, _, err := b.store.Renew(ctx, lane, g); return err },
				"ending":  func() error { _, err := b.store.Ending(ctx, lane, ended(g, "a", slot.Accept)); return err },
				"confirm": func() error { _, err := b.store.Confirm(ctx, lane, "a", task.Ticket, task.Incarnation); return err },
				"void":    func() error { _, err := b.store.Void(ctx, lane, "a", task.Ticket, true); return err },
				"missing": func() error {
					_, err := b.store.Missing(ctx, lane, slot.Head{Ticket: task.Ticket, Request: "a"})
					return err
				},
				"kick":    func() error { _, _, err := b.store.Kick(ctx, lane, task.Incarnation, 0, "o"); return err },
				"inspect": func() error { _, _, err := b.store.Inspect(ctx, lane, "a"); return err },
				"list":    func() error { _, err := b.store.List(ctx, lane, slot.ListRequest{Size: 1}); return err },
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, slot.ErrFormat) {
					t.Errorf("%s: %v, want ErrFormat", name, err)
				}
			}
			if diff := cmp.Diff(before, b.dump(t)); diff != "" {
				t.Errorf("state (-before +after):\n%s", diff)
			}
		},
	})
}

// verbs are all calls of the store.
func (b *bundle) verbs(t *testing.T, task slot.StartRequest, g slot.Grant) map[string]func() error {
	ctx, lane, h := t.Context(), b.lane, slot.Head{Ticket: task.Ticket, Request: task.Request}
	return map[string]func() error{
		"reserve": func() error { _, err := b.store.Reserve(ctx, lane, ingest("b")); return err },
		"start":   func() error { _, err := b.store.Start(ctx, lane, task); return err },
		"finish":  func() error { _, err := b.store.Finish(ctx, lane, ended(g, "a", slot.Accept)); return err },
		"renew":   func() error { _, _, err := b.store.Renew(ctx, lane, g); return err },
		"ending":  func() error { _, err := b.store.Ending(ctx, lane, ended(g, "a", slot.Accept)); return err },
		"confirm": func() error { _, err := b.store.Confirm(ctx, lane, "a", task.Ticket, task.Incarnation); return err },
		"void":    func() error { _, err := b.store.Void(ctx, lane, "a", task.Ticket, true); return err },
		"missing": func() error { _, err := b.store.Missing(ctx, lane, h); return err },
		"settle":  func() error { _, err := b.store.Settle(ctx, lane, h, ""); return err },
		"kick":    func() error { _, _, err := b.store.Kick(ctx, lane, task.Incarnation, 0, "o"); return err },
		"inspect": func() error { _, _, err := b.store.Inspect(ctx, lane, "a"); return err },
		"list":    func() error { _, err := b.store.List(ctx, lane, slot.ListRequest{Size: 1}); return err },
		"resolve": func() error { _, err := b.store.Resolve(ctx, lane, "a", slot.Skip, "o"); return err },
		"cancel":  func() error { _, err := b.store.Cancel(ctx, lane, "a"); return err },
		"pause":   func() error { _, err := b.store.Pause(ctx, lane, true); return err },
		"purge":   func() error { _, err := b.store.Purge(ctx, lane); return err },
		"flushed": func() error { return b.store.Flushed(ctx, lane, slot.FlushedRequest{ID: "a"}) },
	}
}

func TestRedisOutOfReach(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	b := setup(t, server.Client())
	b.clock.After = nil
	b.queued(t, "a")
	server.Kill()
	for name, call := range b.verbs(t, slot.StartRequest{Ticket: 1, Request: "a"}, slot.Grant{}) {
		if err := call(); !redisconn.IsUnreachable(err) || !strings.Contains(err.Error(), b.lane.Key) {
			t.Errorf("%s: %v, want that Redis is out of reach, and the lane's name", name, err)
		}
	}
	intervals := slot.NewIntervals(b.rdb, time.Now)
	if err := intervals.Exchange(t.Context(), "paced"); !redisconn.IsUnreachable(err) {
		t.Errorf("exchange: %v, want that Redis is out of reach", err)
	}
	if _, err := slot.CountMissing(t.Context(), b.rdb, time.Now()); !redisconn.IsUnreachable(err) {
		t.Errorf("count: %v, want that Redis is out of reach", err)
	}
	if _, err := slot.MissingCount(t.Context(), b.rdb, time.Now()); !redisconn.IsUnreachable(err) {
		t.Errorf("read the count: %v, want that Redis is out of reach", err)
	}
}

// immediateOn has a request run on another lane: a grant that this lane knows nothing of.
func (b *bundle) immediateOn(t *testing.T, key string) slot.Grant {
	t.Helper()
	other := *b
	other.lane.Key += key
	return other.immediate(t, "x")
}
