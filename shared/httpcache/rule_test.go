package httpcache_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/httpcache"
)

// header reads "Name: value" lines.
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

var (
	now      = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	defaults = httpcache.Defaults{Fresh: time.Minute, Negative: time.Second, WhileRevalidate: 10 * time.Second, IfError: time.Hour}
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const s = time.Second
	type lives = httpcache.Lives
	byDefault := httpcache.Rule{Lives: lives{Fresh: 60 * s, WhileRevalidate: 10 * s, IfError: time.Hour}}
	private := httpcache.Rule{Private: true}
	for _, tt := range []struct {
		name   string
		status int
		header []string
		want   httpcache.Rule
	}{
		{"an answer that says nothing has the configured lives", 200, nil, byDefault},
		{"so has one without a body", 204, nil, byDefault},
		{"a status that is not cacheable by itself has none", 201, nil, httpcache.Rule{Lives: lives{WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"an error is shared for the negative time, and never stale", 404, nil, httpcache.Rule{Lives: lives{Fresh: s}}},
		{"a server's error is a failure", 503, nil, httpcache.Rule{Failed: true, Lives: lives{Fresh: s}}},

		{"max-age wins over the configuration", 200, []string{"Cache-Control: max-age=7"}, httpcache.Rule{Lives: lives{Fresh: 7 * s, WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"also for an error", 404, []string{"Cache-Control: max-age=7"}, httpcache.Rule{Lives: lives{Fresh: 7 * s}}},
		{"s-maxage wins over max-age, and asks for revalidation", 200, []string{"Cache-Control: max-age=7, s-maxage=8"}, httpcache.Rule{Lives: lives{Fresh: 8 * s}}},
		{"what it says beside s-maxage holds", 200, []string{"Cache-Control: s-maxage=8, stale-while-revalidate=9, stale-if-error=10"}, httpcache.Rule{Lives: lives{Fresh: 8 * s, WhileRevalidate: 9 * s, IfError: 10 * s}}},
		{"names have no case, values may be quoted, lines are one list", 200, []string{"Cache-Control: MAX-AGE=\"7\"", "Cache-Control: Stale-If-Error=0"}, httpcache.Rule{Lives: lives{Fresh: 7 * s, WhileRevalidate: 10 * s}}},
		{"a number beyond all bounds is the greatest", 200, []string{"Cache-Control: max-age=99999999999999999999"}, httpcache.Rule{Lives: lives{Fresh: 2147483647 * s, WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"max-age wins over Expires", 200, []string{"Cache-Control: max-age=7", "Expires: 0"}, httpcache.Rule{Lives: lives{Fresh: 7 * s, WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"Expires counts from Date", 200, []string{"Date: Tue, 01 Dec 2026 08:00:00 GMT", "Expires: Tue, 01 Dec 2026 08:00:09 GMT"}, httpcache.Rule{Lives: lives{Fresh: 9 * s, WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"without Date from now", 200, []string{"Expires: Tue, 01 Dec 2026 10:00:09 GMT"}, httpcache.Rule{Lives: lives{Fresh: 9 * s, WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"Expires of no date has passed", 200, []string{"Expires: 0"}, httpcache.Rule{Lives: lives{WhileRevalidate: 10 * s, IfError: time.Hour}}},
		{"Expires in the past has passed", 200, []string{"Expires: Tue, 01 Dec 2026 08:00:00 GMT"}, httpcache.Rule{Lives: lives{WhileRevalidate: 10 * s, IfError: time.Hour}}},

		{"must-revalidate allows nothing stale", 200, []string{"Cache-Control: max-age=7, must-revalidate, stale-if-error=9"}, httpcache.Rule{Lives: lives{Fresh: 7 * s}}},
		{"so does proxy-revalidate", 200, []string{"Cache-Control: proxy-revalidate"}, httpcache.Rule{Lives: lives{Fresh: 60 * s}}},
		{"no-cache is kept to be revalidated", 200, []string{"Cache-Control: no-cache, max-age=7", `ETag: "1"`}, httpcache.Rule{Lives: lives{Keep: time.Minute}}},
		{"also for one field only", 200, []string{`Cache-Control: no-cache="X-Total"`}, httpcache.Rule{}},
		{"what can be revalidated is kept as long again", 200, []string{"Cache-Control: max-age=120, must-revalidate", "Last-Modified: x"}, httpcache.Rule{Lives: lives{Fresh: 120 * s, Keep: 120 * s}}},

		{"Age is told", 200, []string{"Age: 5", "Cache-Control: must-revalidate"}, httpcache.Rule{Age: 5 * s, Lives: lives{Fresh: 60 * s}}},
		{"of two Ages the first counts", 200, []string{"Age: 5, 6", "Cache-Control: must-revalidate"}, httpcache.Rule{Age: 5 * s, Lives: lives{Fresh: 60 * s}}},
		{"an Age that is no number is none", 200, []string{"Age: -5"}, byDefault},

		{"no-store is private", 200, []string{"Cache-Control: max-age=7, no-store"}, private},
		{"private is private", 200, []string{"Cache-Control: Private"}, private},
		{"also for one field only", 200, []string{`Cache-Control: private="X-Total", max-age=7`}, private},
		{"directives behind an unquoted list are not lost", 200, []string{"Cache-Control: no-cache=X-Total,no-store"}, private},
		{"what sets a cookie is private", 200, []string{"Cache-Control: public, max-age=7", "Set-Cookie: id=1"}, private},
		{"what varies by everything is private", 200, []string{"Vary: Accept, *"}, private},
		{"a vary that the key covers is not", 200, []string{"Vary: Accept-Encoding, Cookie"}, byDefault},
		{"a part is private", 206, nil, private},
		{"a failure may be private too", 500, []string{"Cache-Control: no-store"}, httpcache.Rule{Private: true, Failed: true}},
		{"what cannot be read is private", 200, []string{"Cache-Control: max-age=soon"}, private},
		{"a negative age cannot be read", 200, []string{"Cache-Control: max-age=-1"}, private},
		{"nor an open quote", 200, []string{`Cache-Control: no-cache="x`}, private},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, httpcache.Judge(tt.status, header(tt.header...), defaults, now)); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever an origin sends: no life is negative, and what says no-store is
// private.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{"max-age=1", `private="a, b", x`, "no-cache=a b,", `="`, ",,=,", "max-age=", "no-store"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, control, expires string) {
		r := httpcache.Judge(200, http.Header{"Cache-Control": {control}, "Expires": {expires}, "Age": {control}}, defaults, now)
		for _, life := range []time.Duration{r.Fresh, r.WhileRevalidate, r.IfError, r.Keep, r.Age} {
			if life < 0 {
				t.Errorf("negative life in %+v", r)
			}
		}
		if !httpcache.Judge(200, http.Header{"Cache-Control": {"no-store, " + control}}, defaults, now).Private {
			t.Error("no-store was lost")
		}
	})
}
