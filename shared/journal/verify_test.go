package journal_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/journal"
)

// story is the journal of a lane with concurrency 1, spacing 1 s and burst 1, whose lease is 30 s.
const story = `
1000000|begin|t1000000|f1000000|g1
1000000|reserve|t1000000|ia
1000000|grant|t1000000|ia|f1000001|a1|x1030000|n1|s1000|u1
1000100|reserve|t1000001|ib
1000200|reserve|t1000002|ic
1000300|reserve|t1000003|id
1000400|done|t1000000|ia|f1000001
1001000|grant|t1000001|ib|f1000002|a1|x1031000|n1|s1000|u1
1001500|retry|t1000001|ib|f1000002|k1|b1004500|rstatus
1002000|pause
1003000|resume
1004600|grant|t1000001|ib|f1000003|a2|k1|x1034600|n1|s1000|u1
1005000|dead|t1000001|ib|f1000003|b1007000|rattempts
1007000|grant|t1000002|ic|f1000004|a1|x1037000|n1|s1000|u1
1040000|grant|t1000002|ic|f1000005|a2|x1070000|n1|s1000|u1
1041000|park|t1000002|ic|f1000005|rstatus
1042000|redrive|t1000002|ic
1043000|grant|t1000002|ic|f1000006|a3|x1073000|n1|s1000|u1
1044000|done|t1000002|ic|f1000006
1044500|void|t1000003|id
1045000|reserve|t1000004|ie
1045100|reserve|t1000005|if
1045200|cancel|t1000004|ie
1046000|purge|t1000006
1047000|repair|t2047000|f2047000|g2|b1050000|s1000|u1
1048000|reserve|t2047000|ig
1048000|adopt|t1000005|if
1051000|grant|t1000005|if|f2047001|a1|x1081000|n1|s1000|u1
1052000|done|t1000005|if|f2047001
1053000|grant|t2047000|ig|f2047002|a1|x1083000|n1|s1000|u1
1090000|resolve|t2047000|ig|rdone
`

