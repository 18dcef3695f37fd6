package collapse

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// strategies are what the comparison compares. Each has connected when it is
// returned.
var strategies = map[string]func(task, *counter) (reader, error){
	"collapse": collapsing,
	"article":  article,
	"aside":    aside,
}

// article is the loop of the article: GET, SET NX, or sleep 200 ms and again.
func article(work task, sent *counter) (reader, error) {
	rdb := redis.NewClient(&redis.Options{Addr: work.Redis, Dialer: sent.dial, Protocol: 2, DisableIdentity: true, PoolSize: 250})
	return func(ctx context.Context, key string, fetch func(context.Context) (string, error)) (string, error) {
		for {
			cached, err := rdb.Get(ctx, key).Result()
			if err == nil {
				return cached, nil
			}
			locked, err := rdb.SetNX(ctx, key+":lock", "1", 5*time.Second).Result()
			if err != nil {
				return "", err
			}
			if !locked {
				time.Sleep(200 * time.Millisecond)
				continue
			}
			value, err := fetch(ctx)
			if err != nil {
				return "", err
			}
			rdb.Set(ctx, key, value, time.Minute)
			rdb.Del(ctx, key+":lock")
			return value, nil
		}
	}, rdb.Ping(context.Background()).Err()
}

const placeholder = "placeholder:"

var replaceScript = rueidis.NewLuaScript(
	`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end; redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]); return 1`)

// aside follows the protocol that rueidisaside documents, on the client that
// it is made for: the leader puts a placeholder where the value will be, and
// waiters learn from Redis's own client-side caching that it was replaced. (The
// module itself is not served by the proxies this repository builds from.)
// The liveness key of the leader is left out: no leader dies here.
func aside(work task, sent *counter) (reader, error) {
	var mu sync.Mutex
	waits := map[string]chan struct{}{}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{work.Redis}, DialCtxFn: sent.dialRueidis, PipelineMultiplex: -1,
		OnInvalidations: func(messages []rueidis.RedisMessage) {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range messages {
				if key, err := m.ToString(); err == nil && waits[key] != nil {
					close(waits[key])
					delete(waits, key)
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	changed := func(key string) <-chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		if waits[key] == nil {
			waits[key] = make(chan struct{})
		}
		return waits[key]
	}
	var populating sync.Map // one caller of the process at a time asks to be the leader
	leader := placeholder + strconv.FormatInt(time.Now().UnixNano(), 36)
	return func(ctx context.Context, key string, fetch func(context.Context) (string, error)) (string, error) {
		for {
			replaced := changed(key)
			value, err := client.DoCache(ctx, client.B().Get().Key(key).Cache(), time.Minute).ToString()
			if rueidis.IsRedisNil(err) {
				done := make(chan struct{})
				if other, busy := populating.LoadOrStore(key, done); busy {
					<-other.(chan struct{})
					continue
				}
				set := client.B().Set().Key(key).Value(leader).Nx().Get().Px(time.Minute).Build()
				value, err = client.Do(ctx, set).ToString()
				if rueidis.IsRedisNil(err) {
					if value, err = fetch(ctx); err == nil {
						err = replaceScript.Exec(ctx, client, []string{key}, []string{leader, value, "60000"}).Error()
					}
				}
				populating.Delete(key)
				close(done)
			}
			if err != nil || !strings.HasPrefix(value, placeholder) {
				return value, err
			}
			<-replaced
		}
	}, client.Do(context.Background(), client.B().Ping().Build()).Error()
}

// counter counts the commands that a client sends, on all its connections.
type counter struct{ commands atomic.Int64 }

func (c *counter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, total: &c.commands}, nil
}

func (c *counter) dialRueidis(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return c.dial(ctx, "tcp", addr)
}

// counted reads along what is written.
type counted struct {
	net.Conn
	total *atomic.Int64
	rest  []byte // of a command not yet complete
}

func (c *counted) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		name, rest, err := cutCommand(c.rest)
		if err != nil {
			return c.Conn.Write(p)
		}
		c.rest = bytes.Clone(rest)
		switch strings.ToUpper(name) {
		case "HELLO", "CLIENT", "AUTH", "SELECT", "PING": // connecting, and staying so
		default:
			c.total.Add(1)
		}
	}
}

var errIncomplete = errors.New("incomplete")

// cutCommand takes the first command, *n then n times $length and bytes.
func cutCommand(p []byte) (name string, rest []byte, err error) {
	number := func(kind byte) int {
		line, after, ok := bytes.Cut(p, []byte("\r\n"))
		if !ok || line[0] != kind {
			err = errIncomplete
			return 0
		}
		p = after
		n, _ := strconv.Atoi(string(line[1:]))
		return n
	}
	words := number('*')
	for i := range words {
		length := number('$')
		if err != nil || len(p) < length+2 {
			return "", nil, errIncomplete
		}
		if i == 0 {
			name = string(p[:length])
		}
		p = p[length+2:]
	}
	return name, p, err
}
