package origin_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/origin"
	"github.com/seriatim/seriatim/shared/policy"
)

func newOrigin(t *testing.T, config policy.Origin) *origin.Origin {
	t.Helper()
	config.Name = "shop"
	o, err := origin.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

func TestPathsLeadBelowTheOrigin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, path, query, want string }{
		{"http://o/api", "prices/pear", "", "http://o/api/prices/pear"},
		{"http://o/api/", "prices/", "", "http://o/api/prices/"},
		{"http://o", "prices", "", "http://o/prices"},
		{"http://o/api", "", "", "http://o/api"},
		{"http://o/api/", "", "a=1", "http://o/api/?a=1"},
		{"http://o/api?key=k", "x", "a=%2F&&b", "http://o/api/x?key=k&a=%2F&&b"},
		{"http://o/api", "group%2Fproject", "", "http://o/api/group%2Fproject"},
		{"http://o/api", "100%25", "", "http://o/api/100%25"},
		{"http://o/api", "@evil.example", "", "http://o/api/@evil.example"},
		{"http://o", ":80@evil.example", "", "http://o/:80@evil.example"},
		{"http://o/api", "...", "", "http://o/api/..."},
		{"http://o/api", "a..b/.well-known", "", "http://o/api/a..b/.well-known"},
		{"http://o/api", "{id}%2Fx", "", "http://o/api/%7Bid%7D%2Fx"},
		{"http://o/api", "zürich", "", "http://o/api/z%C3%BCrich"},
		{"http://o/api", "x", "next=http://evil.example/../..", "http://o/api/x?next=http://evil.example/../.."},
	} {
		r, err := newOrigin(t, policy.Origin{URL: tt.base}).Read(tt.path, tt.query, origin.Caller{})
		if err != nil {
			t.Errorf("%s + %s: %v", tt.base, tt.path, err)
			continue
		}
		if r.Key.Read != tt.want {
			t.Errorf("%s + %s leads to %s, want %s", tt.base, tt.path, r.Key.Read, tt.want)
		}
	}
}

// hostile are paths that some server resolves to a place above, or to another
// host.
var hostile = []string{
	"..", ".", "../x", "a/../../x", "a/..", "a/./b", "%2e%2e", "%2E%2E/x", ".%2e/x", "a/%2e%2e/%2e%2e/x", "..%2fx", "..%2Fx", "a%2f..%2fx",
	"%252e%252e/x", "%25252e%25252e/x", "..%252fx", `..\x`, `a\..\x`, "..%5cx", "..%255cx", `\\evil.example`, "%5c%5cevil.example",
	"..;/x", "..;a=b/x", ".;/x", "%2e%2e;/x", "/evil.example", "//evil.example", "%2f%2fevil.example", "%2Fevil.example", "a//b", "a%2f%2fb",
	"http://evil.example", "http:%2f%2fevil.example", "https:%252f%252fevil.example", "%00", "a%0d%0aHost:evil", "a%7f", "%", "%zz", "a%2",
	"%2525252525252e", "a\x00", "a\r\n",
}

func TestPathsThatLeadElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://o", "http://o/", "http://o/api/v1"} {
		o := newOrigin(t, policy.Origin{URL: base})
		for _, path := range hostile {
			r, err := o.Read(path, "", origin.Caller{})
			if !errors.Is(err, origin.ErrPath) {
				t.Errorf("%s + %q: error %v, read %+v", base, path, err, r)
			}
		}
	}
}

// However a path is encoded, the read is below the origin or refused.
func FuzzRead(f *testing.F) {
	for _, path := range append(hostile, "a", "{}", "") {
		f.Add(path, path)
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		r, err := newOrigin(t, policy.Origin{URL: "http://o/api"}).Read(path, query, origin.Caller{})
		if err != nil {
			if !errors.Is(err, origin.ErrPath) {
				t.Errorf("error %v, want %v", err, origin.ErrPath)
			}
			return
		}
		url, _, _ := strings.Cut(r.Key.Read, "?")
		if url != "http://o/api" && !strings.HasPrefix(url, "http://o/api/") || strings.Contains(url, "/../") || strings.ContainsAny(url, `\#`) {
			t.Errorf("%q leads to %s", path, url)
		}
	})
}
