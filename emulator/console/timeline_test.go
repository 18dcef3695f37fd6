package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/seriatim/seriatim/emulator/console"
)

func TestTheTimelineIsNavigatedByKeyboard(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	var ids []string
	for range 3 {
		ids = append(ids, p.submit(t, "fast-a"))
		happened(t, p.Stack, "fast-a", console.Done)
	}
	id := p.submit(t, "fast-b")
	p.until(t, counted("done", "4"))
	p.until(t, `document.querySelectorAll('#labels a').length === 2`)
	selected := func(id string) string { return shows("#detail", "Request "+id) }
	p.focus(t)
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, selected(ids[2])},
		{kb.ArrowLeft, selected(ids[1])},
		{kb.Home, selected(ids[0])},
		{kb.ArrowDown, selected(id)},
		{kb.ArrowUp, selected(ids[2])},
		{"+", `document.querySelector('#live').getAttribute('aria-pressed') === 'true'`},
		{kb.Escape, `document.querySelector('#detail').textContent === ''`},
		{kb.End, selected(ids[2])},
		{kb.Enter, shows("#lane-title", "fast-a") + ` && document.activeElement.id === 'lane-title'`},
	} {
		p.do(t, chromedp.KeyEvent(step.key))
		p.until(t, step.want)
	}
	p.clean(t)
}

// Every control is reached by Tab, and shows that it has the focus.
func TestEveryControlIsReachedByTab(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	p.submit(t, "slow-a")
	p.submit(t, "slow-a")
	p.open(t, "slow-a")
	p.until(t, shows("#labels", "slow-a"))
	p.do(t, chromedp.Evaluate[chromedp.Void](`
		globalThis.unseen = [];
		globalThis.left = new Set([...document.querySelectorAll('button, input, textarea, a[href], canvas[tabindex]')]
			.filter((e) => e.checkVisibility() && !e.disabled));
		addEventListener('focusin', ({ target }) => {
			left.delete(target);
			const style = getComputedStyle(target);
			if (style.outlineStyle === 'none' && target.id !== 'main' && target.id !== 'lane-title') unseen.push(target.outerHTML);
		});
		document.activeElement.blur();`))
	for range 60 {
		p.do(t, chromedp.KeyEvent(kb.Tab))
	}
	if left := get(t, p, chromedp.Evaluate[[]string](`[...left].filter((e) => e.isConnected).map((e) => e.outerHTML)`)); len(left) > 0 {
		t.Errorf("not reached: %s", strings.Join(left, "\n"))
	}
	if unseen := get(t, p, chromedp.Evaluate[[]string](`unseen`)); len(unseen) > 0 {
		t.Errorf("focus not shown: %s", strings.Join(unseen, "\n"))
	}
}

// Ten thousand bars: all are there, and a frame draws those that can be told apart.
func TestTenThousandBarsAreDrawnWhereTheyAreSeen(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	p.click(t, "#out")
	p.click(t, "#out") // four minutes: they stay in sight on a slow machine too
	const bars, lanes = 10_000, 20
	now := time.Now().Add(-50 * time.Second).UnixMilli()
	for i := range int64(bars) {
		e := console.Event{At: now + i*5, Key: fmt.Sprintf("lane-%02d", i%lanes), Ticket: 1_000_000 + i, ID: fmt.Sprintf("r%d", i), Attempt: 1}
		for _, kind := range []console.Kind{console.Reserved, console.Granted, console.Done} {
			e.Kind, e.Slot = kind, e.At
			if kind == console.Done {
				e.At += 80
			}
			p.Journal.Add(e)
		}
	}
	p.until(t, shows("#slip-text", "10,000 starts"))
	p.until(t, shows("#depth-text", "0 now"))
	p.until(t, `Number(document.querySelector('#bars').dataset.drawn) > 0`)
	drawn := get(t, p, chromedp.Evaluate[int](`Number(document.querySelector('#bars').dataset.drawn)`))
	rows := get(t, p, chromedp.Evaluate[int](`Math.ceil(document.querySelector('#rows').clientHeight / 56) + 1`))
	width := get(t, p, chromedp.Evaluate[int](`document.querySelector('#bars').clientWidth`))
	if most := rows * width / 3; drawn > most {
		t.Errorf("%d bars drawn in %d rows of %d pixels, want at most one per 3 pixels: %d", drawn, rows, width, most)
	}
	frames := get(t, p, chromedp.Evaluate[[]float64](`new Promise((resolve) => {
		const gaps = [];
		let last = performance.now();
		requestAnimationFrame(function next(now) {
			gaps.push(now - last);
			last = now;
			if (gaps.length < 120) requestAnimationFrame(next);
			else resolve(gaps.sort((a, b) => a - b));
		});
	})`, chromedp.EvalAwaitPromise))
	t.Logf("%d of %d bars drawn; frames: median %.0f ms, 95 of 100 within %.0f ms", drawn, bars, frames[60], frames[114])
	p.shoot(t, "ten-thousand")
	p.clean(t)
}
