package ingest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/problem"
)

func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAPanicOfOursIs500AndLogged(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"with an error": errors.New("index out of range"), "with the client's payload": "payload"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.slots.at(func(string, point) error { panic(value) })
			wantProblem(t, b.submit("lane-a"), 500, problem.Internal)
			log := b.log.String()
			if !strings.Contains(log, `"severity":"ERROR"`) || !strings.Contains(log, "serve_test.go") {
				t.Errorf("the log does not say where: %s", log)
			}
			if strings.Contains(log, "panic: payload") || strings.Contains(log, "with payload") {
				t.Errorf("the log shows the payload: %s", log)
			}
		})
	}
	t.Run("and after an answer has begun the connection is cut", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		w := &failing{ResponseRecorder: httptest.NewRecorder()}
		if !dying(t, func() { b.handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/lanes/lane-a", nil)) }) {
			t.Error("the client takes half an answer for a whole one")
		}
	})
}

// failing breaks while the body is written.
type failing struct{ *httptest.ResponseRecorder }

func (failing) Write([]byte) (int, error) { panic(errors.New("write")) }

func TestAfterTheSignalNothingNewIsTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := b.occupy("lane-a")
	closed := make(chan error)
	go func() { closed <- b.drain.Close(context.Background()) }()
	<-b.drain.Closed()
	wantProblem(t, b.submit("lane-b"), 503, problem.Unavailable)
	wantProblem(t, b.get("/v1/health"), 503, problem.Unavailable)
	release() // what runs is ended before the process is
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, request := b.inspect("lane-a", ""); request.Known {
		t.Error("unexpected request")
	}
	if s, _ := b.inspect("lane-a", ""); s.Depth != 0 || s.Resolved != 1 {
		t.Errorf("the run was not finished: %+v", s)
	}
}

func TestNoIdempotencyKeyAndNoPayloadIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := once("very-secret")
	b.submit("lane-a", secret)
	b.queue.set(refused)
	b.submit("lane-a", async, once("very-secret-2"))
	b.queue.set(vanished)
	b.submit("lane-a", async, once("very-secret-3"))
	b.target.next(abort)
	b.submit("once-a", secret)
	if log := b.log.String(); log == "" || strings.Contains(log, "very-secret") || strings.Contains(log, "payload") {
		t.Errorf("log: %s", log)
	}
}
