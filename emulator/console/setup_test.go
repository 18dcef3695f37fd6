package console_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/seriatim/seriatim/emulator/stack"
)

var screenshots = flag.String("screenshots", "", "folder to write screenshots to")

// patience bounds every wait for something to appear: generous, as the machine may be busy with other tests.
const patience = 2 * time.Minute

// document has a policy for each thing that the tests make happen.
func document(base string) string {
	return fmt.Sprintf(`targets:
  sample: {url: %[1]q}
  work: {url: "%[1]s?delay=120ms"}
  failing: {url: "%[1]s?status=400"}
  aimed: {url: %[1]q}
  busy: {url: "%[1]s?status=500"}
lanes:
  - {match: "fast-*", target: sample, spacing: 0s}
  - {match: "slow-*", target: sample, spacing: 1h}
  - {match: "tenant-*", target: work, spacing: 300ms}
  - {match: "parked-*", target: failing, spacing: 0s, exhausted: park}
  - {match: "aimed-*", target: aimed, spacing: 1h}
  - {match: "held-*", target: sample, spacing: 0s, lease: 5s, ambiguous: hold}
  - {match: "failing-*", target: failing, spacing: 0s}
  - {match: "retried-*", target: busy, spacing: 0s, backoff: {min: 2s, max: 2s}}
  - {match: "*", target: sample, spacing: 20ms}
`, base+"/sample")
}

// page is the console in a browser, and what the browser noticed.
type page struct {
	*stack.Stack
	ctx context.Context

	mu      sync.Mutex
	faults  []string // console errors, exceptions, failed loads
	outside []string // requests to anywhere else
}

// setup starts an emulator, and opens its console in a browser of a width and height.
func setup(t *testing.T, width, height int64, path string) *page {
	t.Helper()
	s := start(t)
	p := &page{Stack: s, ctx: browser(t)}
	if err := chromedp.Listen(p.ctx, p.notice); err != nil {
		t.Fatal(err)
	}
	p.do(t, chromedp.EmulateViewport(width, height), chromedp.Navigate(s.URL+"/console/"+path))
	p.until(t, `document.querySelector('#link').dataset.there`)
	return p
}

// turn is held by the one browser that runs: two would only be slower.
var turn = make(chan struct{}, 1)

// browser starts Chromium with a profile of its own. Without one installed the test is skipped, unless it has to run.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("SERIATIM_REQUIRE_REAL") == "1" {
			t.Fatalf("chromium is required: %v", err)
		}
		t.Skipf("no chromium: %v", err)
	}
	turn <- struct{}{}
	t.Cleanup(func() { <-turn })
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // the browser dies with the context it is started with
		t.Fatal(err)
	}
	return ctx
}

func (p *page) notice(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			p.faults = append(p.faults, fmt.Sprintf("console %s: %s", e.Type, e.Args[0].Value))
		}
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.faults = append(p.faults, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.URL+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			p.outside = append(p.outside, e.Request.URL)
		}
	}
}

// clean fails the test for what the browser noticed, but for refusals of the API that the test provoked.
func (p *page) clean(t *testing.T, provoked ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		if !slices.ContainsFunc(provoked, func(part string) bool { return strings.Contains(fault, part) }) {
			t.Errorf("the browser noticed: %s", fault)
		}
	}
	for _, url := range p.outside {
		t.Errorf("request to the outside: %s", url)
	}
}

// do takes steps, and fails the test when they take longer than patience.
func (p *page) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// get takes one step that answers something.
func get[T any](t *testing.T, p *page, step chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, step)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// click presses what a CSS selector finds.
func (p *page) click(t *testing.T, selector string) {
	t.Helper()
	p.do(t, chromedp.Click(chromedp.CSS(selector)))
}

// until waits for a JavaScript expression to be true.
func (p *page) until(t *testing.T, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0)))
	if err != nil {
		t.Fatalf("waiting for %s: %v; the page says:\n%s", expression, err, get(t, p, chromedp.Evaluate[string](`document.body.innerText`)))
	}
}

// shoot writes a screenshot, where they are asked for.
func (p *page) shoot(t *testing.T, name string) {
	t.Helper()
	if *screenshots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), get(t, p, chromedp.FullScreenshot(100)), 0o644); err != nil {
		t.Fatal(err)
	}
}
