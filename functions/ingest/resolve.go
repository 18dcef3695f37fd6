package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// maxResolution is the longest body of a resolve, in bytes.
const maxResolution = 4 << 10

// skip gives up the request on which the lane is parked, and answers its state.
func (c *call) skip() error { return c.settle(slot.Skip, "request skipped") }

// resolve settles a request whose outcome is unknown as the caller says, and answers its state.
func (c *call) resolve() error {
	var said struct {
		As slot.Resolution `json:"as"`
	}
	body := json.NewDecoder(http.MaxBytesReader(c.w, c.r.Body, maxResolution))
	body.DisallowUnknownFields()
	err := body.Decode(&said)
	if err == nil && body.More() {
		err = io.ErrUnexpectedEOF
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return err
	}
	switch {
	case err != nil:
	case said.As == slot.ResolveDone, said.As == slot.ResolveRetry, said.As == slot.ResolveDead:
		return c.settle(said.As, "request resolved")
	}
	return malformedHeader(`The body says what became of the request: {"as":"done"}, {"as":"retry"} or {"as":"dead"}.`, err)
}

// settle takes the word of an operator for a request on which the lane stands, any but redrive, and answers its state.
func (c *call) settle(as slot.Resolution, message string) error {
	if _, err := c.askedPatience(); err != nil {
		return err
	}
	f, err := c.lookUp()
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	var env taskqueue.Envelope
	// What ends here may be run again from the dead letters, which need the body.
	for again := true; as != slot.ResolveRetry && f.seen.Next.Request == c.id; again = false {
		env, err = lane.Fetch(ctx, c.Bodies, c.lane.Slot.Key, f.seen)
		if err != nil && !errors.Is(err, taskqueue.ErrNotFound) {
			return problem.New(problem.Unavailable, "The task of the request cannot be read. Send the call again.").WithCause(err)
		}
		if err == nil || !again {
			break
		}
		if f, err = c.lookUp(); err != nil { // it may have got another task meanwhile, or have none
			return err
		}
	}
	as, decided, err := c.agreed(ctx, env, f, as)
	if err != nil {
		return err
	}
	got, err := c.Steering.Resolve(ctx, c.lane.Slot, c.id, as, c.Random.Nonce())
	if err != nil {
		return unavailable(err)
	}
	if got.Verdict != slot.OK {
		c.about(c.id, f.Ticket, f.status)
		if got.Verdict == slot.StillRunning && decided {
			return problem.New(problem.Conflict, "Somebody had the request run again meanwhile. It runs, but its result will be what you said.")
		}
		return problem.New(problem.Conflict, unsettled(got.Verdict, as))
	}
	if err := errors.Join(c.goOn(got.Seen), c.unmark(got.Ticket)); err != nil {
		return err
	}
	c.log(message, logging.Request, c.id, logging.Verdict, string(as))
	// A dead request whose payload is not at hand is made durable by its own task, which has it, when that comes; one that was never
	// confirmed may have none.
	head := f.seen.Next
	if got.Status == slot.Done || got.Status == slot.Dead && (env.ID != "" || head.Request == c.id && head.Unconfirmed()) {
		if err := c.persistSettled(ctx, env); err != nil {
			logging.FromContext(ctx).WarnContext(ctx, "record in Redis alone: its task takes it", logging.Request, c.id, logging.Error, err.Error())
		}
	}
	return c.request()
}

// noRun is the fence of a durable record that no run has made.
const noRun = 0

// agreed has the durable store decide what an operator says of a request, where results are left to it. Where the store holds another
// end, that of a run which lost its lease, the request is taken up again instead, and comes to that end without a call of the target.
// It returns what to say to the lane, and whether the store has decided so.
func (c *call) agreed(ctx context.Context, env taskqueue.Envelope, f found, word slot.Resolution) (slot.Resolution, bool, error) {
	r, otherwise := f.Record, slot.ResolveRetry
	r.ID, r.Fence, r.Status, r.Finished = c.id, noRun, slot.Dead, c.Clock.Now()
	head := f.seen.Next.Request == c.id // of any other nobody has the payload
	switch {
	case word == slot.ResolveRetry || !c.lane.StoreDecides():
		return word, false, nil
	case head && f.Parked && word == slot.Skip:
		otherwise = slot.Redrive
	case !head || f.status != statusUnknown || word == slot.Skip:
		c.about(c.id, f.Ticket, f.status)
		return word, false, problem.New(problem.Conflict, unsettled(stateVerdict(f.status), word))
	default:
		r.Status, r.Reason, r.Detail, r.Response = slot.Status(word), "resolved", "an operator said so", nil
	}
	held, err := c.Records.Decide(ctx, c.lane, env, r)
	switch {
	case err != nil:
		return word, false, unavailable(err)
	case held.Status != r.Status:
		return otherwise, false, nil
	}
	return word, true, nil
}

// persistSettled makes the end of a request durable. Where that fails its own task does it, when it comes.
func (c *call) persistSettled(ctx context.Context, env taskqueue.Envelope) error {
	f, err := c.lookUp()
	if err == nil {
		_, err = c.Records.Persist(ctx, c.lane, env, f.Record)
	}
	return err
}

// stateVerdict is what the script would say of a request that has not come to where somebody's word counts.
func stateVerdict(status string) slot.Verdict {
	switch status {
	case statusRunning:
		return slot.StillRunning
	case statusQueued:
		return slot.Kept
	}
	return slot.AlreadyFinished
}

func unsettled(v slot.Verdict, as slot.Resolution) string {
	switch {
	case v == slot.StillRunning:
		return "The request is running."
	case v != slot.Kept:
		return "The request has ended. Ask for its result."
	case as == slot.Skip || as == slot.Redrive:
		return "The lane is not parked on this request."
	}
	return "The outcome of this request is not unknown."
}
