package console

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// lateAfter is from when a delivery counts as late: the usual jitter is below 200 ms.
const lateAfter = time.Second

// lateness is the key of a context value, an *atomic.Int64: how many milliseconds late the delivery was, until it has been told.
type lateness struct{}

func newLateness(h http.Header) *atomic.Int64 {
	var ms atomic.Int64
	if eta, err := strconv.ParseFloat(h.Get("X-CloudTasks-TaskETA"), 64); err == nil {
		if late := time.Since(time.UnixMilli(int64(eta * 1000))); late >= lateAfter {
			ms.Store(late.Milliseconds())
		}
	}
	return &ms
}

// takeLateness answers once per delivery, since every look of a waiting delivery is another START.
func takeLateness(ctx context.Context) int64 {
	ms, ok := ctx.Value(lateness{}).(*atomic.Int64)
	if !ok {
		return 0
	}
	return ms.Swap(0)
}
