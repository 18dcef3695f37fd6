package walkthrough_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/stack"
	"github.com/seriatim/seriatim/emulator/walkthrough"
	"github.com/seriatim/seriatim/functions/ingest/openapitest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

type run struct {
	requests   int
	spacing    time.Duration
	faults     string
	realRedis  bool
	dispatches float64 // most per queued request, on the slowest machine, beside other tests: the simulation asserts what they should be
}

func (r run) do(t *testing.T) {
	t.Helper()
	faults, err := cloudtasks.ParseFaults(r.faults)
	if err != nil {
		t.Fatal(err)
	}
	delay := time.Duration(0)
	if r.spacing == 0 {
		delay = 50 * time.Millisecond
	}
	options := stack.Options{Faults: faults, Seed: 1, Config: func(base string) string {
		return fmt.Sprintf("targets: {sample: {url: '%s/sample?delay=%s'}}\nlanes: [{match: '*', target: sample, spacing: %s}]\n", base, delay, r.spacing)
	}}
	if r.realRedis {
		options.Redis = redistest.Start(t).URL()
	}
	s, err := stack.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	report, err := walkthrough.Run(t.Context(), s, walkthrough.Options{
		Requests: r.requests, Spacing: r.spacing, Key: "tenant-42:product-7", Transport: openapitest.Transport(t, &http.Transport{MaxIdleConnsPerHost: 64}),
	}, t.Output())
	if closeErr := s.Close(); closeErr != nil {
		t.Error(closeErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report.Table())
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if got := report.Ratio(); got > r.dispatches {
		t.Errorf("%.3f dispatches per queued request, want at most %.2f", got, r.dispatches)
	}
}

func TestPacedLane(t *testing.T) {
	t.Parallel()
	run{requests: 400, spacing: 20 * time.Millisecond, dispatches: 2.5}.do(t)
}

func TestPacedLaneOnRealRedis(t *testing.T) {
	t.Parallel()
	run{requests: 1000, spacing: 20 * time.Millisecond, realRedis: true, dispatches: 2.5}.do(t)
}

func TestOrderOnlyLane(t *testing.T) {
	t.Parallel()
	run{requests: 300, dispatches: 2.5}.do(t)
}

func TestPacedLaneWithLateDispatches(t *testing.T) {
	t.Parallel()
	run{requests: 400, spacing: 20 * time.Millisecond, faults: "late=0.02:1s-3s", dispatches: 2.5}.do(t)
}

func TestPacedLaneWithEveryFault(t *testing.T) {
	t.Parallel()
	// Lost replies and refusals make the client send again; duplicates find their request done. Dispatches are not the point.
	run{
		requests: 300, spacing: 20 * time.Millisecond, dispatches: 4,
		faults: "late=0.02:1s-3s,jitter=20ms-200ms,duplicate=0.05,lose-reply=0.05,error=0.05",
	}.do(t)
}
