package slot_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/slot"
)

// hostileKeys are lane keys that would break out of a hash tag, a pattern or a packed entry.
var hostileKeys = []string{
	"a", "{", "}", "{}", "}:s", "a}{b", "{a}", "%", "%7B", "%7b", "a:b", ":", "a:s", "a/b", "..", " ", "a b", "*", "[a-z]", "?",
	"a|b", "lane\x00", "\xff\xfe", "ключ", "鍵", "🔑", strings.Repeat("k", 256), strings.Repeat("}", 256), strings.Repeat("é", 128),
}

// names lists every Redis name of a lane.
func names(key string) []string {
	k := slot.KeysOf(key)
	return []string{k.State(), k.Queue(), k.Leases(), k.Resolved(), k.Voided(), k.Record("r"), k.Record(""), k.Response("r"), k.Response(""), k.Journal(), k.DeadLetters(), k.DeadLetter("r"), k.DeadLetter(""), k.Wake()}
}

// hashTag is what Redis Cluster hashes of a key: what stands between the first '{' and the next '}', unless that is empty.
func hashTag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !found || !closed || tag == "" {
		return key
	}
	return tag
}

func TestKeysOfHostileLanes(t *testing.T) {
	t.Parallel()
	owner := map[string]string{}
	for _, key := range hostileKeys {
		for _, name := range names(key) {
			if other, taken := owner[name]; taken {
				t.Errorf("lanes %q and %q share %s", key, other, name)
			}
			owner[name] = key
			if hashTag(name) != hashTag(slot.KeysOf(key).State()) {
				t.Errorf("lane %q: %s has another hash tag", key, name)
			}
		}
	}
}

func FuzzKeysOf(f *testing.F) {
	for i, key := range hostileKeys {
		f.Add(key, hostileKeys[(i+1)%len(hostileKeys)])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if one == "" || two == "" {
			t.Skip("a lane's key has at least one byte")
		}
		tag := hashTag(slot.KeysOf(one).State())
		for _, name := range names(one) {
			if hashTag(name) != tag {
				t.Errorf("lane %q: %q has the hash tag %q, want %q", one, name, hashTag(name), tag)
			}
			if one != two && slices.Contains(names(two), name) {
				t.Errorf("lanes %q and %q share %q", one, two, name)
			}
		}
		if one != two && tag == hashTag(slot.KeysOf(two).State()) {
			t.Errorf("lanes %q and %q share a hash tag", one, two)
		}
	})
}

// TestHostileLanesWork takes a request through each lane and counts on it that no lane sees another's.
func TestHostileLanesWork(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"every key is a lane of its own": func(t *testing.T, b *bundle) {
			for _, key := range hostileKeys {
				b.lane.Key = key
				tasks := b.queued(t, "a", "b")
				b.finish(t, ended(b.run(t, tasks[0]), "a", slot.Accept))
				if state, req := b.inspect(t, "a"); state.Depth != 1 || req.Status != slot.Done {
					t.Errorf("lane %q: depth %d, request %s, want 1, done", key, state.Depth, req.Status)
				}
			}
		},
	})
}

// spy is a redis.Scripter that looks at the keys of every call.
type spy struct {
	redis.Scripter
	look func(keys []string)
}

func (s spy) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	s.look(keys)
	return s.Scripter.Eval(ctx, script, keys, args...)
}

func (s spy) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	s.look(keys)
	return s.Scripter.EvalSha(ctx, sha, keys, args...)
}

// everyScript calls each script of a lane at least once.
func (b *bundle) everyScript(t *testing.T) {
	t.Helper()
	g := b.immediate(t, "first")
	tasks := b.queued(t, "a", "b", "c")
	if _, ok, err := b.store.Renew(t.Context(), b.lane, g); !ok || err != nil {
		t.Fatalf("renew: %t, %v", ok, err)
	}
	b.start(t, tasks[0])
	b.flushed(t, b.finish(t, ended(g, "first", slot.Accept)).Record, nil)
	b.confirm(t, tasks[1])
	b.void(t, "c", tasks[2].Ticket, true)
	b.kick(t, tasks[0].Incarnation, 0, "kick")
	b.list(t, slot.ListRequest{Size: 10})
	b.journal(t)
	state, _ := b.inspect(t, "a")
	b.start(t, drive(state.Next))
	if _, err := b.store.Missing(t.Context(), b.lane, state.Next); err != nil {
		t.Fatal(err)
	}
}

func TestKeysOfACallShareAHashTag(t *testing.T) {
	t.Parallel()
	both(t, map[string]func(*testing.T, *bundle){
		"in every script": func(t *testing.T, b *bundle) {
			b.lane.Key = "tenant-42:product}7{"
			calls := 0
			b.store = slot.New(spy{b.clock, func(keys []string) {
				calls++
				for _, key := range keys {
					if hashTag(key) != hashTag(slot.KeysOf(b.lane.Key).State()) {
						t.Errorf("key %s of a call has another hash tag", key)
					}
				}
			}}, slot.First, nil)
			b.everyScript(t)
			if calls == 0 {
				t.Error("no call was seen")
			}
		},
	})
}
