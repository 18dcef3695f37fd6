package taskqueue_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

// sign is the MAC, computed without the package under test.
func sign(key string, body []byte) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

func TestSealFormat(t *testing.T) {
	t.Parallel()

	// Tasks in the queue outlive a deployment: this text may gain fields, not lose or rename any.
	const want = `{"v":1,"kind":"request","key":"tenant-42:product-7","incarnation":1796119200000,"ticket":1796119200007,` +
		`"id":"abcdefghijklmnopqrstuvwxyz","k":2,"target":"billing","header":{"Content-Type":["application/json"],"X-Tag":["a","b"]},` +
		`"idempotency_key":"order-1","fingerprint":"fp","submitted":"2026-12-01T10:00:00.25Z","deadline":"2026-12-01T11:00:00Z",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","body":"eyJuIjoxfQ=="}`
	body, mac, err := keys(t, "first,second").Seal(envelope())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if want := sign("first", body); mac != want {
		t.Errorf("mac = %s, want %s", mac, want)
	}
}

func genEnvelope() *rapid.Generator[taskqueue.Envelope] {
	text := rapid.StringOfN(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("<>&\"\\\u2028\x00\x7f"))), 1, 30, -1)
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		zone := time.FixedZone("", rapid.IntRange(-12, 12).Draw(t, "zone")*3600)
		return time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone)
	})
	return rapid.Custom(func(t *rapid.T) taskqueue.Envelope {
		return taskqueue.Envelope{
			Kind:           rapid.SampledFrom([]taskqueue.Kind{taskqueue.KindRequest, taskqueue.KindKick, taskqueue.KindFlush}).Draw(t, "kind"),
			Key:            text.Draw(t, "key"),
			Incarnation:    rapid.Int64().Draw(t, "incarnation"),
			Ticket:         rapid.Int64().Draw(t, "ticket"),
			ID:             text.Draw(t, "id"),
			K:              rapid.Int().Draw(t, "k"),
			Seq:            rapid.Int64().Draw(t, "seq"),
			Target:         text.Draw(t, "target"),
			Header:         http.Header(rapid.MapOfN(text, rapid.SliceOfN(text, 0, 3), 0, 3).Draw(t, "header")),
			IdempotencyKey: text.Draw(t, "idempotency key"),
			Fingerprint:    text.Draw(t, "fingerprint"),
			Submitted:      moment.Draw(t, "submitted"),
			Deadline:       moment.Draw(t, "deadline"),
			Traceparent:    text.Draw(t, "traceparent"),
			Body:           rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		}
	})
}

func TestOpenReturnsWhatWasSealed(t *testing.T) {
	t.Parallel()

	k := keys(t, "first,second")
	rapid.Check(t, func(t *rapid.T) {
		want := genEnvelope().Draw(t, "envelope")
		body, mac, err := k.Seal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Open(body, mac)
		if err != nil {
			t.Fatal(err)
		}
		want.V = taskqueue.Version
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("envelope (-want +got):\n%s", diff)
		}
		if got.Submitted.Location() != time.UTC || got.Deadline.Location() != time.UTC {
			t.Fatalf("times %v and %v are not in UTC", got.Submitted, got.Deadline)
		}
	})
}

func TestSealRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		break_ func(*taskqueue.Envelope)
		want   error
	}{
		{"no kind", func(e *taskqueue.Envelope) { e.Kind = "" }, taskqueue.ErrMalformed},
		{"no key", func(e *taskqueue.Envelope) { e.Key = "" }, taskqueue.ErrMalformed},
		{"no request id", func(e *taskqueue.Envelope) { e.ID = "" }, taskqueue.ErrMalformed},
		// JSON would turn each of these into U+FFFD without a word.
		{"a header in Latin-1", func(e *taskqueue.Envelope) { e.Header.Set("Content-Type", "text/plain; name=k\xe4se") }, taskqueue.ErrMalformed},
		{"a header name in Latin-1", func(e *taskqueue.Envelope) { e.Header["X-K\xe4se"] = nil }, taskqueue.ErrMalformed},
		{"a trace in Latin-1", func(e *taskqueue.Envelope) { e.Traceparent = "\xe4" }, taskqueue.ErrMalformed},
		{"a year that JSON cannot say", func(e *taskqueue.Envelope) { e.Deadline = time.Unix(1<<40, 0) }, taskqueue.ErrMalformed},
		{"a body above what Cloud Tasks stores", func(e *taskqueue.Envelope) { e.Body = make([]byte, taskqueue.MaxSealed*3/4) }, taskqueue.ErrTooLarge},
		{"headers above it", func(e *taskqueue.Envelope) { e.Header.Set("X", strings.Repeat("x", taskqueue.MaxSealed)) }, taskqueue.ErrTooLarge},
	}
	k := keys(t, "first")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := envelope()
			tt.break_(&e)
			if body, mac, err := k.Seal(e); !errors.Is(err, tt.want) || body != nil || mac != "" {
				t.Errorf("Seal = %d bytes, %q, %v; want nothing and %v", len(body), mac, err, tt.want)
			}
		})
	}
	t.Run("without keys", func(t *testing.T) {
		t.Parallel()
		if body, _, err := (taskqueue.Keys{}).Seal(envelope()); err == nil || body != nil {
			t.Errorf("Seal without keys = %d bytes, %v", len(body), err)
		}
	})
}

// A legal request with everything at its limit must fit into a task, whose
// measured limit is 1 MiB - 7 bytes.
func TestTheLargestRequestFits(t *testing.T) {
	t.Parallel()

	c := config(t)
	c.ExecutorURL = "https://executor.example/" + strings.Repeat("x", 2083-len("https://executor.example/"))
	tk := task()
	tk.At = time.Now()
	tk.ID = strings.Repeat("i", 500)
	tk.Envelope.Body = bytes.Repeat([]byte{0xff}, 512<<10)
	tk.Envelope.Key = strings.Repeat("<", 256) // JSON writes each as \u003c
	tk.Envelope.IdempotencyKey = strings.Repeat("<", 255)
	tk.Envelope.Header.Set("X-Forwarded", strings.Repeat("<", 50<<10))
	r, err := c.CreateRequest(time.Now(), tk)
	if err != nil {
		t.Fatal(err)
	}
	if size, most := proto.Size(r.Task), 1<<20-7; size > most {
		t.Errorf("task of %d bytes, the most is %d", size, most)
	}

	// The same at the very limit of an envelope.
	body, _, err := c.Keys.Seal(tk.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	tk.Envelope.Header.Set("X-Filler", strings.Repeat("x", taskqueue.MaxSealed-len(body)-len(`,"X-Filler":[""]`)))
	if r, err = c.CreateRequest(time.Now(), tk); err != nil {
		t.Fatal(err)
	}
	if size, most := proto.Size(r.Task), 1<<20-7; size > most || len(r.Task.GetHttpRequest().Body) != taskqueue.MaxSealed {
		t.Errorf("task of %d bytes with a body of %d, the most is %d with %d", size, len(r.Task.GetHttpRequest().Body), most, taskqueue.MaxSealed)
	}
}
