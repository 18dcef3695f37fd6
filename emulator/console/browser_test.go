package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// counted is an expression: the line of counts says so.
func counted(name, value string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('#counts div')].some((d) => d.textContent === %q)`, name+value)
}

// shows is an expression: the element's text has the part.
func shows(selector, part string) string {
	return fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(%q)`, selector, part)
}

// press clicks the button inside what the selector finds that has the text.
func (p *page) press(t *testing.T, inside, text string) {
	t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((b) => b.textContent === %q && !b.ariaDisabled && !b.ariaBusy)`, inside+" button", text)
	p.until(t, "!!"+find)
	p.do(t, chromedp.Evaluate[chromedp.Void](find+`.click()`))
}

// open shows the page of a lane.
func (p *page) open(t *testing.T, key string) {
	t.Helper()
	p.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = '#lane=' + encodeURIComponent(%q)`, key)))
	p.until(t, shows("#lane-title", key)+` && document.querySelector('#why strong')`)
}

func TestAThousandRequestsAppearFinishAndAreCounted(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	const key = "paced/ü {x}"
	p.do(t, chromedp.SetValue(chromedp.CSS(`#submit [name=key]`), key))
	p.click(t, `#submit [name=thousand]`)
	p.until(t, shows("#labels a", key))
	p.until(t, `Number(document.querySelector('#bars').dataset.drawn) > 0`)
	for _, count := range [][2]string{{"accepted", "1,000"}, {"done", "1,000"}, {"dead", "0"}, {"unresolved", "0"}} {
		p.until(t, counted(count[0], count[1]))
	}
	p.until(t, shows("#labels span", "idle"))
	p.until(t, shows("#submit output", "0 refused, of 1,000"))
	if got := len(p.Sample.List(key)); got != 1000 {
		t.Errorf("the sample target got %d requests, want 1000", got)
	}
	p.shoot(t, "thousand")
	p.clean(t)
}

func TestEachButtonDoesItsWork(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	t.Run("submit one", func(t *testing.T) {
		p.do(t, chromedp.SetValue(chromedp.CSS(`#submit [name=key]`), "slow-a"))
		p.press(t, "#submit", "Submit")
		p.until(t, shows("#submit output", "1 answered at once, 0 queued, 0 refused, of 1."))
	})
	t.Run("submit some that queue, under an idempotency key", func(t *testing.T) {
		p.do(t, chromedp.SetValue(chromedp.CSS(`#submit [name=count]`), "3"),
			chromedp.SetValue(chromedp.CSS(`#submit [name=idempotency]`), "mine"))
		for range 2 { // the second time they are duplicates
			p.press(t, "#submit", "Submit")
			p.until(t, shows("#submit output", "0 answered at once, 3 queued, 0 refused, of 3."))
		}
		p.until(t, counted("accepted", "4"))
	})
	p.open(t, "slow-a")
	t.Run("pause, resume, and what why says would clear it", func(t *testing.T) {
		p.press(t, "#lane-actions", "Pause")
		p.until(t, shows("#why strong", "paused"))
		p.until(t, shows("#labels span", "paused"))
		p.press(t, "#lane-actions", "Resume")
		p.until(t, shows("#why strong", "pace"))
		p.press(t, "#lane-actions", "Pause")
		p.press(t, "#why", "Clear it")
		p.until(t, shows("#why strong", "pace"))
	})
	t.Run("cancel, from the timeline", func(t *testing.T) {
		p.focus(t)
		p.do(t, chromedp.KeyEvent(kb.End))
		p.until(t, shows("#detail", "waiting, slot"))
		p.press(t, "#detail-actions", "Cancel the request")
		p.press(t, "#ask", "No, leave it")
		p.press(t, "#detail-actions", "Cancel the request")
		p.press(t, "#ask", "Cancel the request")
		p.until(t, shows("#detail", "cancelled"))
		p.until(t, shows("#lane-state", "Depth2"))
	})
	t.Run("purge, after a question", func(t *testing.T) {
		p.press(t, "#lane-actions", "Purge")
		p.press(t, "#ask", "No, leave it")
		p.press(t, "#lane-actions", "Purge")
		p.press(t, "#ask", "Purge")
		p.until(t, shows("#lane-state", "Depth0"))
		p.until(t, counted("unresolved", "0"))
		p.until(t, shows("#lane-state", "transitions keep every promise"))
		p.shoot(t, "lane")
	})
	t.Run("skip a parked head", func(t *testing.T) {
		p.submit(t, "parked-a")
		p.open(t, "parked-a")
		p.until(t, shows("#why strong", "parked"))
		p.focus(t)
		p.do(t, chromedp.KeyEvent(kb.End))
		p.until(t, shows("#detail", "parked"))
		p.press(t, "#detail-actions", "Skip")
		p.press(t, "#ask", "Skip")
		p.until(t, shows("#why strong", "idle"))
		p.until(t, shows("#detail", "dead"))
		p.until(t, counted("dead", "1"))
	})
	t.Run("faults, applied, refused and ended", func(t *testing.T) {
		p.press(t, "#presets", "late")
		p.press(t, "#presets", "duplicate")
		p.press(t, "#faults", "Apply")
		p.until(t, shows("#faults-now", "late=0.1:2s-5s,duplicate=0.05"))
		if got := p.Tasks.Faults().String(); !strings.HasPrefix(got, "late=0.1:2s-5s,duplicate=0.05") {
			t.Errorf("faults in force: %s", got)
		}
		p.do(t, chromedp.SetValue(chromedp.CSS(`#faults [name=spec]`), "nonsense"))
		p.press(t, "#faults", "Apply")
		p.until(t, shows("#faults .problem", "nonsense"))
		p.press(t, "#faults", "End all faults")
		p.until(t, shows("#faults-now", "none"))
	})
	// A browser reports each answer of 400 and more by itself.
	p.clean(t, "status of 400")
}

// focus gives the timeline the focus, once there is one.
func (p *page) focus(t *testing.T) {
	t.Helper()
	p.until(t, `!document.querySelector('#timeline').hidden`)
	p.do(t, chromedp.Focus(chromedp.CSS("#bars")))
}

// submit submits one request that queues.
func (p *page) submit(t *testing.T, key string) (id string) {
	t.Helper()
	return call(t, p.Stack, http.MethodPost, "/v1/lanes/"+key+"/requests", async)
}
