package executor

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/target"
)

func TestTransitionsAreLogged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		f := setup(t, rdb, "spacing: 1h")
		f.behave = func(context.Context, target.Request) (target.Response, error) {
			return target.Response{Status: 200, Body: []byte("secret answer")}, nil
		}
		var out bytes.Buffer
		ctx := logging.WithContext(t.Context(), logging.New(&out, "p"))
		first, second := f.submit("first"), f.submit("second")
		first.IdempotencyKey, first.Body = "secret key", []byte("secret payload")
		first.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		for range 2 {
			if got := f.Deliver(ctx, first); got != http.StatusOK {
				t.Fatal(got)
			}
		}
		if got := f.Deliver(ctx, second); got != http.StatusOK {
			t.Fatal(got)
		}
		for _, want := range []string{
			`"attempt ended"`, `"request":"` + first.ID + `","attempt":1,"slip_ms":`, `"client_trace":"0af7651916cd43dd8448eb211c80319c"`,
			`"request found ended"`, `"status":"done"`, `"request snoozed"`, `"reason":"rank"`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no line has %s:\n%s", want, &out)
			}
		}
		if strings.Contains(out.String(), "secret") {
			t.Errorf("a payload or an idempotency key is in the log:\n%s", &out)
		}
	})
}
