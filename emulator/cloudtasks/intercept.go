package cloudtasks

import (
	"context"
	"log/slog"
	"maps"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// interceptor stands before every method: it counts the call, injects the
// faults of the API and turns a panic into INTERNAL.
type interceptor struct {
	runner *runner
	logger *slog.Logger

	mu    sync.Mutex
	calls map[string]int64
}

func (i *interceptor) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	method := path.Base(info.FullMethod)
	i.count(method)
	defer func() {
		if p := recover(); p != nil {
			i.logger.ErrorContext(ctx, "call panicked", "method", method, "panic", p)
			response, err = nil, status.Error(codes.Internal, "the emulator failed on this call; its log says how")
		}
	}()
	if err := i.draw(func(e *engine.Engine) error { return e.Refuse(method) }); err != nil {
		return nil, err
	}
	response, err = handler(ctx, request)
	if err == nil && method == "CreateTask" {
		err = i.draw((*engine.Engine).LoseReply)
	}
	if err != nil {
		i.logger.DebugContext(ctx, "call refused", "method", method, "error", err)
		return nil, err
	}
	return response, nil
}

func (i *interceptor) draw(f func(*engine.Engine) error) (err error) {
	i.runner.do(func(e *engine.Engine, _ time.Time) { err = f(e) })
	return err
}

func (i *interceptor) count(method string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls[method]++
}

// counts returns the calls so far, by method.
func (i *interceptor) counts() map[string]int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.calls)
}
