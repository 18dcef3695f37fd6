package ingest

import (
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/slot"
)

// Each case adds a stronger reason to a lane that has all of the weaker ones.
func TestTheStrongestReasonIsTold(t *testing.T) {
	t.Parallel()
	const now = 1_796_119_200_000
	s := slot.State{Depth: 2, Seen: slot.Seen{Now: now, Next: slot.Head{Ticket: 8, Request: "rid", At: now}}}
	var failed slot.Record
	for _, tt := range []struct {
		reason, until, clear string
		says                 string
		add                  func()
	}{
		{"overdue", "", "", "has not come yet", func() {}},
		{"overdue", "2026-12-01T10:00:09.000Z", "", "has not come yet", func() { s.Next.Due = now + 9000 }},
		{"overdue", "", "", "no task", func() { s.Missing = 8 }},
		{"unconfirmed", "2026-12-01T10:00:01.000Z", "", "not certain", func() { s.Next.Deadline = now + 1000 }},
		{"pace", "2026-12-01T10:00:02.000Z", "", "spacing", func() { s.Gate = now + 2000 }},
		{"retry", "2026-12-01T10:00:03.000Z", "", "The request before", func() { s.Hold = now + 3000 }},
		{"retry", "2026-12-01T10:00:04.000Z", "", "Attempt 3 of the head failed (timeout)", func() {
			s.HeadNotBefore, s.HeadAttempts, failed.Reason = now+4000, 3, "timeout"
		}},
		{"target-missing", "2026-12-01T10:00:04.000Z", "", `"billing"`, func() { failed.Reason, failed.Target = "target-missing", "billing" }},
		{"running", "", "", "1", func() { s.Full, s.Running = true, make([]slot.Running, 1) }},
		{"parked", "", "POST /v1/lanes/a%2Fb/dead-letters/rid/redrive", "for good", func() { s.Stands = slot.StandsParked }},
		{"unknown", "", "POST /v1/lanes/a%2Fb/requests/rid/resolve", "nobody knows", func() { s.Stands = slot.StandsUnknown }},
		{"target-paused", "", "POST /v1/targets/bill%20me/resume", `"bill me"`, func() { s.Stands, s.HeadTarget = slot.StandsTargetPaused, "bill me" }},
		{"paused", "", "POST /v1/lanes/a%2Fb/resume", "paused", func() { s.Stands, s.Paused = slot.StandsPaused, true }},
		{"quarantine", "2026-12-01T10:00:05.000Z", "", "Redis was lost", func() { s.QuarantineUntil = now + 5000 }},
	} {
		tt.add()
		got := explain("a/b", s, failed)
		if got.Reason != tt.reason || got.Until != tt.until || got.Clear != tt.clear || got.Ticket != 8 || !strings.Contains(got.Detail, tt.says) {
			t.Errorf("got %+v, want %s until %q, clear %q, detail with %q", got, tt.reason, tt.until, tt.clear, tt.says)
		}
	}
}
