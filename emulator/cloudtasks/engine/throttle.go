package engine

import "time"

// Google documents that 429, 503 and a high rate of errors slow the whole
// queue, not by how much. The emulator's answer: each signal halves the rate,
// at most once a second, and every quiet 10 s doubles it again.
const (
	throttleStep  = time.Second
	throttleQuiet = 10 * time.Second
	throttleMax   = 6 // at most 1/64 of the rate

	// failureWeight and failureLimit: the moving average of failures over
	// about 20 answers, and from where it counts as high.
	failureWeight = 0.05
	failureLimit  = 0.5
)

// throttle is the system throttling of one queue.
type throttle struct {
	shift    int // the effective rate is the configured one / 2^shift
	raised   time.Time
	until    time.Time // when shift falls by one
	failures float64   // moving average, 0 to 1
}

// observe takes the answer of one attempt and reports whether shift changed.
func (t *throttle) observe(now time.Time, failed, overload bool, retryAfter time.Duration) bool {
	t.failures *= 1 - failureWeight
	if failed {
		t.failures += failureWeight
	}
	if !overload && !(failed && t.failures > failureLimit) {
		return false
	}
	t.until = later(t.until, now.Add(max(throttleQuiet, retryAfter)))
	if t.shift == throttleMax || now.Sub(t.raised) < throttleStep {
		return false
	}
	t.shift, t.raised = t.shift+1, now
	return true
}

// recover lets the rate grow again and reports whether shift changed.
func (t *throttle) recover(now time.Time) bool {
	before := t.shift
	for t.shift > 0 && !t.until.After(now) {
		t.shift--
		t.until = t.until.Add(throttleQuiet)
	}
	return t.shift != before
}
