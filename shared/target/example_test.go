package target_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/seriatim/seriatim/shared/target"
)

// A team links its handler into the bundle under the name that the
// configuration gives the target. It belongs into an init function of a
// package that both functions import.
func ExampleRegister() {
	target.Register("charge", func(ctx context.Context, req target.Request) (target.Response, error) {
		var order struct{ Amount int }
		if err := json.Unmarshal(req.Body, &order); err != nil {
			return target.Response{}, fmt.Errorf("body is not an order: %w", target.ErrFinal)
		}
		// The ledger refuses a fence lower than one it has seen, and an
		// idempotency key that it has booked: what a crash leaves behind.
		return target.Response{
			Status:      http.StatusCreated,
			ContentType: "application/json",
			Body:        fmt.Appendf(nil, `{"charged":%d}`, order.Amount),
		}, nil
	})

	// What the functions do with it.
	charge, ok := target.Default.Get("charge")
	if !ok {
		return
	}
	for _, body := range []string{`{"amount":7}`, `seven`} {
		result := charge.Do(context.Background(), target.Request{Key: "tenant-42", Body: []byte(body)})
		fmt.Println(result.Outcome, result.Reason)
		if result.Response != nil {
			fmt.Println(result.Response.Status, string(result.Response.Body))
		}
	}
	// Output:
	// accept status
	// 201 {"charged":7}
	// final error
}
