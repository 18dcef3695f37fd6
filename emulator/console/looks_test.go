package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/seriatim/seriatim/emulator/cloudtasks"
	"github.com/seriatim/seriatim/emulator/console"
)

// scene makes lanes in every state, and waits until there is something of each to see.
func (p *page) scene(t *testing.T) {
	t.Helper()
	faults, err := cloudtasks.ParseFaults("late=0.3:1500ms-4s,duplicate=0.05,jitter=20ms-200ms")
	if err != nil {
		t.Fatal(err)
	}
	p.Tasks.SetFaults(faults)
	call(t, p.Stack, "POST", "/v1/lanes/tenant-9:held/pause")
	for i := range 200 {
		p.submit(t, fmt.Sprintf("tenant-%d:product-7", i%4+1))
		switch {
		case i < 3:
			p.submit(t, "failing-import")
			p.submit(t, "parked-ledger")
			p.submit(t, "tenant-9:held")
			p.submit(t, "slow-report")
		case i < 5:
			p.submit(t, "retried-webhook")
		}
	}
	happened(t, p.Stack, "parked-ledger", console.Parked)
	happened(t, p.Stack, "retried-webhook", console.Retried, console.Retried)
	happened(t, p.Stack, "tenant-9:held", console.Snoozed)
	for key := range 4 {
		happened(t, p.Stack, fmt.Sprintf("tenant-%d:product-7", key+1), console.Done, console.Done, console.Done, console.Done, console.Done)
	}
	p.until(t, shows("#transitions", "late"))
}

// scheme sets what the system prefers, light or dark.
func scheme(value string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}},
		})
		return err
	})
}

func TestThePageIsAccessible(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	script, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	p.do(t, chromedp.Evaluate[chromedp.Void](string(script)))
	p.scene(t)
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 360, 740}} {
		for _, colours := range []string{"light", "dark"} {
			p.do(t, chromedp.EmulateViewport(size.width, size.height), scheme(colours))
			for _, hash := range []string{"", "lane=parked-ledger"} {
				name := size.name + "-" + colours
				if hash != "" {
					name += "-lane"
				}
				p.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = %q`, hash)))
				if hash != "" {
					p.until(t, `document.querySelector('#why strong')`)
				}
				p.shoot(t, name)
				p.axe(t, name)
				if wide := get(t, p, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); wide > size.width {
					t.Errorf("%s: the page is %d pixels wide", name, wide)
				}
			}
		}
	}
	p.press(t, "#lane-actions", "Purge")
	p.axe(t, "question")
	p.press(t, "#ask", "No, leave it")
	p.picture(t)
	p.clean(t)
}

// picture takes the pictures of the README, where screenshots are asked for.
func (p *page) picture(t *testing.T) {
	t.Helper()
	if *screenshots == "" {
		return
	}
	happened(t, p.Stack, "tenant-1:product-7", slices.Repeat([]console.Kind{console.Done}, 35)...)
	p.do(t, chromedp.EmulateViewport(1200, 1000), chromedp.Evaluate[chromedp.Void](`location.hash = ''`))
	p.click(t, "#in")
	p.click(t, "#in")
	for _, colours := range []string{"light", "dark"} {
		p.do(t, scheme(colours), chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0), document.activeElement.blur()`))
		p.until(t, `document.querySelectorAll('#labels a').length > 4`)
		name := filepath.Join(*screenshots, "console-"+colours+".png")
		if err := os.WriteFile(name, get(t, p, chromedp.CaptureScreenshot()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// axe fails the test for what axe-core finds against WCAG 2.2 AA and its own best practices.
func (p *page) axe(t *testing.T, where string) {
	t.Helper()
	found := get(t, p, chromedp.Evaluate[[]struct {
		ID, Help string
		Nodes    []string
	}](`axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
		.then(({ violations, passes }) => (passes.length ? violations : [{ id: 'axe', help: 'checked nothing', nodes: [] }])
			.map((v) => ({ id: v.id, help: v.help, nodes: v.nodes.map((n) => n.html + ' ' + n.failureSummary) })))`, chromedp.EvalAwaitPromise))
	for _, v := range found {
		text, _ := json.MarshalIndent(v.Nodes, "", "  ")
		t.Errorf("%s: %s: %s\n%s", where, v.ID, v.Help, text)
	}
}
