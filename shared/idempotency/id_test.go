package idempotency_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/idempotency"
)

// asciiPrintable is the alphabet of an idempotency key.
var asciiPrintable = &unicode.RangeTable{R16: []unicode.Range16{{Lo: ' ', Hi: '~', Stride: 1}}, LatinOffset: 1}

func TestRequestID(t *testing.T) {
	t.Parallel()

	t.Run("is what API.md promises to clients that compute it", func(t *testing.T) {
		t.Parallel()
		sum := sha256.Sum256([]byte("tenant-42:product-7\x00order-1"))
		want := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
		if got := idempotency.RequestID("tenant-42:product-7", "order-1"); got != want {
			t.Errorf("RequestID = %q, want %q", got, want)
		}
	})
	t.Run("differs when a byte moves from the lane's key to the idempotency key", func(t *testing.T) {
		t.Parallel()
		if a, b := idempotency.RequestID("ab", "c"), idempotency.RequestID("a", "bc"); a == b {
			t.Errorf("both are %q", a)
		}
	})
	t.Run("is pure, valid and distinct for distinct pairs", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			key := rapid.StringOfN(rapid.RuneFrom([]rune("ab/:ü")), 1, 4, -1)
			a, b := key.Draw(t, "lane a"), key.Draw(t, "lane b")
			x, y := key.Draw(t, "key a"), key.Draw(t, "key b")
			id := idempotency.RequestID(a, x)
			if !idempotency.ValidRequestID(id) || id != idempotency.RequestID(a, x) {
				t.Fatalf("RequestID(%q, %q) = %q is not valid or not pure", a, x, id)
			}
			if same := a == b && x == y; same != (id == idempotency.RequestID(b, y)) {
				t.Fatalf("ids of (%q, %q) and (%q, %q) are equal: %v, want %v", a, x, b, y, !same, same)
			}
		})
	})
}

func TestNewRequestID(t *testing.T) {
	t.Parallel()

	t.Run("spends 128 bits", func(t *testing.T) {
		t.Parallel()
		random := bytes.NewReader(make([]byte, 16))
		if got := idempotency.NewRequestID(random); got != strings.Repeat("a", 26) || random.Len() != 0 {
			t.Errorf("NewRequestID of zeros = %q with %d bytes left", got, random.Len())
		}
	})
	t.Run("is valid and never the same", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for range 1000 {
			id := idempotency.NewRequestID(rand.Reader)
			if !idempotency.ValidRequestID(id) || seen[id] {
				t.Fatalf("NewRequestID = %q: invalid or seen before", id)
			}
			seen[id] = true
		}
	})
	t.Run("never makes up an id when randomness fails", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("NewRequestID returned an id of a broken source")
			}
		}()
		idempotency.NewRequestID(iotest.TimeoutReader(bytes.NewReader(make([]byte, 8))))
	})
}

func TestValidRequestID(t *testing.T) {
	t.Parallel()

	for _, id := range []string{"", "a", strings.Repeat("a", 25), strings.Repeat("a", 27), strings.Repeat("A", 26),
		strings.Repeat("a", 25) + "1", strings.Repeat("a", 25) + "\n", "aaaaaaaaaaaa}aaaaaaaaaaaaa", "aaaaaaaaaaaaüaaaaaaaaaaaa"} {
		if idempotency.ValidRequestID(id) {
			t.Errorf("ValidRequestID(%q) = true", id)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()

	t.Run("covers every part and is distinct for distinct parts", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			part := rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00")), 0, 3, -1)
			draw := func(which string) [4]string {
				return [4]string{part.Draw(t, which), part.Draw(t, which), part.Draw(t, which), part.Draw(t, which)}
			}
			a, b := draw("a"), draw("b")
			fa := idempotency.Fingerprint(a[0], a[1], a[2], []byte(a[3]))
			fb := idempotency.Fingerprint(b[0], b[1], b[2], []byte(b[3]))
			if (a == b) != (fa == fb) {
				t.Fatalf("fingerprints of %q and %q: %s and %s", a, b, fa, fb)
			}
		})
	})
	t.Run("takes the content type as it was sent", func(t *testing.T) {
		t.Parallel()
		a := idempotency.Fingerprint("k", "", "text/plain", nil)
		if b := idempotency.Fingerprint("k", "", "Text/Plain", nil); a == b {
			t.Errorf("both are %s", a)
		}
	})
	t.Run("does not tell no body from an empty one", func(t *testing.T) {
		t.Parallel()
		if a, b := idempotency.Fingerprint("k", "", "", nil), idempotency.Fingerprint("k", "", "", []byte{}); a != b {
			t.Errorf("%s and %s", a, b)
		}
	})
	t.Run("stays the same across releases", func(t *testing.T) {
		t.Parallel()
		// A stored fingerprint outlives a deployment: another algorithm would answer 422 to honest retries.
		const want = "u2oyul5hyhcchalg6wderud3st6ewq74rycee5gqj5n5npfjblra"
		if got := idempotency.Fingerprint("tenant-42:product-7", "billing", "application/json", []byte(`{"n":1}`)); got != want {
			t.Errorf("Fingerprint = %s, want %s", got, want)
		}
	})
}