func entries(t testing.TB, text string) []journal.Entry {
	t.Helper()
	var list []journal.Entry
	for line := range strings.Lines(strings.TrimSpace(text)) {
		e, err := journal.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestAnyLastPartOfAJournalVerifies(t *testing.T) {
	t.Parallel()
	list := entries(t, story)
	for i := range list {
		if v := journal.Verify(list[i:]); v != nil {
			t.Errorf("from entry %d on: %v", i, v)
		}
	}
}

func TestATextIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	list := append(entries(t, story), journal.Entry{
		At: 1, Event: journal.Grant, Ticket: 2, Request: "id", Fence: 3, Attempt: 4, K: 5, LeaseUntil: 6, NotBefore: 7, Reach: 8, Live: 9,
		Concurrency: 10, SpacingMS: 11, Burst: 12, Generation: 13, Reason: "a|b",
	})
	for _, e := range list {
		if got, err := journal.Parse(e.String()); err != nil || got != e {
			t.Errorf("%+v is read as %+v, %v", e, got, err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got journal.Entry
		if err := json.Unmarshal(text, &got); err != nil || got != e {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
	want := `{"at":"2026-11-30T18:44:25.806Z","event":"pause"}`
	if got, err := json.Marshal(journal.Entry{At: 1796064265806, Event: journal.Pause}); err != nil || string(got) != want {
		t.Errorf("JSON is %s, %v, want %s", got, err, want)
	}
}

func TestWhatIsNoEntryIsMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "1|", "x|grant", "1|grant|tx", "1|grant|", "1|grant||t1"} {
		if _, err := journal.Parse(text); !errors.Is(err, journal.ErrMalformed) {
			t.Errorf("%q: %v, want ErrMalformed", text, err)
		}
	}
	if e, err := journal.Parse("1|grant|zwhat|t2"); err != nil || e.Ticket != 2 {
		t.Errorf("a field of a newer version: %+v, %v", e, err)
	}
}

// TestEachCorruptionIsNamed changes a line of the story, after which a promise is broken, and asks for its name.
func TestEachCorruptionIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		old, changed string // "": no line
		invariant    string
		at           string // the line that is blamed, as it then is
	}{
		"a fence that was given": {
			"1004600|grant|t1000001|ib|f1000003|", "1004600|grant|t1000001|ib|f1000002|", journal.Exclusion, "",
		},
		"a fence that falls": {
			"1004600|grant|t1000001|ib|f1000003|", "1004600|grant|t1000001|ib|f1000000|", journal.Exclusion, "",
		},
		"a grant beside a live lease": {
			"1000400|done|t1000000|ia|f1000001\n", "", journal.Exclusion, "1001000|grant|t1000001",
		},
		"a grant of a ticket whose lease lives": {
			"1040000|grant|t1000002|ic|f1000005|", "1035000|grant|t1000002|ic|f1000005|", journal.Exclusion, "",
		},
		"a lease beside it that is counted": {
			"1007000|grant|t1000002|ic|f1000004|a1|x1037000|", "1007000|grant|t1000002|ic|f1000004|a1|l1|x1037000|", journal.Exclusion, "",
		},
		"a lease that counts for nothing": {
			"1007000|grant|t1000002|ic|f1000004|a1|x1037000|n1|", "1007000|grant|t1000002|ic|f1000004|a1|l1|x1037000|n2|", journal.Whole, "",
		},
		"a lease that ended before it began": {
			"x1031000", "x1001000", journal.Exclusion, "1001000|grant|t1000001",
		},
		"a ticket before a lower one that waits": {
			"1001000|grant|t1000001|ib|", "1001000|grant|t1000002|ic|", journal.Order, "",
		},
		"a ticket before a lower one that is to be tried again": {
			"1004600|grant|t1000001|ib|f1000003|a2|k1|", "1004600|grant|t1000002|ic|f1000003|a1|", journal.Order, "",
		},
		"a ticket before a lower one whose lease lapsed": {
			"1040000|grant|t1000002|ic|f1000005|a2|", "1040000|grant|t1000003|id|f1000005|a1|", journal.Order, "",
		},
		"a ticket before one that was adopted": {
			"1051000|grant|t1000005|if|", "1051000|grant|t2047000|ig|", journal.Order, "",
		},
		"a ticket that is given twice": {
			"1000200|reserve|t1000002|ic", "1000200|reserve|t1000001|ic", journal.Order, "",
		},
		"a ticket that skips one": {
			"1000200|reserve|t1000002|ic", "1000200|reserve|t1000003|ic", journal.Order, "",
		},
		"a ticket that nobody took": {
			"1001000|grant|t1000001|ib|", "1001000|grant|t1000009|ib|", journal.Whole, "",
		},
		"a grant before the pace": {
			"1001000|grant|t1000001", "1000999|grant|t1000001", journal.Pace, "",
		},
		"a grant before its backoff ends": {
			"1004600|grant|t1000001", "1004400|grant|t1000001", journal.Pace, "",
		},
		"a grant while a failure holds the lane": {
			"1007000|grant|t1000002", "1006900|grant|t1000002", journal.Pace, "",
		},
		"a grant just after a repair": {
			"1051000|grant|t1000005", "1050000|grant|t1000005", "", "",
		},
		"a grant in quarantine": {
			"1051000|grant|t1000005", "1049000|grant|t1000005", journal.Quarantine, "",
		},
		"a grant before the last task of before": {
			"1000000|begin|t1000000|f1000000|", "1000000|begin|t1000000|f1000000|h1000900|", journal.Quarantine, "1000000|grant",
		},
		"a grant on a paused lane": {
			"1003000|resume\n", "", journal.Held, "1004600|grant",
		},
		"a grant of a parked ticket": {
			"1042000|redrive|t1000002|ic\n", "", journal.Stand, "1043000|grant",
		},
		"a redrive where the lane does not stand": {
			"1041000|park|", "1041000|retry|", journal.Stand, "1042000|redrive",
		},
		"a grant of what has ended": {
			"1001500|retry|t1000001|ib|f1000002|k1|b1004500|", "1001500|done|t1000001|ib|f1000002|", journal.Effect, "1004600|grant",
		},
		"an end by another's fence": {
			"1005000|dead|t1000001|ib|f1000003|", "1005000|dead|t1000001|ib|f1000002|", journal.Effect, "",
		},
		"an end without a run": {
			"1002000|pause", "1002000|done|t1000001|ib|f1000002", journal.Effect, "",
		},
		"a run that ends twice": {
			"1044500|void|t1000003|id", "1044500|done|t1000002|ic|f1000006", journal.Effect, "",
		},
		"a cancel of what runs": {
			"1005000|dead|t1000001|ib|f1000003|b1007000|rattempts", "1005000|cancel|t1000001|ib", journal.Exclusion, "",
		},
		"a void of what has ended": {
			"1044500|void|t1000003|id", "1044500|void|t1000002|ic", journal.Effect, "",
		},
		"a settled run": {
			"1090000|resolve|", "1080000|resolve|", journal.Exclusion, "",
		},
		"a resolve of what waits": {
			"1042000|redrive|t1000002|ic", "1042000|resolve|t1000003|id|rdead", journal.Stand, "",
		},
		"a ticket that is adopted where it waits": {
			"1048000|adopt|t1000005|if", "1048000|adopt|t2047000|ig", journal.Order, "",
		},
		"a grant that is missing": {
			"1040000|grant|t1000002|ic|f1000005|a2|x1070000|n1|s1000|u1\n", "", journal.Effect, "1041000|park",
		},
		"a grant of another attempt": {
			"f1000003|a2|", "f1000003|a3|", journal.Whole, "1004600|grant",
		},
		"a fence that skips one": {
			"1001000|grant|t1000001|ib|f1000002|", "1001000|grant|t1000001|ib|f1000003|", journal.Whole, "",
		},
		"a snooze count that falls": {
			"f1000002|k1|b1004500", "f1000002|k2|b1004500", journal.Whole, "1004600|grant",
		},
		"a ticket of another request": {
			"1000400|done|t1000000|ia|", "1000400|done|t1000000|ix|", journal.Whole, "",
		},
		"a purge of another ticket": {
			"1046000|purge|t1000006", "1046000|purge|t1000007", journal.Whole, "",
		},
		"a repair that takes tickets back": {
			"1047000|repair|t2047000|", "1047000|repair|t1000001|", journal.Whole, "",
		},
		"time that falls": {
			"1002000|pause", "1001000|pause", journal.Clock, "",
		},
		"two lives": {
			"1002000|pause", "1002000|begin|t2000000|f2000000|g1", journal.Whole, "",
		},
		"an event that nobody knows": {
			"1002000|pause", "1002000|paus", journal.Whole, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Count(story, tt.old) != 1 {
				t.Fatalf("%q is in the story %d times", tt.old, strings.Count(story, tt.old))
			}
			blamed := tt.at
			if blamed == "" {
				blamed = tt.changed
			}
			text := strings.Replace(story, tt.old, tt.changed, 1)
			v := journal.Verify(entries(t, text))
			if tt.invariant == "" {
				if v != nil {
					t.Error(v)
				}
				return
			}
			if v == nil {
				t.Fatalf("nothing is noticed, want %s", tt.invariant)
			}
			if got := strings.Fields(text)[v.Index]; v.Invariant != tt.invariant || !strings.HasPrefix(got, blamed) {
				t.Errorf("%v (%s), want %s at %s", v, got, tt.invariant, blamed)
			}
			if v.Why == "" || !strings.HasPrefix(v.Error(), v.Invariant+" at entry ") {
				t.Errorf("it is told as %q", v.Error())
			}
		})
	}
}

