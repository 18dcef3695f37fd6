package policy

import (
	"encoding/base64"
	"net/url"
	"strings"
	"time"
)

// secretPrefix begins a secret as Standard Webhooks writes it.
const secretPrefix = "whsec_"

func decodeTarget(o object, name string) *Target {
	o.require("url")
	t := &Target{
		Name:          name,
		URL:           o.url("url"),
		Method:        choose(o, "method", "POST", "GET", "PUT", "PATCH", "DELETE"),
		Timeout:       o.duration("timeout", 60*time.Second, time.Second, 25*time.Minute),
		Headers:       o.headers("headers"),
		Forward:       o.headerNames("forward"),
		Secret:        o.secret("secret"),
		Retry:         o.retry("retry"),
		Immediate:     o.boolean("immediate", true),
		MaxConcurrent: o.integer("max_concurrent", 0, 10_000),
	}
	if audience, ok := o.text("audience"); ok {
		t.Audience = audience.s
	}
	o.checkHeaders(t)
	return t
}

// url never quotes what it read, which may hold a password.
func (o object) url(name string) string {
	t, ok := o.text(name)
	if !ok {
		return ""
	}
	u, err := url.Parse(t.s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		t.fault("is not an absolute http:// or https:// URL")
	case u.User != nil:
		t.fault("holds a user or password: send it as an Authorization header instead")
	case u.Fragment != "":
		t.fault("has a fragment (#), which is never sent: remove it")
	}
	return t.s
}

func (o object) secret(name string) string {
	t, ok := o.text(name)
	if !ok {
		return ""
	}
	o.d.refuseLiteral(t)
	// The sizes are those of the Standard Webhooks specification.
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(t.s, secretPrefix))
	if err != nil || len(key) < 24 || len(key) > 64 {
		t.fault("is not the base64 of 24 to 64 bytes, with or without %s before it", secretPrefix)
	}
	return t.s
}

// refuseLiteral reports a secret that stands in the document itself.
func (d *decoder) refuseLiteral(t text) {
	if d.refuseLiterals && t.env == "" {
		t.fault("is a secret in clear text, refused on Cloud Run: use {env: NAME}")
	}
}

// retry reads the outcomes to retry; an empty list means none.
func (o object) retry(name string) RetryRules {
	items, ok := o.list(name)
	if !ok {
		return defaultRetry()
	}
	var r RetryRules
	for _, item := range items {
		item.addRetry(&r)
	}
	return r
}

func (v value) addRetry(r *RetryRules) {
	const want = "want a status from 300 to 599, 3xx, 4xx, 5xx, timeout or refused"
	if status, ok := v.integer(); ok {
		if status < 300 || status > 599 {
			v.fault("is %d, %s", status, want)
		}
		r.Statuses = append(r.Statuses, int(status))
		return
	}
	t, ok := v.text()
	switch {
	case !ok:
	case t.s == "timeout":
		r.Timeout = true
	case t.s == "refused":
		r.Refused = true
	case t.s == "3xx", t.s == "4xx", t.s == "5xx":
		r.Classes = append(r.Classes, int(t.s[0]-'0'))
	default:
		t.fault("is %v, %s", t, want)
	}
}
