package slot

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// FuzzParseReply feeds answers that no script gives: words is split at NUL, and an element that begins with ':' is an integer,
// one that begins with '_' is nil, as RESP has them.
func FuzzParseReply(f *testing.F) {
	for _, words := range []string{
		"", "OK", "OK\x00now", "OK\x00now\x001796119200000", "RUN\x00ticket\x001\x00fence\x002\x00expiry\x003\x00attempt\x001\x00k\x000",
		"WAIT\x00until\x00x", "OK\x00isi\x001e9", "OK\x00h\x0099999999999999999999", "OK\x00:1\x00a", "_", "LANE\x00running\x001 a 2 3",
		"LANE\x00running\x00x y z", "REPLAY\x00rec.status\x00done\x00rec.started\x00-1\x00rec.resp\x00\xff", "OK\x00now\x001\x00now\x002",
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

// canned is a Redis whose every script answers the same words.
type canned struct {
	redis.Scripter
	words string
}

func (c canned) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(decode(c.words))
	return cmd
}

// FuzzVerbs has every verb read the same answer: none panics, and what one cannot read is an error that says so.
func FuzzVerbs(f *testing.F) {
	for _, words := range []string{
		"", "OK", "FORMAT", "GENERATION", "RUN\x00ticket\x001\x00fence\x002\x00expiry\x003\x00attempt\x001\x00k\x000",
		"SNOOZE\x00at\x00-1\x00k\x00x", "WAIT\x00until\x001e3\x00overdue\x001", "REPLAY\x00status\x00done\x00resp\x00{\x00submitted\x00-9",
		"DUP\x00ticket\x005\x00slot\x00\x00position\x001\x00due\x001\x00confirmed\x001", "FULL\x00depth\x00:\x00wait\x001",
		"LANE\x00running\x001 a\x00rec.status\x00open\x00open\x001", "CREATE\x00seq\x001\x00at\x0099999999999999999999", "VOIDED\x00h\x001\x00hr\x00\xff",
	} {
		f.Add(words)
	}
	lane := Lane{Key: "k", Policy: "p", Concurrency: 1, Burst: 1, Lease: time.Second, Retention: time.Hour}
	f.Fuzz(func(t *testing.T, words string) {
		ctx, s := t.Context(), New(canned{words: words}, First, NewIntervals(nil, time.Now))
		grant, head := Grant{Ticket: 1, Fence: 1, Owner: "o"}, Head{Ticket: 1, Request: "r"}
		var errs []error
		read := func(err error) { errs = append(errs, err) }
		_, err := s.Reserve(ctx, lane, ReserveRequest{ID: "r", Submitted: time.UnixMilli(1)})
		read(err)
		_, err = s.Start(ctx, lane, StartRequest{Ticket: 1, Request: "r", Jitter: 1})
		read(err)
		_, err = s.Finish(ctx, lane, FinishRequest{Grant: grant, Request: "r", Outcome: Accept})
		read(err)
		_, _, err = s.Renew(ctx, lane, grant)
		read(err)
		_, err = s.Confirm(ctx, lane, "r", 1, 1)
		read(err)
		_, err = s.VoidHead(ctx, lane, head)
		read(err)
		_, err = s.Missing(ctx, lane, head)
		read(err)
		_, _, err = s.Kick(ctx, lane, 1, 1, "o")
		read(err)
		_, _, err = s.Inspect(ctx, lane, "r")
		read(err)
		_, err = s.Cancel(ctx, lane, "r")
		read(err)
		_, err = s.Pause(ctx, lane, true)
		read(err)
		_, err = s.Purge(ctx, lane)
		read(err)
		for i, err := range errs {
			if err != nil && !errors.Is(err, ErrReply) && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrGeneration) && !errors.Is(err, ErrLost) {
				t.Errorf("verb %d reads %q: %v, none of the sentinels", i, words, err)
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
