package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	cloudtasks "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Service is the part of the Cloud Tasks API that a Client calls;
// [cloudtasks.Client] implements it.
type Service interface {
	CreateTask(context.Context, *cloudtaskspb.CreateTaskRequest, ...gax.CallOption) (*cloudtaskspb.Task, error)
	GetTask(context.Context, *cloudtaskspb.GetTaskRequest, ...gax.CallOption) (*cloudtaskspb.Task, error)
	GetQueue(context.Context, *cloudtaskspb.GetQueueRequest, ...gax.CallOption) (*cloudtaskspb.Queue, error)
}

// Clock is the time that Create's retries live in.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the context's error before.
	Sleep(ctx context.Context, d time.Duration) error
}

// Client creates and reads the tasks of one queue. It is safe for concurrent
// use; every call goes over one connection.
type Client struct {
	config  Config
	service Service
	close   func() error
	clock   Clock
	random  func() float64
	budget  time.Duration
	try     time.Duration
}

// Option changes a default of [New].
type Option func(*Client)

// WithService calls s instead of opening a connection. The caller closes s.
func WithService(s Service) Option { return func(c *Client) { c.service = s } }

// WithClock sets the time that schedules are capped and Create's retries are
// paced by. A try's own limit stays on the context's clock. Default: the
// system's.
func WithClock(clock Clock) Option { return func(c *Client) { c.clock = clock } }

// WithRandom sets the source of retry jitter: numbers in [0, 1), from any
// goroutine. Default: math/rand/v2.
func WithRandom(float64s func() float64) Option { return func(c *Client) { c.random = float64s } }

// WithBudget sets how long Create goes on retrying, and how long each of its
// tries may take. Default: 20 s and 5 s. Ingest must be back from Create well
// before the confirm deadline of the ticket, 30 s.
func WithBudget(total, try time.Duration) Option {
	return func(c *Client) { c.budget, c.try = total, try }
}

// New returns a client for the queue of config. It opens no connection before
// the first call. It fails on a configuration that FromEnv would refuse, and
// where no Google credentials are found.
func New(ctx context.Context, config Config, options ...Option) (*Client, error) {
	err := config.validate()
	if config.Keys.Empty() {
		err = errors.Join(err, errors.New(EnvKeys+": no HMAC keys"))
	}
	if err != nil {
		return nil, fmt.Errorf("task queue configuration: %w", err)
	}
	c := &Client{
		config: config,
		close:  func() error { return nil },
		clock:  systemClock{},
		random: rand.Float64,
		budget: 20 * time.Second,
		try:    5 * time.Second,
	}
	for _, o := range options {
		o(c)
	}
	if c.service == nil {
		service, err := cloudtasks.NewClient(ctx, config.clientOptions()...)
		if err != nil {
			return nil, fmt.Errorf("open Cloud Tasks client: %w", err)
		}
		c.service, c.close = service, service.Close
	}
	return c, nil
}

// Close closes the connection that New opened. Calls in flight fail.
func (c *Client) Close() error { return c.close() }

// clientOptions: the Cloud Tasks client knows no emulator variable of its own.
func (c Config) clientOptions() []option.ClientOption {
	if c.Endpoint == "" {
		return nil
	}
	return []option.ClientOption{
		option.WithEndpoint(c.Endpoint),
		option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error { return gax.Sleep(ctx, d) }
