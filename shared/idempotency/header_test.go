package idempotency_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/idempotency"
)

func header(values ...string) http.Header {
	return http.Header{idempotency.Header: values}
}

func TestParseKey(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("k", 255)
	tests := []struct {
		name   string
		values []string
		want   string
	}{
		{"quoted", []string{`"8e03978e-40d5"`}, "8e03978e-40d5"},
		{"bare, the same key", []string{"8e03978e-40d5"}, "8e03978e-40d5"},
		{"white space around either form is no part of it", []string{" \tabc ", ` "abc"	`}, "abc"},
		{"white space inside quotes is", []string{`" abc "`}, " abc "},
		{"white space inside a bare key is too", []string{"order 42"}, "order 42"},
		{"escapes", []string{`"a\"b\\c"`}, `a"b\c`},
		{"a bare backslash stands for itself", []string{`a\b`}, `a\b`},
		{"a comma inside quotes", []string{`"a,b"`}, "a,b"},
		{"parameters are ignored", []string{`"abc";v=1`}, "abc"},
		{"255 characters, quoted", []string{`"` + long + `"`}, long},
		{"255 characters, bare", []string{long}, long},
		{"255 characters, each of them escaped", []string{`"` + strings.Repeat(`\\`, 255) + `"`}, strings.Repeat(`\`, 255)},
		{"the same key twice, in both forms", []string{`"abc"`, "abc"}, "abc"},
		{"a bare key that looks like another structured-field type", []string{"?1"}, "?1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, present, err := idempotency.ParseKey(header(tt.values...))
			if err != nil || !present || got != tt.want {
				t.Errorf("ParseKey(%q) = %q, %v, %v; want %q, true", tt.values, got, present, err, tt.want)
			}
		})
	}

	t.Run("no header is no key", func(t *testing.T) {
		t.Parallel()
		if got, present, err := idempotency.ParseKey(http.Header{}); got != "" || present || err != nil {
			t.Errorf("ParseKey of nothing = %q, %v, %v", got, present, err)
		}
	})
}

func TestParseKeyRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		values []string
		detail string
	}{
		{"an empty value", []string{""}, "empty"},
		{"white space only", []string{" \t"}, "empty"},
		{"an empty quoted value", []string{`""`}, "empty"},
		{"256 characters, bare", []string{strings.Repeat("k", 256)}, "256 characters"},
		{"256 characters, quoted", []string{`"` + strings.Repeat("k", 256) + `"`}, "256 characters"},
		{"two different values", []string{"a", "b"}, "2 different values"},
		{"two different values, joined by a proxy", []string{"a, b"}, "double quotes"},
		{"two quoted values, joined by a proxy", []string{`"a", "b"`}, "structured-field"},
		{"a quote that does not end", []string{`"abc`}, "structured-field"},
		{"a quote that ends in an escape", []string{`"abc\"`}, "structured-field"},
		{"a quote that does not begin", []string{`abc"`}, "double quotes"},
		{"text after the quote", []string{`"abc"d`}, "structured-field"},
		{"an unknown escape", []string{`"a\nb"`}, "structured-field"},
		{"an umlaut, bare", []string{"käse"}, "printable ASCII"},
		{"an umlaut, quoted", []string{`"käse"`}, "printable ASCII"},
		{"a control character", []string{"a\x01b"}, "printable ASCII"},
		{"DEL", []string{"a\x7f"}, "printable ASCII"},
		{"a good value beside an empty one", []string{"a", ""}, "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, present, err := idempotency.ParseKey(header(tt.values...))
			if !errors.Is(err, idempotency.ErrMalformed) || !present || got != "" {
				t.Fatalf("ParseKey(%q) = %q, %v, %v; want no key, true, ErrMalformed", tt.values, got, present, err)
			}
			if !strings.Contains(err.Error(), tt.detail) {
				t.Errorf("detail %q does not say %q", err, tt.detail)
			}
		})
	}
}

func TestBothFormsAreOneKey(t *testing.T) {
	t.Parallel()

	printable := rapid.StringOfN(rapid.RuneFrom(nil, asciiPrintable), 1, 255, 255)
	rapid.Check(t, func(t *rapid.T) {
		key := printable.Draw(t, "key")
		quoted, err := httpsfv.Marshal(httpsfv.NewItem(key))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := idempotency.ParseKey(header(quoted)); err != nil || got != key {
			t.Fatalf("ParseKey(%s) = %q, %v; want %q", quoted, got, err, key)
		}
		if strings.ContainsAny(key, `",`) || strings.TrimSpace(key) != key {
			return // has a quoted form only
		}
		if got, _, err := idempotency.ParseKey(header(key)); err != nil || got != key {
			t.Fatalf("ParseKey(%s) = %q, %v; want %q", key, got, err, key)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"", "a", `"a"`, `"a`, `"\\"`, `"a";b`, "a,b", `""`, "\x00", strings.Repeat("k", 256)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, present, err := idempotency.ParseKey(header(value))
		switch {
		case !present:
			t.Fatalf("ParseKey(%q) says there is no header", value)
		case err != nil:
			if !errors.Is(err, idempotency.ErrMalformed) || key != "" {
				t.Fatalf("ParseKey(%q) = %q, %v; want no key and ErrMalformed", value, key, err)
			}
		default:
			quoted, err := httpsfv.Marshal(httpsfv.NewItem(key))
			if err != nil || key == "" || len(key) > idempotency.MaxKeyLength {
				t.Fatalf("ParseKey(%q) let %q through: %v", value, key, err)
			}
			if again, _, err := idempotency.ParseKey(header(quoted)); err != nil || again != key {
				t.Fatalf("ParseKey(%s) = %q, %v; want %q as for %q", quoted, again, err, key, value)
			}
		}
	})
}
