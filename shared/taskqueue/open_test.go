package taskqueue_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestOpenRefusesWhatWasTamperedWith(t *testing.T) {
	t.Parallel()

	k := keys(t, "first,second")
	body, mac, err := k.Seal(envelope())
	if err != nil {
		t.Fatal(err)
	}
	refused := func(t *testing.T, body []byte, mac string) {
		t.Helper()
		if e, err := k.Open(body, mac); !errors.Is(err, taskqueue.ErrMAC) || e.Key != "" {
			t.Errorf("Open = %+v, %v; want nothing and ErrMAC", e, err)
		}
	}
	t.Run("every flipped bit", func(t *testing.T) {
		t.Parallel()
		for i := range 8 * len(body) {
			flipped := bytes.Clone(body)
			flipped[i/8] ^= 1 << (i % 8)
			refused(t, flipped, mac)
		}
		for i := range 8 * len(mac) {
			flipped := []byte(mac)
			flipped[i/8] ^= 1 << (i % 8)
			refused(t, body, string(flipped))
		}
	})
	t.Run("every truncation, and more of it", func(t *testing.T) {
		t.Parallel()
		for i := range body {
			refused(t, body[:i], mac)
		}
		for i := range mac {
			refused(t, body, mac[:i])
		}
		refused(t, append(bytes.Clone(body), ' '), mac)
		refused(t, body, mac+" ")
	})
	t.Run("another key's MAC", func(t *testing.T) {
		t.Parallel()
		refused(t, body, sign("third", body))
		refused(t, body, sign("", body))
		refused(t, body, sign("first,second", body))
	})
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()

	oldest, both, newest := keys(t, "old"), keys(t, " new , old "), keys(t, "new")
	opens := func(t *testing.T, k taskqueue.Keys, body []byte, mac string, want error) {
		t.Helper()
		if _, err := k.Open(body, mac); !errors.Is(err, want) {
			t.Errorf("Open with %v = %v, want %v", k, err, want)
		}
	}
	before, beforeMAC, err := oldest.Seal(envelope())
	if err != nil {
		t.Fatal(err)
	}
	after, afterMAC, err := both.Seal(envelope())
	if err != nil {
		t.Fatal(err)
	}
	opens(t, both, before, beforeMAC, nil)                  // tasks of before are still read
	opens(t, newest, after, afterMAC, nil)                  // the new key has signed
	opens(t, newest, before, beforeMAC, taskqueue.ErrMAC)   // dropped too early: nothing is guessed
	opens(t, oldest, after, afterMAC, taskqueue.ErrMAC)     // an instance not yet updated: 409, later
	opens(t, taskqueue.Keys{}, after, "", taskqueue.ErrMAC) // no keys trust nobody
}

func TestOpenUnderARightMAC(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, body string
		want       error
	}{
		{"a newer version", `{"v":2,"kind":"request","key":"k","id":"i"}`, taskqueue.ErrVersion},
		{"a newer version of another shape", `{"v":2,"key":{"tenant":1},"body":[1]}`, taskqueue.ErrVersion},
		{"a kind that newer code added", `{"v":1,"kind":"sweep","key":"k"}`, taskqueue.ErrVersion},
		{"a field that newer code added", `{"v":1,"kind":"request","key":"k","id":"i","new":{}}`, nil},
		{"nothing", ``, taskqueue.ErrMalformed},
		{"no JSON", `hello`, taskqueue.ErrMalformed},
		{"JSON of another kind", `[1]`, taskqueue.ErrMalformed},
		{"null", `null`, taskqueue.ErrMalformed},
		{"no version", `{"kind":"request","key":"k","id":"i"}`, taskqueue.ErrMalformed},
		{"a negative version", `{"v":-1,"kind":"request","key":"k","id":"i"}`, taskqueue.ErrMalformed},
		{"no kind", `{"v":1,"key":"k","id":"i"}`, taskqueue.ErrMalformed},
		{"no key", `{"v":1,"kind":"kick"}`, taskqueue.ErrMalformed},
		{"a request without an id", `{"v":1,"kind":"request","key":"k"}`, taskqueue.ErrMalformed},
		{"a kick without an id", `{"v":1,"kind":"kick","key":"k","seq":1}`, nil},
		{"a ticket that is text", `{"v":1,"kind":"request","key":"k","id":"i","ticket":"1"}`, taskqueue.ErrMalformed},
		{"a ticket that is a fraction", `{"v":1,"kind":"request","key":"k","id":"i","ticket":1.5}`, taskqueue.ErrMalformed},
		{"a body that is no base64", `{"v":1,"kind":"request","key":"k","id":"i","body":"?"}`, taskqueue.ErrMalformed},
		{"a time that is none", `{"v":1,"kind":"request","key":"k","id":"i","deadline":"soon"}`, taskqueue.ErrMalformed},
		{"two documents", `{"v":1,"kind":"kick","key":"k"}{}`, taskqueue.ErrMalformed},
	}
	k := keys(t, "first")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := k.Open([]byte(tt.body), sign("first", []byte(tt.body))); !errors.Is(err, tt.want) {
				t.Errorf("Open(%s) = %v, want %v", tt.body, err, tt.want)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	k := keys(f, "first,second")
	for _, seed := range []string{"", "null", `{"v":2}`, `{"v":1,"kind":"kick","key":"k"}`, `{"v":1,"kind":"request","key":"k","id":"i","body":"eA=="}`} {
		f.Add([]byte(seed), "", true)
		f.Add([]byte(seed), sign("second", []byte(seed)), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, mac string, signed bool) {
		if signed {
			mac = sign("first", body)
		}
		e, err := k.Open(body, mac)
		switch {
		case err == nil:
			again, mac, err := k.Seal(e)
			if err != nil && !errors.Is(err, taskqueue.ErrTooLarge) && !errors.Is(err, taskqueue.ErrMalformed) {
				t.Fatalf("Seal what Open returned: %v", err)
			}
			if err != nil {
				return
			}
			got, err := k.Open(again, mac)
			if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Fatalf("opened again: %v (-first +second):\n%s", err, diff)
			}
		case e.Kind != "" || e.Key != "":
			t.Fatalf("Open returned %+v beside %v", e, err)
		case errors.Is(err, taskqueue.ErrMAC) != (mac != sign("first", body) && mac != sign("second", body)):
			t.Fatalf("Open = %v for a MAC that is right or wrong", err)
		case !errors.Is(err, taskqueue.ErrMAC) && !errors.Is(err, taskqueue.ErrVersion) && !errors.Is(err, taskqueue.ErrMalformed):
			t.Fatalf("Open = %v, none of its sentinels", err)
		}
	})
}
