package executor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// sweep calls the function as Cloud Scheduler does.
func (h *hole) sweep(t *testing.T) Swept {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, sweepPath, nil))
	var swept Swept
	if err := json.Unmarshal(w.Body.Bytes(), &swept); err != nil || w.Code != http.StatusOK {
		t.Fatalf("sweep: %d %q: %v", w.Code, w.Body, err)
	}
	return swept
}

func TestSweep(t *testing.T) {
	t.Parallel()
	t.Run("a lane that stands is kicked once, and goes on", func(t *testing.T) {
		t.Parallel()
		h := confirmed(t)
		if diff := cmp.Diff(Swept{Lanes: 1}, h.sweep(t)); diff != "" {
			t.Errorf("a lane that has stood for seconds (-want +got):\n%s", diff)
		}
		h.forward(h.lane.Slot.Lease + slot.Grace)
		for _, want := range []Swept{{Lanes: 1, Kicked: 1}, {Lanes: 1, Kicked: 1}} {
			if diff := cmp.Diff(want, h.sweep(t)); diff != "" {
				t.Errorf("a lane that stands (-want +got):\n%s", diff)
			}
		}
		if kicks := h.queue.of(taskqueue.KindKick); len(kicks) != 1 {
			t.Errorf("%d kicks, want one however often it is swept", len(kicks))
		}
		h.kick(t)
		h.forward(slot.MissingAfter)
		h.kick(t)
		if h.status("b") != slot.Done {
			t.Errorf("b is %s, want done", h.status("b"))
		}
	})
	t.Run("a lane that is empty, busy or held is left alone", func(t *testing.T) {
		t.Parallel()
		for name, prepare := range map[string]func(*hole){
			"held":  func(h *hole) { _, _ = h.slots.Pause(t.Context(), h.lane.Slot, true) },
			"empty": func(h *hole) { _, _ = h.slots.Purge(t.Context(), h.lane.Slot) },
		} {
			h := confirmed(t)
			prepare(h)
			h.forward(time.Hour)
			if diff := cmp.Diff(Swept{Lanes: 1}, h.sweep(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		h := confirmed(t)
		h.forward(time.Hour)
		h.grant(h.a)
		if diff := cmp.Diff(Swept{Lanes: 1}, h.sweep(t)); diff != "" {
			t.Errorf("busy (-want +got):\n%s", diff)
		}
	})
	t.Run("a kick that cannot be left is counted", func(t *testing.T) {
		t.Parallel()
		h := confirmed(t)
		h.forward(time.Hour)
		h.queue.createErr = http.ErrServerClosed
		if diff := cmp.Diff(Swept{Lanes: 1, Failed: 1}, h.sweep(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
