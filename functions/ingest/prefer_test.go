package ingest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePrefer(t *testing.T) {
	t.Parallel()
	names := func(list ...string) map[string]bool {
		m := map[string]bool{}
		for _, name := range list {
			m[name] = true
		}
		return m
	}
	for _, tt := range []struct {
		values []string
		want   map[string]bool
		err    error
	}{
		{nil, names(), nil},
		{[]string{""}, names(), nil},
		{[]string{" , ,"}, names(), nil},
		{[]string{"respond-async"}, names("respond-async"), nil},
		{[]string{"RESPOND-async, wait = 10"}, names("respond-async", "wait"), nil},
		{[]string{"respond-async", "wait=10"}, names("respond-async", "wait"), nil},
		{[]string{`foo; some-parameter="a, wait=1"`}, names("foo"), nil},
		{[]string{`foo="a \" , wait=1"; x`}, names("foo"), nil},
		{[]string{`foo="";bar`}, names("foo"), nil},
		{[]string{`foo="bar`}, nil, errPrefer},
		{[]string{`foo="bar\"`}, nil, errPrefer},
		{[]string{`"foo"`}, nil, errPrefer},
		{[]string{`=bar`}, nil, errPrefer},
		{[]string{`foo bar`}, nil, errPrefer},
	} {
		got, err := parsePrefer(tt.values)
		if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
			t.Errorf("%q: error %v, want %v; names (-want +got):\n%s", tt.values, err, tt.err, diff)
		}
	}
}

func FuzzParsePrefer(f *testing.F) {
	for _, seed := range []string{"respond-async", `a="b\`, `a="b,c";d, e`, ",,;=", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		whole, err := parsePrefer([]string{value})
		again, errAgain := parsePrefer([]string{value, value})
		if err == nil && (errAgain != nil || !cmp.Equal(whole, again)) {
			t.Errorf("%q sent twice is %v, %v; once it is %v", value, again, errAgain, whole)
		}
	})
}
