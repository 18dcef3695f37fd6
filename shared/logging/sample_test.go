package logging_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/logging"
)

func TestSample(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64][2]int{0: {0, 0}, 0.25: {200, 300}, 1: {1000, 1000}} {
		var out bytes.Buffer
		log := slog.New(logging.Sample(slog.NewTextHandler(&out, nil), share))
		for i := range 1000 {
			id := fmt.Sprintf("%026d", i*7919)
			of := log.With(logging.Request, id)
			of.Info("begins")
			log.Info("goes on", logging.Request, id)
			of.WithGroup("g").Info("ends")
			of.Warn("fails")
		}
		log.Info("about no request")
		text := out.String()
		begins := strings.Count(text, "begins")
		if begins < want[0] || begins > want[1] {
			t.Errorf("%v: %d of 1000 requests, want %v", share, begins, want)
		}
		for _, word := range []string{"goes on", "ends"} {
			if n := strings.Count(text, word); n != begins {
				t.Errorf("%v: %q is logged of %d requests, the beginning of %d", share, word, n, begins)
			}
		}
		if n := strings.Count(text, "fails"); n != 1000 || !strings.Contains(text, "about no request") {
			t.Errorf("%v: %d warnings, want all, and what is about no request", share, n)
		}
	}
}
