package simulation

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/generation"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/slot"
)

// book is an oracle that knows of one request, accepted under ticket 7.
func book() (*oracle, *requestBook) {
	o := newOracle(&World{records: record.NewMemory(time.Now), wakes: newBroker(nil)})
	r := o.request("L0", "abcd")
	o.lane("L0").lives[7] = r.life
	r.acked, r.placed = time.Now(), time.Now()
	return o, r
}

func wantViolations(t *testing.T, o *oracle, want ...string) {
	t.Helper()
	if !slices.Equal(o.violations, want) {
		t.Errorf("violations %q, want %q", o.violations, want)
	}
}

// A call may look before the request has come back and answer after that.
func TestTheOracleKnowsWhenACallHasLooked(t *testing.T) {
	t.Parallel()
	violation := "L0: state: abcd was accepted, and is not known"
	for name, tt := range map[string]struct {
		lost   bool
		placed time.Duration // after the call began
		want   []string
	}{
		"it came back later":                          {true, time.Second, nil},
		"it had come back":                            {true, -time.Second, []string{violation}},
		"it has another place though nothing is lost": {false, time.Second, []string{violation}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r := book()
			asked := r.acked.Add(time.Minute)
			r.placed = asked.Add(tt.placed)
			if tt.lost { // after its place, before its acknowledgement
				o.losses = append(o.losses, lossBook{how: Emptied, at: r.acked.Add(-time.Millisecond)})
			}
			o.shown(&instance{}, "L0", "abcd", asked, &response{status: http.StatusNotFound, header: http.Header{}})
			wantViolations(t, o, tt.want...)
		})
	}
}

// A run may tell its end after an operator has said that its request is dead, and has it run again.
func TestTheOracleKnowsThatADeadRequestRunsAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		again bool
		want  []string
	}{
		"its record is there":   {false, []string{"L0: I7: finish of abcd, sent again, is told that its lease is lost"}},
		"its record is another": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r := book()
			r.status, r.fence, r.ended = slot.GiveUp, 9, time.Now()
			if tt.again {
				o.nextLife(r, time.Now())
			}
			o.finished(&instance{}, slot.Lane{Key: "L0"}, slot.FinishRequest{Grant: slot.Grant{Ticket: 7, Fence: 9}, Request: "abcd", Outcome: slot.Accept},
				slot.Finished{Verdict: slot.Lost}, nil)
			wantViolations(t, o, tt.want...)
		})
	}
}

// A request may be acknowledged after Redis was emptied, and brought back by its task: the place is given up where the task that
// follows is not confirmed in time.
func TestTheOracleKnowsThatAPlaceWasAdopted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		adopted bool
		want    []string
	}{
		"given to an arrival":                 {false, []string{"L0: I4: the place of abcd is given up after its acknowledgement"}},
		"given to its task when it came back": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r := book()
			r.acked, r.ticket = time.Now(), 7
			o.lane("L0").open[7] = &ticketBook{request: "abcd", adopted: tt.adopted}
			o.looked(&instance{}, slot.Lane{Key: "L0"}, "void", "abcd", 7, slot.Looked{Verdict: slot.Voided}, nil)
			wantViolations(t, o, tt.want...)
		})
	}
}

// A purge by who has not noticed that Redis was emptied is of a lane that counts for nothing.
func TestTheOracleKnowsThatALatePurgeCountsForNothing(t *testing.T) {
	t.Parallel()
	for knows, want := range map[int64]slot.Outcome{8: "", 9: slot.Outcome(slot.Cancelled)} {
		o, r := book()
		o.world.plain = &plain{texts: map[string]string{generation.Key: "9|0|0|server|absent|0|9"}}
		o.world.by.in = &instance{tracker: generation.New(generation.Options{})}
		o.world.by.Generation.Number = knows
		o.lane("L0").open[7] = &ticketBook{request: "abcd"}
		if o.purged(slot.Lane{Key: "L0"}); r.status != want {
			t.Errorf("a purge by who knows generation %d of 9 leaves %q, want %q", knows, r.status, want)
		}
	}
}

// An end that nobody was told may be forgotten with Redis, and the request come to another.
func TestTheOracleKnowsThatAnEndWasForgotten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lost bool
		want []string
	}{
		"with Redis": {true, nil},
		"by nobody":  {false, []string{"L0: durable: the last task is gone, and the end of abcd is in Redis alone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r := book()
			o.world.Durable = true
			r.status, r.fence, r.ended = slot.GiveUp, 9, time.Now()
			if tt.lost {
				o.losses = append(o.losses, lossBook{how: Flushed, at: time.Now()})
			}
			if _, err := o.world.records.Put(t.Context(), record.Record{
				Key: "L0", ID: "abcd", Ticket: 7, Status: record.Cancelled, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
			}); err != nil {
				t.Fatal(err)
			}
			o.kept(r, r.life, "the last task is gone")
			wantViolations(t, o, tt.want...)
		})
	}
}

// A place that a caller gave who had not noticed that Redis was emptied is none: the task is still to come.
func TestTheOracleKnowsThatALatePlaceIsNone(t *testing.T) {
	t.Parallel()
	o, r := book()
	before := time.Now().Add(-time.Minute)
	o.losses = append(o.losses, lossBook{how: Flushed, at: time.Now().Add(-time.Second)})
	o.lane("L0").open[7] = &ticketBook{request: "abcd", late: true, before: before}
	newcomer := &life{arrived: time.Now()}
	if got := o.excuse("L0", r.life, newcomer); got != "" {
		t.Errorf("it has its place: %q, want no window", got)
	}
	o.noticed(o.lane("L0"))
	if got := o.excuse("L0", r.life, newcomer); got != TaskLate || len(o.lane("L0").open) != 0 {
		t.Errorf("%q, open %v; want %q and none", got, o.lane("L0").open, TaskLate)
	}
}

// What counts is whether Redis has forgotten the end, not whether that was told before.
func TestTheOracleKnowsWhichResultWasForgotten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration // from the first end to the loss
		want  []string
	}{
		"that of before the loss": {time.Second, nil},
		"none":                    {-time.Second, []string{`L0: I5: abcd is answered "200 new", and was "200 old"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r := book()
			r.status, r.ended = slot.Accept, time.Now()
			for _, body := range []string{"old", "new"} {
				out := &response{status: http.StatusOK}
				out.body.WriteString(body)
				o.replayed(r, r.life, out)
				o.losses = []lossBook{{how: Flushed, at: r.ended.Add(tt.after)}}
			}
			wantViolations(t, o, tt.want...)
		})
	}
}

// A purge may end a request while its run has the record store decide that it is done: who sends it again is told that.
func TestTheOracleKnowsThatWhatWasDecidedOutlivesAPurge(t *testing.T) {
	t.Parallel()
	for name, decides := range map[string]bool{"where the store decides": true, "else it has a result of its own": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, r := book()
			o.world.Durable, o.world.Decide = true, decides
			r.status = slot.Outcome(slot.Cancelled)
			if _, err := o.world.records.Put(t.Context(), record.Record{
				Key: "L0", ID: "abcd", Ticket: 7, Fence: 9, Status: record.Done, Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
			}); err != nil {
				t.Fatal(err)
			}
			o.nextLife(r, time.Now())
			o.lane("L0").lives[8] = r.life
			if o.decided(r, r.life); decides != (r.status == slot.Accept) {
				t.Errorf("its next life has ended as %q", r.status)
			}
			r.status = slot.Accept
			if got := o.recorded(r, r.life); got != decides {
				t.Errorf("the end of its next life is kept: %t, want %t", got, decides)
			}
		})
	}
}
