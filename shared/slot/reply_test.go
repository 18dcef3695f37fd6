package slot

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParseReply feeds answers that no script gives: words is split at NUL, and an element that begins with ':' is an integer,
// one that begins with '_' is nil, as RESP has them.
func FuzzParseReply(f *testing.F) {
	for _, words := range []string{
		"", "OK", "OK\x00now", "OK\x00now\x001796119200000", "RUN\x00ticket\x001\x00fence\x002\x00expiry\x003\x00attempt\x001\x00k\x000",
		"WAIT\x00until\x00x", "OK\x00isi\x001e9", "OK\x00h\x0099999999999999999999", "OK\x00:1\x00a", "_", "LANE\x00running\x001 a 2 3",
		"LANE\x00running\x00x y z", "REPLAY\x00status\x00done\x00started\x00-1\x00resp\x00\xff", "OK\x00now\x001\x00now\x002",
	} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		r, err := parseReply(decode(words))
		if err != nil {
			if !errors.Is(err, ErrReply) {
				t.Fatalf("error %v, want ErrReply", err)
			}
			return
		}
		if want, _, _ := strings.Cut(words, "\x00"); string(r.verdict) != want {
			t.Errorf("verdict %q, want %q", r.verdict, want)
		}
		// Whatever the answer, the readers answer, and remember what they could not read.
		r.seen()
		r.grant("owner")
		r.record("")
		r.running()
		if r.err != nil && !errors.Is(r.err, ErrReply) {
			t.Errorf("error %v, want ErrReply", r.err)
		}
		for name, value := range r.fields {
			if n := r.int(name); n != 0 && strings.TrimLeft(value, "+-0123456789") != "" {
				t.Errorf("field %s: %q is read as %d", name, value, n)
			}
		}
	})
}

func decode(words string) any {
	if words == "" {
		return nil
	}
	var list []any
	for _, w := range strings.Split(words, "\x00") {
		switch {
		case strings.HasPrefix(w, ":"):
			list = append(list, int64(len(w)))
		case strings.HasPrefix(w, "_"):
			list = append(list, nil)
		default:
			list = append(list, w)
		}
	}
	return list
}

func TestReplyNamesTheFieldItCannotRead(t *testing.T) {
	t.Parallel()
	r, err := parseReply([]any{"OK", "due", "soon"})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.int("due"); n != 0 || !errors.Is(r.err, ErrReply) || !strings.Contains(r.err.Error(), "due") {
		t.Errorf("read %d, error %v, want 0 and ErrReply that names due", n, r.err)
	}
}
