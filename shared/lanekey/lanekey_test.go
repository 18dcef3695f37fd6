package lanekey_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/lanekey"
)

func TestParse(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, segment, want string }{
		{"a plain key is itself", "tenant-42:product-7", "tenant-42:product-7"},
		{"a slash travels as %2F", "a%2Fb%2f%2Fc", "a/b//c"},
		{"an encoded percent sign is decoded once", "100%2525", "100%25"},
		{"a plus is a plus, not a space", "a+b", "a+b"},
		{"braces and colons need no encoding", "{a}:b", "{a}:b"},
		{"dots are fine beside anything else", "...", "..."},
		{"a relative path is only text", "..%2F..", "../.."},
		{"UTF-8 may come raw or encoded", "z%C3%BCrich-ü", "zürich-ü"},
		{"256 bytes fit", strings.Repeat("%C3%BC", 128), strings.Repeat("ü", 128)},
		{"format characters are no control characters", "a%E2%80%8Db", "a\u200db"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := lanekey.Parse(tt.segment)
			if err != nil || got != tt.want {
				t.Errorf("Parse(%q) = %q, %v; want %q", tt.segment, got, err, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, segment, detail string }{
		{"nothing", "", "empty"},
		{"257 bytes", strings.Repeat("k", 257), "257 bytes"},
		{"257 bytes of UTF-8", strings.Repeat("%C3%BC", 128) + "k", "257 bytes"},
		{"two segments", "a/b", "%2F"},
		{"a percent sign alone", "100%", "%25"},
		{"a percent sign with other digits", "%zz", "%25"},
		{"a dot", ".", `"."`},
		{"an encoded pair of dots", "%2e%2E", `".."`},
		{"a NUL", "a%00b", "control character at byte 1"},
		{"a line break", "ab%0A", "control character at byte 2"},
		{"DEL", "%7F", "control character at byte 0"},
		{"a C1 control", "%C2%85", "control character at byte 0"},
		{"a byte that is not UTF-8", "%FF", "UTF-8"},
		{"an overlong NUL", "%C0%80", "UTF-8"},
		{"a surrogate", "%ED%A0%80", "UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := lanekey.Parse(tt.segment)
			if !errors.Is(err, lanekey.ErrMalformed) || got != "" {
				t.Fatalf("Parse(%q) = %q, %v; want ErrMalformed", tt.segment, got, err)
			}
			if !strings.Contains(err.Error(), tt.detail) {
				t.Errorf("detail %q does not say %q", err, tt.detail)
			}
		})
	}
}

// legal generates every kind of legal key, the awkward ones often.
func legal() *rapid.Generator[string] {
	awkward := rapid.SampledFrom([]rune("/%{}:.;,?#&=+ \\\"'<>ü💥\u2028\ufffd"))
	return rapid.StringOfN(rapid.OneOf(awkward, rapid.Rune()), 1, 60, lanekey.MaxBytes).
		Filter(func(s string) bool { return lanekey.Check(s) == nil })
}

func TestEscapeRoundTrip(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		key := legal().Draw(t, "key")
		escaped := lanekey.Escape(key)
		if got, err := lanekey.Parse(escaped); err != nil || got != key {
			t.Fatalf("Parse(Escape(%q)) = %q, %v", key, got, err)
		}
		if i := strings.IndexFunc(escaped, func(r rune) bool {
			return r > unicode.MaxASCII || r <= ' ' || strings.ContainsRune(`/?#{}"`, r)
		}); i >= 0 {
			t.Fatalf("Escape(%q) = %q is no safe path segment at byte %d", key, escaped, i)
		}
		// Location: what a client resolves against our URL must name the same lane.
		base := &url.URL{Scheme: "https", Host: "ingest.example", Path: "/v1/lanes/x/requests"}
		location, err := base.Parse("/v1/lanes/" + escaped + "/requests/id")
		if err != nil {
			t.Fatalf("Location with %q: %v", escaped, err)
		}
		if want := "/v1/lanes/" + escaped + "/requests/id"; location.EscapedPath() != want {
			t.Fatalf("Location path %q, want %q", location.EscapedPath(), want)
		}
	})
}

// A router hands over the segment of the escaped path; whatever the key, it
// must arrive in one piece.
func TestKeySurvivesARouter(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		key := legal().Draw(t, "key")
		r, err := http.NewRequest(http.MethodGet, "https://ingest.example/v1/lanes/"+lanekey.Escape(key), nil)
		if err != nil {
			t.Fatal(err)
		}
		segment := strings.TrimPrefix(r.URL.EscapedPath(), "/v1/lanes/")
		if got, err := lanekey.Parse(segment); err != nil || got != key {
			t.Fatalf("Parse(%q) = %q, %v; want %q", segment, got, err, key)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a", "%2F", "%", "..", "%C2%85", "a%2Fb", strings.Repeat("%C3%BC", 129)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, segment string) {
		key, err := lanekey.Parse(segment)
		if err != nil {
			if !errors.Is(err, lanekey.ErrMalformed) || key != "" {
				t.Fatalf("Parse(%q) = %q, %v; want no key and ErrMalformed", segment, key, err)
			}
			return
		}
		if err := lanekey.Check(key); err != nil {
			t.Fatalf("Parse(%q) let %q through: %v", segment, key, err)
		}
		if again, err := lanekey.Parse(lanekey.Escape(key)); err != nil || again != key {
			t.Fatalf("Parse(Escape(%q)) = %q, %v", key, again, err)
		}
	})
}
