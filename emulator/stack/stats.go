package stack

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/emulator/console"
	"github.com/seriatim/seriatim/functions/executor"
)

// Stats are the counts since the start, as GET /console/api/stats answers them.
type Stats struct {
	// TasksCreated and TasksWaiting count tasks of all kinds; Dispatches the attempts that Cloud Tasks made.
	TasksCreated int64 `json:"tasks_created"`
	TasksWaiting int64 `json:"tasks_waiting"`
	Dispatches   int64 `json:"dispatches"`
	// Snoozes are tasks that came too early; Drives runs of another's ticket.
	Snoozes int64 `json:"snoozes"`
	Drives  int64 `json:"drives"`
	// RedisCommands are the commands that the functions sent.
	RedisCommands int64         `json:"redis_commands"`
	Requests      RequestCounts `json:"requests"`
}

// RequestCounts counts distinct requests: acknowledged, ended with a result, given up.
type RequestCounts struct {
	Accepted int64 `json:"accepted"`
	Done     int64 `json:"done"`
	Dead     int64 `json:"dead"`
}

// Stats reads the counts.
func (s *Stack) Stats() Stats {
	tasks, c := s.Tasks.Stats(), &s.counts
	c.mu.Lock()
	accepted := int64(len(c.accepted))
	c.mu.Unlock()
	return Stats{
		TasksCreated: tasks.Created, TasksWaiting: tasks.Waiting, Dispatches: tasks.Dispatches, Snoozes: c.snoozes.Load(),
		Drives: c.drives.Load(), RedisCommands: c.commands.Load(),
		Requests: RequestCounts{Accepted: accepted, Done: s.Journal.Count(console.Done), Dead: s.Journal.Count(console.Dead)},
	}
}

// counts is what the instances of a Stack report to. It is a hook of their Redis clients.
type counts struct {
	commands, snoozes, drives atomic.Int64

	mu       sync.Mutex
	accepted map[string]struct{}
}

func (c *counts) observe(e executor.Event) {
	switch e {
	case executor.Drove:
		c.drives.Add(1)
	case executor.Snoozed:
		c.snoozes.Add(1)
	}
}

// acknowledged remembers a request that a client was told is taken.
func (c *counts) acknowledged(h http.Header) {
	id := h.Get("Seriatim-Request-Id")
	if id == "" || h.Get("Seriatim-Status") == "error" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accepted == nil {
		c.accepted = map[string]struct{}{}
	}
	c.accepted[id] = struct{}{}
}

// DialHook counts nothing.
func (c *counts) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook counts one command.
func (c *counts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.commands.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts the commands of a pipeline.
func (c *counts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
