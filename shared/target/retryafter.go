package target

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns how long the response asks to wait, within 0 and
// [MaxRetryAfter]. A date is taken relative to the response's own Date, so
// that the two clocks need not agree, or to now where it has none. What is
// neither whole seconds nor a date asks for nothing.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter // err: more digits than an int64 has
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}
