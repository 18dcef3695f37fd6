package engine

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// tokenLife is how long a page token can be used.
const tokenLife = 2 * time.Hour

// page is a request for one page of a list.
type page struct {
	size  int
	after string // what the page before ended with
}

// openPage reads page size and token; the service lowers a size above its largest.
func openPage(now time.Time, size int32, largest int, token string) (page, error) {
	if size < 0 {
		return page{}, invalid("page_size cannot be negative.")
	}
	p := page{size: min(int(size), largest)}
	if p.size == 0 {
		p.size = largest
	}
	if token == "" {
		return p, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(token)
	issued, after, ok := strings.Cut(string(plain), " ")
	at, errAt := strconv.ParseInt(issued, 36, 64)
	if err != nil || errAt != nil || !ok {
		return page{}, invalid("Invalid page token.")
	}
	if now.Sub(time.Unix(at, 0)) > tokenLife {
		return page{}, invalid("The page token has expired: it is valid for 2 hours.")
	}
	p.after = after
	return p, nil
}

// nextPage is the token of the page that follows after.
func nextPage(now time.Time, after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(now.Unix(), 36) + " " + after))
}
