package record_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/seriatim/seriatim/shared/record"
)

func TestAnEncodedRecordComesBackWhole(t *testing.T) {
	t.Parallel()
	for _, want := range []Record{dead("a", 1), done("b", 2), {Key: lane, ID: "c", Ticket: 3, Status: Cancelled, Finished: now, ExpireAt: ever}} {
		got, err := Decode(want.Encode())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got):\n%s", want.ID, err, diff)
		}
	}
}

func TestDecodeRefusesWhatWasCutOrIsNoRecord(t *testing.T) {
	t.Parallel()
	whole := dead("a", 1).Encode()
	for _, encoded := range [][]byte{nil, []byte("{}"), []byte("x\n"), whole[:len(whole)-1], append(whole, 'x'), []byte("{\"body\":1}\nx"), []byte("{\"response\":-1,\"body\":2}\nx")} {
		if _, err := Decode(encoded); !errors.Is(err, ErrEncoding) {
			t.Errorf("%.20q: %v, want ErrEncoding", encoded, err)
		}
	}
}
