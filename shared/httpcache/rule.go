package httpcache

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"
)

// revalidatable is the least time that an answer with a validator is kept past
// its fresh life, to be revalidated instead of fetched.
const revalidatable = time.Minute

// Defaults are the lives of answers whose origin names none.
type Defaults struct {
	// Fresh is that of answers 200, 203 and 204; other statuses below 400 have
	// none.
	Fresh time.Duration
	// Negative is that of statuses from 400.
	Negative time.Duration
	// WhileRevalidate and IfError are those of RFC 5861. An origin that wants
	// answers revalidated, or that answers with an error, grants neither.
	WhileRevalidate, IfError time.Duration
}

// Lives say how long an answer may be used, counted from when the origin made
// it; all but Fresh count from the end of Fresh.
type Lives struct {
	// Fresh is how long it answers by itself.
	Fresh time.Duration
	// WhileRevalidate is how long it answers while it is revalidated.
	WhileRevalidate time.Duration
	// IfError is how long it answers when the origin fails.
	IfError time.Duration
	// Keep is how long it is worth keeping for revalidation.
	Keep time.Duration
}

// Rule is what HTTP says of one answer.
type Rule struct {
	Lives
	// Private says that it is for nobody but the caller who asked for it.
	Private bool
	// Failed says that it is the origin's failure (5xx), for which RFC 5861
	// lets an older answer stand in.
	Failed bool
	// Age is how old it was when it came.
	Age time.Duration
}

// Judge rules on an answer of this status and header that has come at now. The
// origin's Cache-Control and Expires win over the defaults.
//
// An answer is private when it says no-store or private, sets a cookie, varies
// by everything, is a part (206), or has a Cache-Control that cannot be read.
// Fields that no-cache and private name one by one are not told apart:
// the directive holds for the whole.
func Judge(status int, h http.Header, d Defaults, now time.Time) Rule {
	r := Rule{Failed: status >= 500, Age: age(h)}
	cc, err := cacheobject.ParseResponseCacheControl(strings.Join(h.Values("Cache-Control"), ","))
	if err != nil || private(status, h, cc) {
		r.Private = true
		return r
	}
	r.Fresh = fresh(status, h, cc, d, now)
	r.WhileRevalidate, r.IfError = stale(status, cc, d)
	if Revalidatable(status, h) {
		r.Keep = max(r.Fresh, revalidatable)
	}
	return r
}

func private(status int, h http.Header, cc *cacheobject.ResponseCacheDirectives) bool {
	// An unquoted list of fields may have swallowed the directives behind it.
	swallowed := cc.NoCache["No-Store"] || cc.NoCache["Private"]
	return cc.NoStore || cc.PrivatePresent || swallowed || len(h["Set-Cookie"]) > 0 ||
		status == http.StatusPartialContent || slices.Contains(elements(h, "Vary"), "*")
}

func fresh(status int, h http.Header, cc *cacheobject.ResponseCacheDirectives, d Defaults, now time.Time) time.Duration {
	expires, stated := h["Expires"]
	switch {
	case cc.NoCachePresent:
		return 0
	case cc.SMaxAge >= 0:
		return seconds(cc.SMaxAge)
	case cc.MaxAge >= 0:
		return seconds(cc.MaxAge)
	case stated:
		return until(expires[0], h.Get("Date"), now)
	case status >= 400:
		return d.Negative
	case status == http.StatusOK, status == http.StatusNonAuthoritativeInfo, status == http.StatusNoContent:
		return d.Fresh
	}
	return 0
}

// until is the life that Expires gives; a date that cannot be read has passed.
func until(expires, date string, now time.Time) time.Duration {
	end, err := http.ParseTime(expires)
	if err != nil {
		return 0
	}
	if made, err := http.ParseTime(date); err == nil {
		now = made
	}
	return max(end.Sub(now), 0)
}

// stale gives the lives of RFC 5861. s-maxage implies proxy-revalidate (RFC
// 9111, 5.2.2.10): it rules out the defaults, but not what the origin says
// itself beside it.
func stale(status int, cc *cacheobject.ResponseCacheDirectives, d Defaults) (whileRevalidate, ifError time.Duration) {
	if cc.NoCachePresent || cc.MustRevalidate || cc.ProxyRevalidate {
		return 0, 0
	}
	if cc.SMaxAge < 0 && status < 400 {
		whileRevalidate, ifError = d.WhileRevalidate, d.IfError
	}
	if cc.StaleWhileRevalidate >= 0 {
		whileRevalidate = seconds(cc.StaleWhileRevalidate)
	}
	if cc.StaleIfError >= 0 {
		ifError = seconds(cc.StaleIfError)
	}
	return whileRevalidate, ifError
}

// age reads Age; RFC 9111, 4.2.3 lets a cache trust it alone, and so the
// origin's clock is not compared with ours.
func age(h http.Header) time.Duration {
	list := elements(h, "Age")
	if len(list) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(list[0], 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

func seconds(n cacheobject.DeltaSeconds) time.Duration { return time.Duration(n) * time.Second }

// elements splits the field of a list of tokens.
func elements(h http.Header, name string) []string {
	var list []string
	for element := range strings.SplitSeq(strings.Join(h.Values(name), ","), ",") {
		if element = strings.Trim(element, " \t"); element != "" {
			list = append(list, element)
		}
	}
	return list
}
