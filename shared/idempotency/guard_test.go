package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	"github.com/seriatim/seriatim/shared/firestoreconn"
	. "github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/idempotency/firestoretest"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
)

func TestMain(m *testing.M) { firestoretest.Main(m) }

// bundle is two instances of a guard over one store that nobody else uses.
type bundle struct{ a, b Guard }

func (s bundle) guards() []Guard { return []Guard{s.a, s.b} }

// eachGuard runs fn on every implementation, in parallel subtests.
func eachGuard(t *testing.T, fn func(t *testing.T, s bundle)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		m := NewMemory()
		t.Cleanup(m.Close)
		fn(t, bundle{m, m})
	})
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		fn(t, bundle{NewRedis(rdb), NewRedis(rdb)})
	})
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		config := firestoretest.Shared(t).Config()
		fn(t, bundle{onFirestore(t, config), onFirestore(t, config)})
	})
	t.Run("fallback", func(t *testing.T) {
		t.Parallel()
		config := firestoretest.Shared(t).Config()
		rdb := redistest.Client(t, redistest.Miniredis(t))
		fn(t, bundle{NewFallback(rdb, onFirestore(t, config)), NewFallback(rdb, onFirestore(t, config))})
	})
}

// onFirestore is a guard with a connection of its own. Its calls have all the
// time that a loaded machine may need.
func onFirestore(t *testing.T, config firestoreconn.Config, dial ...grpc.DialOption) *Firestore {
	t.Helper()
	conn := firestoreconn.New(config, dial...)
	t.Cleanup(func() { _ = conn.Close() })
	return NewFirestore(conn, FirestoreOptions{Timeout: time.Minute})
}

var (
	order = ScopedKey{Scope: "tenant-42 POST /orders", Key: "order-1"}
	hour  = time.Hour
)

func lock(t *testing.T, g Guard, fingerprint string, lease time.Duration) Answer {
	t.Helper()
	answer, err := g.TryLock(t.Context(), order, fingerprint, lease)
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	return answer
}

// acquire is lock where the key must be free.
func acquire(t *testing.T, g Guard, lease time.Duration) Token {
	t.Helper()
	answer := lock(t, g, "print", lease)
	want(t, answer, Acquired)
	return answer.Token
}

// reacquire waits until what holds the key has lapsed or expired.
func reacquire(t *testing.T, g Guard) Token {
	t.Helper()
	var answer Answer
	eventually(t, "the key is free", func() bool {
		answer = lock(t, g, "print", hour)
		return answer.State == Acquired
	})
	return answer.Token
}

func want(t *testing.T, answer Answer, state State) {
	t.Helper()
	if answer.State != state {
		t.Fatalf("TryLock: %s, want %s", answer.State, state)
	}
}

func wantResult(t *testing.T, g Guard, result string) {
	t.Helper()
	answer := lock(t, g, "print", hour)
	want(t, answer, Done)
	if diff := cmp.Diff(result, string(answer.Result)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func accept(t *testing.T, g Guard, token Token, result string) {
	t.Helper()
	if err := g.Accept(t.Context(), token, []byte(result), hour); err != nil {
		t.Fatalf("Accept: %v", err)
	}
}

func wantLost(t *testing.T, verb string, err error) {
	t.Helper()
	if !errors.Is(err, ErrLost) {
		t.Errorf("%s: %v, want ErrLost", verb, err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Context().Err() != nil {
			t.Fatalf("never came: %s", what)
		}
		runtime.Gosched()
	}
}

// together calls fn from n goroutines at once and counts what it answers.
func together(n int, fn func(i int) string) map[string]int {
	start, answers := make(chan struct{}), make(chan string, n)
	for i := range n {
		go func() {
			<-start
			answers <- fn(i)
		}()
	}
	close(start)
	count := map[string]int{}
	for range n {
		count[<-answers]++
	}
	return count
}

func stateOf(answer Answer, err error) string {
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	return string(answer.State)
}

var background = context.Background()
