package engine

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
)

const (
	userAgent          = "Google-Cloud-Tasks"
	userAgentAppEngine = "AppEngine-Google; (+http://code.google.com/appengine)"
)

// request builds what the next attempt of t sends, with the queue's present
// overrides.
func (t *task) request(appEngineURL string) Request {
	if r := t.message.GetAppEngineHttpRequest(); r != nil {
		request := Request{
			Method: r.GetHttpMethod().String(),
			URL:    strings.TrimSuffix(appEngineURL, "/") + r.GetRelativeUri(),
			Header: headers(r.GetHeaders()),
			Body:   r.GetBody(),
		}
		t.addTaskHeaders(request.Header, "X-AppEngine-", t.responses, "App Error")
		return request
	}
	r := t.message.GetHttpRequest()
	request := Request{Method: r.GetHttpMethod().String(), URL: r.GetUrl(), Header: headers(r.GetHeaders()), Body: r.GetBody()}
	request.override(t.queue.config.GetHttpTarget())
	request.authorize(r, t.queue.config.GetHttpTarget())
	t.addTaskHeaders(request.Header, "X-CloudTasks-", t.counted, "")
	return request
}

func headers(from map[string]string) http.Header {
	to := make(http.Header, len(from)+8)
	for name, value := range from {
		to[name] = []string{value}
	}
	return to
}

// addTaskHeaders adds the headers that tell the target about the task. The
// retry reason is sent on retries even where it is empty, as the service does.
func (t *task) addTaskHeaders(to http.Header, prefix string, executions int32, reason string) {
	retries := t.dispatches
	to[prefix+"QueueName"] = []string{lastSegment(t.queue.name)}
	to[prefix+"TaskName"] = []string{t.id}
	to[prefix+"TaskRetryCount"] = []string{strconv.Itoa(int(retries))}
	to[prefix+"TaskExecutionCount"] = []string{strconv.Itoa(int(executions))}
	to[prefix+"TaskETA"] = []string{eta(t.due)}
	if retries == 0 {
		return
	}
	to[prefix+"TaskRetryReason"] = []string{reason}
	if t.previous != 0 {
		to[prefix+"TaskPreviousResponse"] = []string{strconv.Itoa(t.previous)}
	}
}

// eta is an instant in seconds since 1970, with microseconds.
func eta(at time.Time) string {
	return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
}

// override applies the queue's http_target.
func (r *Request) override(target *cloudtaskspb.HttpTarget) {
	if target == nil {
		return
	}
	r.URL = overrideURL(r.URL, target.GetUriOverride())
	if method := target.GetHttpMethod(); method != cloudtaskspb.HttpMethod_HTTP_METHOD_UNSPECIFIED {
		r.Method = method.String()
		if !allowsBody(method) {
			r.Body = nil
		}
	}
	for _, o := range target.GetHeaderOverrides() {
		setHeader(r.Header, o.GetHeader().GetKey(), o.GetHeader().GetValue())
	}
}

// authorize sets Token; the queue's token goes before the task's.
func (r *Request) authorize(task *cloudtaskspb.HttpRequest, target *cloudtaskspb.HttpTarget) {
	switch {
	case target.GetOidcToken() != nil:
		r.Token = r.oidc(target.GetOidcToken())
	case target.GetOauthToken() != nil:
		r.Token = oauth(target.GetOauthToken())
	case task.GetOidcToken() != nil:
		r.Token = r.oidc(task.GetOidcToken())
	case task.GetOauthToken() != nil:
		r.Token = oauth(task.GetOauthToken())
	default:
		return
	}
	removeHeader(r.Header, "Authorization")
}

// oidc defaults the audience to the target's URI, path and query included.
func (r *Request) oidc(t *cloudtaskspb.OidcToken) *Token {
	audience := t.GetAudience()
	if audience == "" {
		audience = r.URL
	}
	return &Token{Email: t.GetServiceAccountEmail(), Audience: audience}
}

func oauth(t *cloudtaskspb.OAuthToken) *Token {
	scope := t.GetScope()
	if scope == "" {
		scope = "https://www.googleapis.com/auth/cloud-platform"
	}
	return &Token{Email: t.GetServiceAccountEmail(), Scope: scope}
}

// setHeader replaces a header whatever its case.
func setHeader(h http.Header, name, value string) {
	removeHeader(h, name)
	h[name] = []string{value}
}

func removeHeader(h http.Header, name string) {
	for present := range h {
		if strings.EqualFold(present, name) {
			delete(h, present)
		}
	}
}