// TestALeaseThatWasRenewedIsToldByTheCount: the expiry of the grant says nothing where the lease was renewed.
func TestALeaseThatWasRenewedIsToldByTheCount(t *testing.T) {
	t.Parallel()
	list := entries(t, `
1000000|begin|t1|f1|g1
1000000|reserve|t1|ia
1000000|grant|t1|ia|f2|a1|x1030000|n2|u1
1000000|reserve|t2|ib
1040000|grant|t2|ib|f3|a1|l1|x1070000|n2|u1
1041000|done|t1|ia|f2
`)
	if v := journal.Verify(list); v != nil {
		t.Error(v)
	}
	list[4].Live = 0
	want := &journal.Violation{Index: 4, Invariant: journal.Order, Why: "ticket 2 starts before 1, whose lease lapsed at 1030000"}
	if diff := cmp.Diff(want, journal.Verify(list)); diff != "" {
		t.Errorf("violation (-want +got):\n%s", diff)
	}
}

// TestATicketFromBeforeTheJournalThatWasOvertakenIsFound although no entry tells that it waited.
func TestATicketFromBeforeTheJournalThatWasOvertakenIsFound(t *testing.T) {
	t.Parallel()
	list := entries(t, `
1000000|grant|t5|ie|f9|a1|x1030000|n3|u1
1000001|grant|t4|id|f10|a2|x1030000|n3|u1|l1
1000002|grant|t3|ic|f11|a1|x1030000|n3|u1|l2
`)
	if v := journal.Verify(list[1:]); v == nil || v.Invariant != journal.Order || v.Index != 1 {
		t.Errorf("%v, want that 3 was overtaken", v)
	}
	if v := journal.Verify(slices.Concat(list[:2], list[:0])); v != nil {
		t.Errorf("%v: ticket 4 may have run when 5 started", v)
	}
}
