package ingest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

const (
	// maxBody is the longest payload, in bytes.
	maxBody = 512 << 10
	// maxHeader bounds the names and values of the headers that travel with a request, in bytes: escaped in the worst way
	// beside the longest body, they still fit into a task.
	maxHeader = 32 << 10
)

// submission is what a client asks for, checked before a ticket is taken.
type submission struct {
	// envelope is complete but for incarnation, ticket and snooze count.
	envelope taskqueue.Envelope
	// immediate says that the target may be called while the client waits.
	immediate bool
	// async says that the client asked for a 202; patience is how long it would rather wait for the end.
	async    bool
	patience time.Duration
}

// read checks the client's call and reads its body. Every error is a problem of the client's.
func (c *call) read() (submission, error) {
	key := c.lane.Slot.Key
	idempotencyKey, present, err := idempotency.ParseKey(c.r.Header)
	if err != nil {
		return submission{}, malformedHeader(sentence(err), err)
	}
	preferred, err := parsePrefer(c.r.Header.Values("Prefer"))
	if err != nil {
		return submission{}, malformedHeader(sentence(err), err)
	}
	s := submission{async: preferred.has("respond-async")}
	if s.patience, err = preferred.wait(); err != nil {
		return submission{}, err
	}
	deadline, err := parseDeadline(c.r.Header.Values("Seriatim-Deadline"), c.Clock.Now())
	if err != nil {
		return submission{}, err
	}
	explicit, t, err := c.target()
	if err != nil {
		return submission{}, err
	}
	header, err := forwarded(c.r.Header, t.Forward)
	if err != nil {
		return submission{}, err
	}
	body, err := c.body()
	if err != nil {
		return submission{}, err
	}
	s.immediate = !s.async && t.Immediate && c.lane.Policy.Respond != policy.Async
	s.envelope = taskqueue.Envelope{
		V: taskqueue.Version, Kind: taskqueue.KindRequest, Key: key, ID: c.Random.Nonce(), Target: t.Name, Header: header,
		IdempotencyKey: idempotencyKey, Submitted: c.Clock.Now(), Deadline: deadline, Traceparent: traceparent(c.r), Body: body,
		Fingerprint: idempotency.Fingerprint(key, explicit, c.r.Header.Get("Content-Type"), body),
	}
	if present {
		s.envelope.ID = idempotency.RequestID(key, idempotencyKey)
	}
	if err := s.envelope.Validate(); err != nil {
		return submission{}, malformedHeader("A header that travels with the request is not valid UTF-8. Encode it.", err)
	}
	return s, nil
}

// parseDeadline reads Seriatim-Deadline, the latest start: an instant, or seconds from now. It is zero where there is none.
func parseDeadline(values []string, now time.Time) (time.Time, error) {
	if len(values) == 0 {
		return time.Time{}, nil
	}
	text := strings.TrimSpace(values[0])
	at, err := time.Parse(time.RFC3339, text)
	if seconds, number := strconv.ParseUint(text, 10, 31); number == nil {
		at, err = now.Add(time.Duration(seconds)*time.Second), nil
	}
	if err != nil || len(values) > 1 {
		return time.Time{}, malformedHeader(
			"Seriatim-Deadline is sent once, as seconds from now or an instant such as 2026-12-01T10:00:00Z.", err)
	}
	return at.UTC(), nil
}

// target returns the target of the request, and its name where the client gave one.
func (c *call) target() (explicit string, t *policy.Target, err error) {
	name := c.lane.Policy.Target
	if values := c.r.Header.Values("Seriatim-Target"); len(values) > 0 {
		explicit = values[0]
		if len(values) > 1 || explicit == "" {
			return "", nil, malformedHeader("Seriatim-Target names one target. Send it once, with a name, or leave it out.", nil)
		}
		if name = explicit; !slices.Contains(c.lane.Policy.Targets, name) {
			return "", nil, problem.New(problem.UnknownTarget,
				"The policy of this lane does not list the target that Seriatim-Target names. Send one that it lists, or leave the header out.")
		}
	}
	t, ok := c.Policy.Targets[name]
	if !ok {
		return "", nil, fmt.Errorf("lane policy %q: target %q is not configured", c.lane.Policy.Name, name)
	}
	return explicit, t, nil
}

// forwarded picks the headers that travel with the request: those that describe its body, and those on the target's list.
func forwarded(in http.Header, list []string) (http.Header, error) {
	out, size := http.Header{}, 0
	for _, name := range append([]string{"Content-Type", "Content-Encoding"}, list...) {
		name = http.CanonicalHeaderKey(name)
		values := in.Values(name)
		if len(values) == 0 || out[name] != nil {
			continue
		}
		out[name] = slices.Clone(values)
		size += len(name) + len(strings.Join(values, ""))
	}
	if size > maxHeader {
		return nil, malformedHeader(fmt.Sprintf(
			"The headers that travel with the request have %d bytes, the most is %d. Send less, or send it in the body.", size, maxHeader), nil)
	}
	return out, nil
}

func (c *call) body() ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if tooLarge := new(http.MaxBytesError); err != nil && !errors.As(err, &tooLarge) {
		return nil, malformedHeader("The body ended before the length that its headers promise. Send it whole.", err)
	}
	return body, err
}

// traceparent is the client's own, else Google's front end's in that form; empty where there is neither.
func traceparent(r *http.Request) string {
	if own := r.Header.Get("Traceparent"); logging.ParseTraceparent(own).TraceID != "" {
		return own
	}
	t := logging.Trace(r)
	if t.TraceID == "" || t.SpanID == "" {
		return ""
	}
	flags := "00"
	if t.Sampled {
		flags = "01"
	}
	return "00-" + t.TraceID + "-" + t.SpanID + "-" + flags
}
