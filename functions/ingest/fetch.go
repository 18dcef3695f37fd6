package ingest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatim/seriatim/shared/collapse"
	"github.com/seriatim/seriatim/shared/lanekey"
	"github.com/seriatim/seriatim/shared/origin"
	"github.com/seriatim/seriatim/shared/problem"
)

// Reads is what collapsed reads are made with.
type Reads struct {
	// Origins are those of the configuration, by name.
	Origins map[string]*origin.Origin
	// Group collapses the reads of all of them.
	Group *collapse.Group
}

// reading is one call of /v1/fetch under way.
type reading struct {
	*call
	*origin.Read
	origin *origin.Origin
	// tied says that the answer is tied to the lane of the call.
	tied bool
}

// fetch answers a read of an origin, from whatever flight or entry has the answer. HEAD is a GET whose body is not sent.
func (c *call) fetch() error {
	r, err := c.reading()
	if err != nil {
		return err
	}
	stamp, err := r.stamp()
	if err != nil {
		return err
	}
	result, err := c.Reads.Group.Do(c.r.Context(), r.Key, r.origin.Policy(stamp), r.Fetch)
	if err != nil {
		return unread(err)
	}
	return r.deliver(result)
}

// forget invalidates the URL that the same call with GET would read: as in RFC 9111, 4.4, in all variants, by vary header and by
// credential. Who may delete may not know the others' headers.
func (c *call) forget() error {
	r, err := c.reading()
	if err != nil {
		return err
	}
	if err := c.Reads.Group.Invalidate(context.WithoutCancel(c.r.Context()), r.Key); err != nil {
		return problem.New(problem.Unavailable, "Other instances may still answer from what is stored. Send the request again.").
			WithCause(err)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// reading finds origin and lane, and prepares the read.
func (c *call) reading() (*reading, error) {
	segments := strings.SplitN(wirePath(c.r.URL), "/", 5) // "", v1, fetch, origin, path
	o := c.Reads.Origins[segments[3]]
	if o == nil {
		return nil, problem.New(problem.NoRoute, "No origin of the configuration has this name. Check the name, or add an origin.")
	}
	query, tied, err := c.takeLane()
	if err != nil {
		return nil, err
	}
	read, err := o.Read(segments[4], query, origin.Caller{Header: c.r.Header, Authorization: credential(c.r.Header)})
	if err != nil {
		return nil, problem.New(problem.NoRoute, sentence(err)).WithCause(err)
	}
	return &reading{call: c, Read: read, origin: o, tied: tied}, nil
}

// takeLane takes the lane's key off the query, of which the rest stays as it was sent, and finds the lane.
func (c *call) takeLane() (query string, tied bool, err error) {
	var rest []string
	for field := range strings.SplitSeq(c.r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(field, "=")
		if name, err := url.QueryUnescape(name); err != nil || name != "lane" {
			rest = append(rest, field)
			continue
		}
		key, err := url.QueryUnescape(value)
		if err != nil || tied {
			return "", false, problem.New(problem.MalformedKey,
				"The query names more than one lane, or its key is not percent-encoded. Name the one whose requests change the answer.")
		}
		if err := c.bind(lanekey.Escape(key)); err != nil {
			return "", false, err
		}
		tied = true
	}
	return strings.Join(rest, "&"), tied, nil
}

// credential is the caller's own, for the origin. Where there is no X-Serverless-Authorization, Authorization was for the
// platform: a token for ingest, which is nobody else's business.
func credential(h http.Header) string {
	if h.Get("X-Serverless-Authorization") == "" {
		return ""
	}
	return h.Get("Authorization")
}

// unread says why a read has no answer.
func unread(err error) error {
	switch {
	case errors.Is(err, collapse.ErrWait), errors.Is(err, collapse.ErrOrigin) && errors.Is(err, context.DeadlineExceeded):
		return problem.New(problem.TargetTimeout, "The origin did not answer in time. Send the request again.").WithCause(err)
	case errors.Is(err, collapse.ErrOrigin):
		return problem.New(problem.TargetFailed, "The origin gave no answer that could be passed on. Send the request again later.").
			WithCause(err)
	case errors.Is(err, collapse.ErrClosed):
		return problem.New(problem.Unavailable, "This instance is shutting down. Send the request again.").WithCause(err)
	}
	return err
}
