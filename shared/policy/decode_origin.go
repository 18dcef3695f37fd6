package policy

import (
	"strconv"
	"strings"
	"time"
)

func decodeOrigin(o object, name string) *Origin {
	o.require("url")
	origin := &Origin{
		Name:                 name,
		URL:                  o.url("url"),
		Timeout:              o.duration("timeout", 5*time.Second, time.Second, 25*time.Minute),
		Headers:              o.headers("headers"),
		Vary:                 o.headerNames("vary"),
		TTL:                  o.duration("ttl", time.Minute, 0, 30*day),
		StaleWhileRevalidate: o.duration("stale_while_revalidate", 0, 0, 30*day),
		StaleIfError:         o.duration("stale_if_error", 0, 0, 30*day),
		NegativeTTL:          o.duration("negative_ttl", time.Second, 0, 30*day),
		MaxBytes:             o.size("max_bytes", 64<<20),
	}
	o.checkVary(origin)
	return origin
}

var units = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// size reads a number of bytes with a unit, 1KiB to 1TiB.
func (o object) size(name string, byDefault int64) int64 {
	t, ok := o.text(name)
	if !ok {
		return byDefault
	}
	number := strings.TrimRight(t.s, "KMGTiB")
	unit := units[t.s[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || unit == 0 || n < 1 || n > 1<<40/unit {
		t.fault("%v is not a size: want 1KiB to 1TiB, such as 64MiB", t)
		return byDefault
	}
	return n * unit
}

func decodeCaller(o object) *Caller {
	o.require("match", "allow")
	c := &Caller{Keys: []string{"*"}}
	if match, ok := o.text("match"); ok {
		c.Match = match.s
	}
	if globs, ok := o.texts("keys"); ok {
		c.Keys = make([]string, len(globs))
		for i, glob := range globs {
			c.Keys[i] = glob.s
		}
	}
	actions, _ := o.texts("allow")
	for _, a := range actions {
		switch action := Action(a.s); action {
		case "": // reported already
		case Submit, Read, Operate, Fetch:
			c.Allow = append(c.Allow, action)
		default:
			a.fault("%v is not one of %s", a, words([]Action{Submit, Read, Operate, Fetch}))
		}
	}
	return c
}
