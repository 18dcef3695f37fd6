package ingest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePrefer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values []string
		want   preferences
		err    error
	}{
		{nil, preferences{}, nil},
		{[]string{""}, preferences{}, nil},
		{[]string{" , ,"}, preferences{}, nil},
		{[]string{"respond-async"}, preferences{"respond-async": ""}, nil},
		{[]string{"RESPOND-async, wait = 10"}, preferences{"respond-async": "", "wait": "10"}, nil},
		{[]string{"respond-async", "wait=10"}, preferences{"respond-async": "", "wait": "10"}, nil},
		{[]string{`foo; some-parameter="a, wait=1"`}, preferences{"foo": ""}, nil},
		{[]string{`foo="a \" , wait=1"; x`}, preferences{"foo": `"a \" , wait=1"`}, nil},
		{[]string{`foo="";bar`}, preferences{"foo": `""`}, nil},
		{[]string{"wait=1, wait=2", "WAIT=3"}, preferences{"wait": "1"}, nil},
		{[]string{`foo="bar`}, nil, errPrefer},
		{[]string{`foo="bar\"`}, nil, errPrefer},
		{[]string{`"foo"`}, nil, errPrefer},
		{[]string{`=bar`}, nil, errPrefer},
		{[]string{`foo bar`}, nil, errPrefer},
	} {
		got, err := parsePrefer(tt.values)
		if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
			t.Errorf("%q: error %v, want %v; preferences (-want +got):\n%s", tt.values, err, tt.err, diff)
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
