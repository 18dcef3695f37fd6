package slottest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// Resender is a redis.Scripter that sends a script twice whenever Twice says so, as a client does whose reply was lost, and
// passes on the second answer. It remembers the first difference that the second execution made, or a key without an end that
// it left. It is not safe for concurrent use, and wants a clock that stands still.
type Resender struct {
	redis.Scripter
	// Twice decides about each call.
	Twice func() bool

	rdb  redis.Cmdable
	key  string
	diff error
}

// NewResender returns a Resender on scripts for the lane of key, whose state it reads through rdb.
func NewResender(scripts redis.Scripter, rdb redis.Cmdable, key string, twice func() bool) *Resender {
	return &Resender{Scripter: scripts, Twice: twice, rdb: rdb, key: key}
}

// Err is the first difference that a repetition made, to the state or to the answer, or the first key without an end.
func (r *Resender) Err() error { return r.diff }

// Eval runs a script.
func (r *Resender) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return r.send(ctx, args, func() *redis.Cmd { return r.Scripter.Eval(ctx, script, keys, args...) })
}

// EvalSha runs a script.
func (r *Resender) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return r.send(ctx, args, func() *redis.Cmd { return r.Scripter.EvalSha(ctx, sha, keys, args...) })
}

func (r *Resender) send(ctx context.Context, args []any, do func() *redis.Cmd) *redis.Cmd {
	first := do()
	if first.Err() != nil || !r.Twice() {
		return first
	}
	before, err := Dump(ctx, r.rdb, r.key)
	second := do()
	after, err2 := Dump(ctx, r.rdb, r.key)
	immortal, err3 := Immortal(ctx, r.rdb, r.key)
	switch err := errors.Join(err, err2, err3, second.Err()); {
	case r.diff != nil:
	case err != nil:
		r.diff = fmt.Errorf("resend: %w", err)
	case len(immortal) > 0:
		r.diff = fmt.Errorf("bounded: arguments %v, keys that never expire: %v", args, immortal)
	case !reflect.DeepEqual(before, after):
		r.diff = fmt.Errorf("I7 replay: arguments %v, state (-once +twice):\n%s", args, cmp.Diff(before, after))
	case !reflect.DeepEqual(fields(first), fields(second)):
		r.diff = fmt.Errorf("I7 replay: arguments %v, answer (-first +second):\n%s", args, cmp.Diff(fields(first), fields(second)))
	}
	return second
}

// fields is an answer whatever the order of its fields, but for what says how much this very call has done.
func fields(cmd *redis.Cmd) map[any]any {
	words, _ := cmd.Slice()
	answer := map[any]any{}
	for i := 1; i < len(words); i += 2 {
		answer[words[i]] = words[i+1]
	}
	answer["verdict"] = words[0]
	delete(answer, "purged")
	return answer
}
