package origin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/httpcache"
	"github.com/seriatim/seriatim/shared/origin"
	"github.com/seriatim/seriatim/shared/policy"
)

func TestWhatIsStreamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		header string
		length int
		held   bool
		flush  bool // hides the length
	}{
		"the longest is held":                    {length: collapse.MaxValue - 200, held: true},
		"longer is streamed":                     {length: collapse.MaxValue + 1},
		"longer by its head alone":               {length: collapse.MaxValue},
		"longer, and nobody knew":                {length: 2 * collapse.MaxValue, flush: true},
		"private is streamed, however short":     {length: 4, header: "private"},
		"private is streamed, of unknown length": {length: 4, header: "no-store", flush: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.Repeat("x", tt.length)
			o := serve(t, policy.Origin{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", tt.header)
				if tt.flush {
					w.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, want)
			})
			a, err := read(t, o, origin.Caller{}).Fetch(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.held {
				if text(t, a) != want || a.Private || a.Stream != nil {
					t.Errorf("not held: %d bytes, private %v", len(a.Value), a.Private)
				}
				return
			}
			defer a.Stream.Close()
			resp, err := httpcache.Decode(a.Stream)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != want || !a.Private || a.Value != nil {
				t.Errorf("got %d bytes, %v, private %v; want %d", len(got), err, a.Private, len(want))
			}
		})
	}
}
