// Package walkthrough runs the main job as a user would, over HTTP, and checks every promise from outside: it submits many
// requests under one key at once and compares what clients, target and queue saw.
package walkthrough

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seriatim/seriatim/emulator/stack"
	"golang.org/x/sync/errgroup"
)

// Options of a run.
type Options struct {
	// Requests is how many are submitted at once, at least 1.
	Requests int
	// Spacing is that of the key's policy.
	Spacing time.Duration
	// Key is the lane's.
	Key string
	// Transport carries the calls.
	// Default: one with 64 connections.
	Transport http.RoundTripper
}

const (
	clients      = 64 // at once: a client has so many connections
	pollEvery    = 200 * time.Millisecond
	submitTries  = 50
	patience     = 3 * time.Minute // without any progress
	maxStateSize = 1 << 20
)

// runner is one run.
type runner struct {
	Options
	base   string
	client *http.Client
	out    io.Writer
	start  stack.Stats
}

// Run submits the requests to s, shows progress on out, waits until all have ended and reports. The error says that the run
// could not be made or did not end; broken promises are in the Report.
func Run(ctx context.Context, s *stack.Stack, o Options, out io.Writer) (Report, error) {
	if o.Transport == nil {
		o.Transport = pool()
	}
	r := &runner{Options: o, base: s.URL, out: out, start: s.Stats(), client: &http.Client{Transport: o.Transport, Timeout: 2 * time.Minute}}
	defer r.client.CloseIdleConnections()
	requests, err := r.submitAll(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := r.await(ctx); err != nil {
		return Report{}, err
	}
	if err := r.readAll(ctx, requests); err != nil {
		return Report{}, err
	}
	rep := r.report(requests, s.Sample.List(o.Key), s.Stats())
	return rep, r.readJournal(ctx, &rep)
}

// pool keeps a connection for each client.
func pool() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: clients} }

// request is one request as its client saw it.
type request struct {
	id          string
	sent, acked time.Time
	queued      bool
	state       state
}

// state is what ingest tells of a request.
type state struct {
	Ticket   int64     `json:"ticket"`
	Status   string    `json:"status"`
	Attempts int64     `json:"attempts"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
}

func (r *runner) lane() string { return r.base + "/v1/lanes/" + url.PathEscape(r.Key) }

func (r *runner) submitAll(ctx context.Context) ([]*request, error) {
	requests := make([]*request, r.Requests)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for i := range requests {
		group.Go(func() (err error) {
			requests[i], err = r.submit(ctx, i)
			return err
		})
	}
	fmt.Fprintf(r.out, "submitting %d requests under key %s\n", r.Requests, r.Key)
	return requests, group.Wait()
}

// submit sends one request until it is acknowledged, as a careful client does: with an idempotency key.
func (r *runner) submit(ctx context.Context, i int) (*request, error) {
	q := &request{sent: time.Now()}
	for try := 0; ; try++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.lane()+"/requests", strings.NewReader(fmt.Sprintf("request %d", i)))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%q", fmt.Sprintf("walkthrough-%d", i)))
		req.Header.Set("Content-Type", "text/plain")
		status, header, body, err := r.do(req)
		if err != nil {
			return nil, fmt.Errorf("submit request %d: %w", i, err)
		}
		switch word := header.Get("Seriatim-Status"); {
		case status == http.StatusAccepted, word == "done":
			q.id, q.acked, q.queued = header.Get("Seriatim-Request-Id"), time.Now(), word != "done"
			if q.queued && q.id == "" {
				return nil, fmt.Errorf("submit request %d: a 202 without Seriatim-Request-Id", i)
			}
			return q, nil
		case status == http.StatusServiceUnavailable && try < submitTries:
			time.Sleep(pollEvery)
		default:
			return nil, fmt.Errorf("submit request %d: status %d: %s", i, status, body)
		}
	}
}

func (r *runner) do(req *http.Request) (int, http.Header, string, error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStateSize))
	return resp.StatusCode, resp.Header, string(body), err
}

// await shows progress until the lane is empty.
func (r *runner) await(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last, shown, changed := -1, 0, time.Now()
	for {
		depth, err := r.depth(ctx)
		if err != nil {
			return err
		}
		ended := r.Requests - depth
		if ended != last {
			last, changed = ended, time.Now()
		}
		if depth == 0 || ended-shown >= max(1, r.Requests/10) {
			shown = ended
			fmt.Fprintf(r.out, "%d of %d ended\n", ended, r.Requests)
		}
		switch {
		case depth == 0:
			return nil
		case time.Since(changed) > patience:
			return fmt.Errorf("no request has ended for %s: %d of %d still wait", patience, depth, r.Requests)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// depth asks how many requests of the lane have not ended.
func (r *runner) depth(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.lane(), nil)
	if err != nil {
		return 0, err
	}
	status, _, body, err := r.do(req)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	var lane struct{ Depth int }
	if err == nil {
		err = json.Unmarshal([]byte(body), &lane)
	}
	if err != nil {
		return 0, fmt.Errorf("read state of lane %s: %w", r.Key, err)
	}
	return lane.Depth, nil
}

func (r *runner) readAll(ctx context.Context, requests []*request) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for _, q := range requests {
		group.Go(func() error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.lane()+"/requests/"+q.id, nil)
			if err != nil {
				return err
			}
			status, _, body, err := r.do(req)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d: %s", status, body)
			}
			if err == nil {
				err = json.Unmarshal([]byte(body), &q.state)
			}
			if err != nil {
				return fmt.Errorf("read state of request %s: %w", q.id, err)
			}
			return nil
		})
	}
	return group.Wait()
}
