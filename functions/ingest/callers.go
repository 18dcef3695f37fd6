package ingest

import (
	"net/http"
	"strings"

	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/problem"
)

// allowed checks the call against the callers policy, where there is one. Health is everybody's.
func (c *call) allowed(rt route) error {
	action := rt.action()
	if action == "" || c.Caller == nil || c.Policy.Callers == nil {
		return nil
	}
	email, err := c.Caller(c.r.Header, c.Clock.Now())
	if err != nil {
		return problem.New(problem.Forbidden,
			"The configuration names who may call, and this call carries no identity token of anybody. Send one of your account.").WithCause(err)
	}
	key := c.lane.Slot.Key
	if action == policy.Fetch {
		key = c.r.URL.Query().Get("lane")
	}
	allowed, where := c.Policy.Allows(email, action, key), "here"
	if strings.HasPrefix(rt.pattern, "/v1/targets/") { // whose runs are those of any lane
		allowed, where = c.Policy.AllowsOnAll(email, action), "on all keys"
	}
	if !allowed {
		return problem.New(problem.Forbidden,
			"The callers policy lets "+email+" not "+string(action)+" "+where+". Ask who runs this service to add it.")
	}
	return nil
}

// action is what the callers policy calls this route; empty for what is everybody's.
func (rt route) action() policy.Action {
	switch {
	case rt.pattern == "/v1/health":
		return ""
	case strings.HasPrefix(rt.pattern, "/v1/fetch/"):
		return policy.Fetch
	case rt.method == http.MethodGet:
		return policy.Read
	case rt.method == http.MethodPost && strings.HasSuffix(rt.pattern, "/requests"):
		return policy.Submit
	}
	return policy.Operate
}
