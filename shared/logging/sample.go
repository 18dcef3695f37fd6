package logging

import (
	"context"
	"hash/fnv"
	"log/slog"
	"math"
)

// Sample returns a handler that passes on to h what h would log, but of the lines about a request (those with the attribute
// Request) below Warn only the given share of requests: all lines of a request or none, the same requests in all instances.
func Sample(h slog.Handler, share float64) slog.Handler {
	if share >= 1 {
		return h
	}
	return &sampler{Handler: h, below: uint64(max(share, 0) * math.MaxUint32)}
}

type sampler struct {
	slog.Handler
	below   uint64 // of the 2^32 values of a request's hash
	request string // of WithAttrs
}

// Handle drops what is not in the sample.
func (s *sampler) Handle(ctx context.Context, r slog.Record) error {
	request := s.request
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == Request {
			request = a.Value.String()
		}
		return true
	})
	if r.Level < slog.LevelWarn && request != "" && hash(request) >= s.below {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (s *sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *s
	for _, a := range attrs {
		if a.Key == Request {
			next.request = a.Value.String()
		}
	}
	next.Handler = s.Handler.WithAttrs(attrs)
	return &next
}

// WithGroup is slog.Handler's.
func (s *sampler) WithGroup(name string) slog.Handler {
	next := *s
	next.Handler = s.Handler.WithGroup(name)
	return &next
}

func hash(request string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(request)) // never fails
	return uint64(h.Sum32())
}
