package collapse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDo_stream(t *testing.T) {
	t.Parallel()

	t.Run("goes to one caller and lives until it is closed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			bodies := make(chan *body, 3)
			b.origin.hook = streaming(bodies)
			streams := map[string]bool{}
			for _, r := range b.many(t, 3, within(time.Hour))() {
				if r.err != nil || r.Stream == nil {
					t.Fatalf("%+v", r)
				}
				text, err := io.ReadAll(r.Stream)
				if err != nil {
					t.Errorf("read after Do: %v", err)
				}
				streams[string(text)] = true
				if err := r.Stream.Close(); err != nil {
					t.Error(err)
				}
			}
			if len(streams) != 3 {
				t.Errorf("streams %v, want 3 distinct", streams)
			}
			for range 3 {
				if (<-bodies).ctx.Err() == nil {
					t.Error("a closed stream holds its context")
				}
			}
		})
	})

	t.Run("is closed when its caller has left", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			bodies := make(chan *body, 1)
			b.origin.hook = func(ctx context.Context, call int64, s *Stored) (Answer, error) {
				if _, err := slow(time.Minute)(ctx, call, s); err != nil {
					return Answer{}, err
				}
				return streaming(bodies)(ctx, call, s)
			}
			_, err := b.do(t, within(time.Hour), func(p *Policy) { p.Wait = time.Second })
			if !errors.Is(err, ErrWait) {
				t.Fatal(err)
			}
			left := <-bodies
			synctest.Wait()
			if left.ctx.Err() == nil {
				t.Error("nobody closed the stream")
			}
		})
	})
}

// body is a stream that cannot be read once its context has ended.
type body struct {
	io.Reader
	ctx context.Context
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}

func (*body) Close() error { return nil }

func streaming(bodies chan<- *body) func(context.Context, int64, *Stored) (Answer, error) {
	return func(ctx context.Context, call int64, _ *Stored) (Answer, error) {
		b := &body{strings.NewReader(fmt.Sprint("stream ", call)), ctx}
		bodies <- b
		return Answer{Stream: b}, nil
	}
}
