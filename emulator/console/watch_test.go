package console_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/console"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
)

// start runs an emulator with the document of the tests.
func start(t *testing.T) *stack.Stack {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{Config: document})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// call calls the API, and answers the request's id.
func call(t *testing.T, s *stack.Stack, method, path string, headers ...string) (id string) {
	t.Helper()
	return send(t, s, "secret payload", method, path, headers...)
}

// send is call with a body.
func send(t *testing.T, s *stack.Stack, body, method, path string, headers ...string) (id string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	client := http.Client{Transport: openapitest.Transport(t, http.DefaultTransport)}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Seriatim-Request-Id")
}

const async = "Prefer: respond-async"

// happened reads the stream until want has happened to the lane of key, in this order among all that happened to it.
func happened(t *testing.T, s *stack.Stack, key string, want ...console.Kind) (events []console.Event) {
	t.Helper()
	next := listen(t, s.URL, "")
	for missing := want; ; {
		for _, e := range next().batch.Events {
			if e.Key != key {
				continue
			}
			events = append(events, e)
			if e.Kind == missing[0] {
				if missing = missing[1:]; len(missing) == 0 {
					return events
				}
			}
		}
	}
}

func TestTheJournalTells(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("an immediate run", func(t *testing.T) {
		t.Parallel()
		id := call(t, s, "POST", "/v1/lanes/fast-a/requests")
		got := happened(t, s, "fast-a", console.Reserved, console.Granted, console.Done)
		for _, e := range got {
			if e.ID != id || e.Ticket != got[0].Ticket || e.At < got[0].At || e.Driven {
				t.Errorf("%+v, want request %s all along", e, id)
			}
		}
		if len(got) != 3 || got[0].Slot != got[1].At || got[2].Attempt != 1 {
			t.Errorf("%+v, want a place, a run from its slot on, an end", got)
		}
	})
	t.Run("a queued run", func(t *testing.T) {
		t.Parallel()
		call(t, s, "POST", "/v1/lanes/fast-b/requests", async)
		got := happened(t, s, "fast-b", console.Reserved, console.Granted, console.Done)
		if got[0].Slot == 0 {
			t.Errorf("%+v, want a slot", got[0])
		}
	})
	t.Run("a request that is given up", func(t *testing.T) {
		t.Parallel()
		call(t, s, "POST", "/v1/lanes/failing-a/requests")
		got := happened(t, s, "failing-a", console.Granted, console.Dead)
		if got[len(got)-1].Reason == "" {
			t.Errorf("%+v, want a reason", got)
		}
	})
	t.Run("a retry", func(t *testing.T) {
		t.Parallel()
		call(t, s, "POST", "/v1/lanes/retried-a/requests")
		got := happened(t, s, "retried-a", console.Granted, console.Retried)
		if e := got[len(got)-1]; e.Slot <= e.At {
			t.Errorf("%+v, want a later start", e)
		}
	})
	t.Run("what operators do", func(t *testing.T) {
		t.Parallel()
		call(t, s, "POST", "/v1/lanes/fast-c/pause")
		id := call(t, s, "POST", "/v1/lanes/fast-c/requests")
		// Its task comes, and is put off as the lane is held.
		happened(t, s, "fast-c", console.Paused, console.Reserved, console.Snoozed)
		call(t, s, "DELETE", "/v1/lanes/fast-c/requests/"+id)
		call(t, s, "POST", "/v1/lanes/fast-c/purge")
		call(t, s, "POST", "/v1/lanes/fast-c/resume")
		happened(t, s, "fast-c", console.Cancelled, console.Purged, console.Resumed)
	})
	t.Run("driven runs", func(t *testing.T) {
		t.Parallel()
		s := start(t) // whose counts are of this lane alone
		// Many are there at once, and tasks err late: most are run by whoever has just ended.
		for range 40 {
			call(t, s, "POST", "/v1/lanes/paced-a/requests", async)
		}
		got := happened(t, s, "paced-a", slices.Repeat([]console.Kind{console.Done}, 40)...)
		driven := slices.DeleteFunc(slices.Clone(got), func(e console.Event) bool { return !e.Driven })
		if int64(len(driven)) != s.Stats().Drives {
			t.Errorf("%d driven runs told, %d counted", len(driven), s.Stats().Drives)
		}
	})
}

func TestTheJournalTellsWhatCloudTasksDoesWrong(t *testing.T) {
	t.Parallel()
	s := start(t)
	set := func(text string) {
		faults, err := cloudtasks.ParseFaults(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Tasks.SetFaults(faults)
	}
	set("late=1:1500ms")
	call(t, s, "POST", "/v1/lanes/fast-late/requests", async)
	got := happened(t, s, "fast-late", console.Late, console.Granted)
	if e := got[1]; e.LateMS < 1000 || e.Ticket != got[0].Ticket {
		t.Errorf("%+v, want it 1500 ms late", e)
	}
	set("error=1:NOT_FOUND@CreateTask")
	call(t, s, "POST", "/v1/lanes/fast-void/requests", async)
	got = happened(t, s, "fast-void", console.Reserved, console.Voided)
	if got[0].Ticket != got[1].Ticket || got[0].ID != got[1].ID {
		t.Errorf("%+v, want one ticket", got)
	}
}

func TestNoPayloadOrKeyOfIdempotencyPassesThroughTheJournal(t *testing.T) {
	t.Parallel()
	s := start(t)
	call(t, s, "POST", "/v1/lanes/fast-a/requests", `Idempotency-Key: "hush"`)
	if text := fmt.Sprintf("%+v", happened(t, s, "fast-a", console.Done)); strings.Contains(text, "secret") || strings.Contains(text, "hush") {
		t.Errorf("the journal tells %s", text)
	}
}

func TestForeignPagesGetNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"/console/", "/console/api/events", "/console/api/stats"} {
		for _, foreign := range []string{"Origin: https://example.com", "Origin: null", "Host: example.com"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			name, value, _ := strings.Cut(foreign, ": ")
			r.Header.Set(name, value)
			r.Host = r.Header.Get("Host")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if diff := cmp.Diff(http.StatusForbidden, resp.StatusCode); diff != "" {
				t.Errorf("%s with %s (-want +got):\n%s", path, foreign, diff)
			}
		}
	}
}
