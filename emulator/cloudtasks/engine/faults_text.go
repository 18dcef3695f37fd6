package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
)

// ParseFaults reads a comma-separated list of faults:
//
//	late=P:DELAY        a dispatch is late with probability P (may be repeated)
//	jitter=DELAY        every dispatch is late by DELAY more
//	duplicate=P[:DELAY] an attempt is sent twice, the second DELAY (0s-1s) after the first (may be repeated)
//	lose-reply=P        CreateTask commits, but its reply is lost
//	error=P[:CODE[@METHOD]]  a call is refused: UNAVAILABLE, any method (may be repeated)
//	reorder=P           of the due tasks any one goes first
//	freeze=P:DELAY      a queue stops for DELAY after a dispatch (may be repeated)
//
// P is a probability from 0 to 1. DELAY is MIN-MAX (uniform), one duration
// (fixed), or ~MEAN (exponential); durations are Go's, such as 1m30s, and at
// most 720h. CODE is a gRPC code's name. The empty text is no faults.
func ParseFaults(text string) (Faults, error) {
	var f Faults
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if err := f.set(name, value); err != nil {
			return Faults{}, fmt.Errorf("fault %q: %w", part, err)
		}
	}
	return f, nil
}

func (f *Faults) set(name, value string) (err error) {
	switch name {
	case "late":
		err = appendChance(&f.Late, value, "")
	case "jitter":
		f.Jitter, err = parseDelay(value)
	case "duplicate":
		err = appendChance(&f.Duplicate, value, "0s-1s")
	case "lose-reply":
		f.LoseReply, err = parseProbability(value)
	case "error":
		err = f.addError(value)
	case "reorder":
		f.Reorder, err = parseProbability(value)
	case "freeze":
		err = appendChance(&f.Freeze, value, "")
	default:
		err = errors.New("unknown name: use late, jitter, duplicate, lose-reply, error, reorder or freeze")
	}
	return err
}

func appendChance(to *[]Chance, value, delay string) error {
	probability, rest, ok := strings.Cut(value, ":")
	if ok {
		delay = rest
	}
	p, err := parseProbability(probability)
	if err != nil {
		return err
	}
	d, err := parseDelay(delay)
	if err != nil {
		return err
	}
	*to = append(*to, Chance{p, d})
	return nil
}

func (f *Faults) addError(value string) error {
	probability, rest, _ := strings.Cut(value, ":")
	p, err := parseProbability(probability)
	if err != nil {
		return err
	}
	name, method, _ := strings.Cut(rest, "@")
	if name == "" {
		name = "UNAVAILABLE"
	}
	code := rpccode.Code_value[name]
	if code == 0 {
		return fmt.Errorf("%q is not the name of a gRPC error code, such as UNAVAILABLE", name)
	}
	f.Errors = append(f.Errors, ErrorRate{p, codes.Code(code), method})
	return nil
}

func parseProbability(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("%q is not a probability from 0 to 1", text)
	}
	return p, nil
}

func parseDelay(text string) (d Delay, err error) {
	if mean, ok := strings.CutPrefix(text, "~"); ok {
		d.Exponential = true
		d.Max, err = parseDuration(mean)
		return d, err
	}
	low, high, ok := strings.Cut(text, "-")
	if !ok {
		high = low
	}
	if d.Min, err = parseDuration(low); err != nil {
		return Delay{}, err
	}
	if d.Max, err = parseDuration(high); err != nil {
		return Delay{}, err
	}
	if d.Max < d.Min {
		return Delay{}, fmt.Errorf("%q ends before it begins", text)
	}
	return d, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > horizon {
		return 0, fmt.Errorf("%q is not a duration from 0s to 720h, such as 30s", text)
	}
	return d, nil
}

// String is the canonical text of f, which [ParseFaults] reads back.
func (f Faults) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	chances := func(name string, list []Chance) {
		for _, c := range list {
			add("%s=%v:%v", name, c.Probability, c.Delay)
		}
	}
	chances("late", f.Late)
	if f.Jitter != (Delay{}) {
		add("jitter=%v", f.Jitter)
	}
	chances("duplicate", f.Duplicate)
	if f.LoseReply > 0 {
		add("lose-reply=%v", f.LoseReply)
	}
	for _, r := range f.Errors {
		add("%s", strings.TrimSuffix(fmt.Sprintf("error=%v:%s@%s", r.Probability, rpccode.Code(r.Code), r.Method), "@"))
	}
	if f.Reorder > 0 {
		add("reorder=%v", f.Reorder)
	}
	chances("freeze", f.Freeze)
	return strings.Join(parts, ",")
}

// String is the text of d as [ParseFaults] takes it.
func (d Delay) String() string {
	if d.Exponential {
		return "~" + d.Max.String()
	}
	return d.Min.String() + "-" + d.Max.String()
}
