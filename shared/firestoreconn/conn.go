package firestoreconn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// reconnect bounds the pause before a lost connection is tried again: gRPC's
// own grows to two minutes, long after Firestore is back.
var reconnect = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 5 * time.Second,
})

// Conn is a database and the client for it. It is safe for concurrent use.
type Conn struct {
	config Config
	dial   []grpc.DialOption

	mu     sync.Mutex
	client *firestore.Client
}

// New returns a Conn that opens nothing yet. dial is added to the options of
// the connection, for example an interceptor.
func New(config Config, dial ...grpc.DialOption) *Conn {
	return &Conn{config: config, dial: append([]grpc.DialOption{reconnect}, dial...)}
}

// Client returns the one client of c, made at the first call. It fails where
// no Google credentials are found, and a later call then tries again. It waits
// for no server: whether one is there is told by the client's calls.
func (c *Conn) Client() (*firestore.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	options, err := c.options()
	if err != nil {
		return nil, fmt.Errorf("open Firestore client for %v: %w", c.config, err)
	}
	// The client keeps the context for its credentials: not that of a request.
	client, err := firestore.NewClientWithDatabase(context.Background(), c.config.Project, c.config.database(), options...)
	if err != nil {
		return nil, fmt.Errorf("open Firestore client for %v: %w", c.config, err)
	}
	c.client = client
	return client, nil
}

// Close closes the connection, if one was made. Calls in flight fail; a later
// Client opens a new one.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil
	}
	client := c.client
	c.client = nil
	if err := client.Close(); err != nil {
		return fmt.Errorf("close Firestore client for %v: %w", c.config, err)
	}
	return nil
}

func (c *Conn) options() ([]option.ClientOption, error) {
	if c.config.Emulator == "" {
		var options []option.ClientOption
		for _, d := range c.dial {
			options = append(options, option.WithGRPCDialOption(d))
		}
		return options, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+c.config.Emulator, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}),
	}, c.dial...)...)
	if err != nil {
		return nil, err
	}
	return []option.ClientOption{option.WithGRPCConn(conn)}, nil
}

// owner is how an emulator knows a caller to whom security rules do not apply,
// as a service account of the real service is.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }
