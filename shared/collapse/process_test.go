package collapse

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// The tests of several instances run this binary again: a child reads rounds
// from its standard input and prints a report for each.

const childEnv = "SERIATIM_COLLAPSE_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// task is what a child is told to be.
type task struct {
	Strategy string // a key of strategies
	Redis    string // host:port
	Lease    time.Duration
}

// round is one herd.
type round struct {
	Origin  string // URL
	Read    string
	Start   time.Time // of all callers in all processes
	Callers int
}

// report is what a child saw in a round.
type report struct {
	Spans    []time.Duration // of each caller
	Answers  map[string]int
	Commands int64 // sent to Redis after connecting
}

func child(text string, in io.Reader, out io.Writer) error {
	var work task
	if err := json.Unmarshal([]byte(text), &work); err != nil {
		return err
	}
	var sent counter
	read, err := strategies[work.Strategy](work, &sent)
	if err != nil {
		return err
	}
	results := json.NewEncoder(out)
	if err := results.Encode("ready"); err != nil {
		return err
	}
	rounds := json.NewDecoder(in)
	for {
		var r round
		if err := rounds.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		before := sent.commands.Load()
		seen := herd(r, read)
		seen.Commands = sent.commands.Load() - before
		if err := results.Encode(seen); err != nil {
			return err
		}
	}
}

// reader is one strategy's way to read key through fetch.
type reader func(ctx context.Context, key string, fetch func(context.Context) (string, error)) (string, error)

func herd(r round, read reader) report {
	seen := report{Spans: make([]time.Duration, r.Callers), Answers: map[string]int{}}
	fetch := func(ctx context.Context) (string, error) { return get(ctx, r.Origin) }
	var mu sync.Mutex
	var callers sync.WaitGroup
	time.Sleep(time.Until(r.Start))
	for i := range r.Callers {
		callers.Go(func() {
			began := time.Now()
			answer, err := read(context.Background(), r.Read, fetch)
			seen.Spans[i] = time.Since(began)
			if err != nil {
				answer = "error: " + err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			seen.Answers[answer]++
		})
	}
	callers.Wait()
	return seen
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// process is a child as its parent sees it.
type process struct {
	tb      testing.TB
	cmd     *exec.Cmd
	rounds  *json.Encoder
	reports *json.Decoder
}

// spawn starts a child and waits until it has connected.
func spawn(tb testing.TB, work task) *process {
	tb.Helper()
	text, err := json.Marshal(work)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p := &process{tb, cmd, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
	tb.Cleanup(p.kill)
	var ready string
	if err := p.reports.Decode(&ready); err != nil {
		tb.Fatalf("a child of strategy %s did not start: %v", work.Strategy, err)
	}
	return p
}

// kill ends the child by SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *process) begin(r round) {
	if err := p.rounds.Encode(r); err != nil {
		p.tb.Errorf("tell a child to begin: %v", err)
	}
}

func (p *process) report() report {
	var r report
	if err := p.reports.Decode(&r); err != nil {
		p.tb.Errorf("a child did not report: %v", err)
	}
	return r
}

// collapsing is the package itself as a strategy.
func collapsing(work task, sent *counter) (reader, error) {
	rdb := redis.NewClient(&redis.Options{
		Addr: work.Redis, Dialer: sent.dial, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true,
	})
	g := New(Options{Redis: rdb, RedisTimeout: time.Minute})
	p := Policy{Times: Times{Fresh: time.Minute}, Timeout: time.Minute, Lease: work.Lease}
	return func(ctx context.Context, key string, fetch func(context.Context) (string, error)) (string, error) {
		r, err := g.Do(ctx, Key{Origin: "shop", Read: key}, p, func(ctx context.Context, _ *Stored) (Answer, error) {
			text, err := fetch(ctx)
			return Answer{Value: []byte(text)}, err
		})
		return string(r.Value), err
	}, rdb.Ping(context.Background()).Err()
}
