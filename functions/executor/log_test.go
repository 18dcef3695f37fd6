package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/target"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestTransitionsAreLogged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		f := setup(t, rdb, "spacing: 1h")
		f.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: 200, Body: []byte("secret answer")}, nil
		}
		var out bytes.Buffer
		ctx := logging.WithContext(t.Context(), logging.New(&out, "p"))
		first, second := f.submit("first"), f.submit("second")
		first.IdempotencyKey, first.Body = "secret key", []byte("secret payload")
		first.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		for range 2 {
			if got := f.Deliver(ctx, first); got != http.StatusOK {
				t.Fatal(got)
			}
		}
		if got := f.Deliver(ctx, second); got != http.StatusOK {
			t.Fatal(got)
		}
		for _, want := range []string{
			`"attempt ended"`, `"request":"` + first.ID + `","attempt":1,"slip_ms":`, `"client_trace":"0af7651916cd43dd8448eb211c80319c"`,
			`"request found ended"`, `"status":"done"`, `"request snoozed"`, `"reason":"rank"`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no line has %s:\n%s", want, &out)
			}
		}
		if strings.Contains(out.String(), "secret") {
			t.Errorf("a payload or an idempotency key is in the log:\n%s", &out)
		}
	})
}

// warned delivers a task and returns the given fields of the warnings with that message, one text a line.
func (b *fixture) warned(e taskqueue.Envelope, message string, fields ...string) []string {
	b.t.Helper()
	var out bytes.Buffer
	if got := b.Deliver(logging.WithContext(b.t.Context(), logging.New(&out, "p")), e); got != http.StatusOK {
		b.t.Fatalf("%s: %d", e.ID, got)
	}
	var found []string
	for line := range strings.Lines(out.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			b.t.Fatal(err)
		}
		if v["message"] == message && v["severity"] == "WARNING" {
			var values []string
			for _, name := range fields {
				values = append(values, fmt.Sprint(v[name]))
			}
			found = append(found, strings.Join(values, " "))
		}
	}
	return found
}

func TestALaneThatStandsUntilAnOperatorSpeaksIsLogged(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, b *fixture, what string, e taskqueue.Envelope, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, b.warned(e, "lane stands until an operator speaks", "request", "why")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setup(t, rdb, "spacing: 0s, attempts: 1, exhausted: park")
		b.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: http.StatusInternalServerError}, nil
		}
		first, second := b.submit("first"), b.submit("second")
		check(t, b, "the attempt that parks it", first, "first parked")
		first.K = 1
		check(t, b, "its task, when it comes again", first, "first parked")
		check(t, b, "who waits behind it", second)
	})
	t.Run("on a request whose outcome is unknown", func(t *testing.T) {
		t.Parallel()
		b := newTimed(t, "spacing: 0s, ambiguous: hold")
		first, second := b.submit("first"), b.submit("second")
		b.grant(first)
		b.forward(b.lane.Slot.Lease + time.Second)
		check(t, b.fixture, "its task", first, "first unknown")
		check(t, b.fixture, "who waits behind it", second)
	})
	t.Run("on one that has no task, as its ingest died while it ran it", func(t *testing.T) {
		t.Parallel()
		b := newTimed(t, "spacing: 0s, ambiguous: hold")
		r, err := b.slots.Reserve(t.Context(), b.lane.Slot, slot.ReserveRequest{ID: "first", Owner: "dead", Immediate: true, Submitted: b.now, Target: "work"})
		if err != nil || r.Verdict != slot.Run {
			t.Fatal(r, err)
		}
		b.forward(b.lane.Slot.Lease + time.Second)
		check(t, b.fixture, "who waits behind it", b.submit("second"), "first unknown")
	})
}

func TestADeathByDeadlineIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, ender := range map[string]string{"by its own task": "dies", "by who drives it": "waits"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTimed(t, "spacing: 0s")
			tasks := map[string]taskqueue.Envelope{"dies": b.submitUntil("dies", b.now.Add(time.Second)), "waits": b.submit("waits")}
			b.forward(time.Minute)
			for i, id := range []string{ender, "dies", "waits"} {
				var want []string
				if i == 0 {
					want = []string{"dies dead deadline"}
				}
				if diff := cmp.Diff(want, b.warned(tasks[id], "request died waiting", "request", "outcome", "reason")); diff != "" {
					t.Errorf("delivery %d (-want +got):\n%s", i, diff)
				}
			}
			if b.status("dies") != slot.Dead || b.status("waits") != slot.Done {
				t.Errorf("%s and %s, want dead and done", b.status("dies"), b.status("waits"))
			}
		})
	}
}
