package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/origin"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/redisconn"
)

const envCache = "SERIATIM_CACHE_REDIS_URL"

// cacheFromEnv reads where collapsed reads are, if not where everything is. SERIATIM_REDIS_CA serves both servers.
func cacheFromEnv(lookup func(string) (string, bool)) (redisconn.Config, error) {
	url, _ := lookup(envCache)
	if url == "" {
		return redisconn.Config{}, nil
	}
	c, err := redisconn.FromEnv(func(name string) (string, bool) {
		switch {
		case name == "SERIATIM_REDIS_URL":
			return url, true
		case strings.HasPrefix(url, "rediss:"):
			return lookup(name)
		}
		return "", false
	})
	if err != nil {
		return redisconn.Config{}, fmt.Errorf("%s, read as SERIATIM_REDIS_URL is: %w", envCache, err)
	}
	return c, nil
}

// Reads is what collapsed reads are made with.
type Reads struct {
	// Origins are those of the configuration, by name.
	Origins map[string]*origin.Origin
	// Group collapses the reads of all of them.
	Group *collapse.Group

	own *redis.Client // nil where the cache is in the common Redis
}

func openReads(c Config, rdb *redis.Client) (*Reads, error) {
	r := &Reads{Origins: make(map[string]*origin.Origin, len(c.Policy.Origins))}
	if err := r.openOrigins(c.Policy); err != nil {
		return nil, err
	}
	if c.Cache.URL != "" {
		var err error
		if r.own, err = redisconn.Open(c.Cache); err != nil {
			return nil, fmt.Errorf("open %s: %w", envCache, err)
		}
		rdb = r.own
	}
	r.Group = collapse.New(collapse.Options{Redis: rdb})
	return r, nil
}

func (r *Reads) openOrigins(doc *policy.Document) error {
	var errs []error
	for name, config := range doc.Origins {
		o, err := origin.New(config)
		r.Origins[name] = o
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (r *Reads) close() error {
	r.Group.Close()
	for _, o := range r.Origins {
		o.Close()
	}
	if r.own == nil {
		return nil
	}
	return r.own.Close()
}
