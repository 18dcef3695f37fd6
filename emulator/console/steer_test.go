package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestDeadLettersAreRunAgainFromTheLists(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	t.Run("one, in its place, where the lane is parked on it", func(t *testing.T) {
		p.submit(t, "parked-b")
		p.submit(t, "parked-b")
		p.open(t, "parked-b")
		p.until(t, shows("#why strong", "parked"))
		p.until(t, shows("#dead", "parked: the lane stands"))
		p.press(t, "#dead", "Redrive")
		p.until(t, shows("#transitions", "runs again"))
		p.until(t, shows("#transitions", "parked after attempt 2"))
	})
	t.Run("what waits behind it is cancelled, and it is skipped", func(t *testing.T) {
		p.until(t, `document.querySelectorAll('#waiting tbody tr').length === 2`) // the parked head is the first
		p.press(t, "#waiting tr:last-child", "Cancel")
		p.press(t, "#ask", "Cancel the request")
		p.until(t, `document.querySelectorAll('#waiting tbody tr').length === 1`)
		p.press(t, "#dead", "Skip")
		p.press(t, "#ask", "Skip")
		p.until(t, shows("#why strong", "idle"))
		p.until(t, shows("#waiting", "Nothing waits."))
		p.until(t, shows("#transitions", "dead (skipped)"))
	})
	t.Run("one, at the tail", func(t *testing.T) {
		p.press(t, "#dead", "Redrive")
		p.until(t, shows("#why strong", "parked"))
	})
	t.Run("all", func(t *testing.T) {
		p.submit(t, "failing-b")
		p.submit(t, "failing-b")
		p.open(t, "failing-b")
		p.until(t, `document.querySelectorAll('#dead tbody tr').length === 2`)
		p.until(t, counted("dead", "3"))
		p.press(t, "#lane-actions", "Redrive all dead letters")
		p.until(t, counted("dead", "5"))
		p.until(t, `document.querySelectorAll('#dead tbody tr').length === 2`)
	})
	p.clean(t)
}

func TestAnUnknownOutcomeIsSettled(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	die(p.Stack)
	for _, key := range []string{"held-a", "held-b", "held-c"} {
		p.submit(t, key)
	}
	runs := func(key string, want int) {
		t.Helper()
		if got := len(p.Sample.List(key)); got != want {
			t.Errorf("%s ran %d times, want %d", key, got, want)
		}
	}
	t.Run("as done", func(t *testing.T) {
		p.open(t, "held-a")
		p.until(t, shows("#why strong", "unknown"))
		p.press(t, "#why", "It was done")
		p.press(t, "#ask", "Settle as done")
		p.until(t, shows("#why strong", "idle"))
		p.until(t, counted("done", "1"))
		runs("held-a", 1)
	})
	t.Run("as dead, from the timeline", func(t *testing.T) {
		p.open(t, "held-b")
		p.focus(t)
		p.do(t, chromedp.KeyEvent(kb.End))
		p.until(t, shows("#detail", "unknown"))
		p.press(t, "#detail-actions", "It is dead")
		p.press(t, "#ask", "Settle as dead")
		p.until(t, shows("#why strong", "idle"))
		p.until(t, counted("dead", "1"))
		runs("held-b", 1)
	})
	t.Run("by another run", func(t *testing.T) {
		p.open(t, "held-c")
		p.until(t, shows("#why strong", "unknown"))
		p.press(t, "#why", "Run it again")
		p.until(t, counted("done", "2"))
		p.until(t, shows("#why strong", "idle"))
		runs("held-c", 2)
	})
	p.clean(t)
}

func TestATargetIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	p := setup(t, 1280, 900, "")
	for range 2 { // the second waits for its pace
		call(t, p.Stack, "POST", "/v1/lanes/aimed-a/requests")
	}
	p.open(t, "aimed-a")
	p.until(t, shows("#why strong", "pace"))
	pause := func() {
		t.Helper()
		p.press(t, "#targets", "Pause the target")
		p.press(t, "#ask", "Pause the target")
		p.until(t, shows("#targets", "Target aimed is paused"))
		p.until(t, shows("#why strong", "target-paused"))
	}
	p.press(t, "#targets", "Pause the target")
	p.press(t, "#ask", "No, leave it")
	pause()
	p.press(t, "#targets", "Resume the target")
	p.until(t, shows("#why strong", "pace"))
	pause()
	p.press(t, "#why", "Clear it")
	p.until(t, shows("#why strong", "pace"))
	p.until(t, "!"+shows("#targets", "is paused"))
	p.clean(t)
}
