package engine

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	horizon         = 720 * time.Hour // of schedule_time
	maxURL          = 2083            // bytes, after encoding
	maxHeaders      = 80 << 10        // bytes, names and values
	maxTask         = 1<<20 - 7       // bytes of the stored message, as measured
	defaultDeadline = 10 * time.Minute
	minDeadline     = 15 * time.Second
	maxDeadline     = 30 * time.Minute
	maxDeadlineGAE  = 24*time.Hour + 15*time.Second
)

// allowsBody reports the methods whose requests may have a body.
func allowsBody(m cloudtaskspb.HttpMethod) bool {
	switch m {
	case cloudtaskspb.HttpMethod_POST, cloudtaskspb.HttpMethod_PUT, cloudtaskspb.HttpMethod_PATCH:
		return true
	}
	return false
}

// canonical checks the request of a task and returns the message to store,
// defaults filled in. The caller gives t away.
func (e *Engine) canonical(q *queue, t *cloudtaskspb.Task) (*cloudtaskspb.Task, error) {
	stored := &cloudtaskspb.Task{MessageType: t.GetMessageType(), RetryConfig: proto.CloneOf(t.GetRetryConfig())}
	var err error
	switch {
	case t.GetHttpRequest() != nil:
		err = canonicalHTTP(t.GetHttpRequest(), q.config.GetHttpTarget())
	case t.GetAppEngineHttpRequest() != nil:
		err = e.canonicalAppEngine(t.GetAppEngineHttpRequest())
	default:
		err = invalid("Task.message_type is required: set httpRequest or appEngineHttpRequest.")
	}
	if err != nil {
		return nil, err
	}
	if stored.RetryConfig != nil {
		if err := checkRetry(stored.RetryConfig); err != nil {
			return nil, err
		}
		completeRetry(stored.RetryConfig)
	}
	return stored, nil
}

func canonicalHTTP(r *cloudtaskspb.HttpRequest, target *cloudtaskspb.HttpTarget) error {
	if err := checkURL(r.GetUrl(), target.GetUriOverride().GetHost() != ""); err != nil {
		return err
	}
	if r.HttpMethod == cloudtaskspb.HttpMethod_HTTP_METHOD_UNSPECIFIED {
		r.HttpMethod = cloudtaskspb.HttpMethod_POST
	}
	if err := checkMethod("HttpRequest", r.HttpMethod, len(r.Body) > 0, allowsBody(r.HttpMethod)); err != nil {
		return err
	}
	kept, err := keepHeaders("HttpRequest.headers", r.GetHeaders())
	if err != nil {
		return err
	}
	kept["User-Agent"] = userAgent
	r.Headers = kept
	return nil
}

func (e *Engine) canonicalAppEngine(r *cloudtaskspb.AppEngineHttpRequest) error {
	switch {
	case e.options.AppEngineURL == "":
		return invalid("AppEngineHttpRequest needs an App Engine application: start the emulator with its base URL, or use httpRequest.")
	case r.RelativeUri != "" && r.RelativeUri[0] != '/':
		return invalid("AppEngineHttpRequest.relativeUri must start with '/'.")
	case len(r.RelativeUri) > maxURL || strings.ContainsAny(r.RelativeUri, " \t\r\n"):
		return invalid("AppEngineHttpRequest.relativeUri must have no spaces and at most %d characters.", maxURL)
	case r.RelativeUri == "":
		r.RelativeUri = "/"
	}
	if r.HttpMethod == cloudtaskspb.HttpMethod_HTTP_METHOD_UNSPECIFIED {
		r.HttpMethod = cloudtaskspb.HttpMethod_POST
	}
	bodied := r.HttpMethod == cloudtaskspb.HttpMethod_POST || r.HttpMethod == cloudtaskspb.HttpMethod_PUT
	if err := checkMethod("AppEngineHttpRequest", r.HttpMethod, len(r.Body) > 0, bodied); err != nil {
		return err
	}
	kept, err := keepHeaders("AppEngineHttpRequest.headers", r.GetHeaders())
	if err != nil {
		return err
	}
	agent := userAgentAppEngine
	if own := mapHeader(r.Headers, "User-Agent"); own != "" {
		agent = own + " " + agent
	}
	kept["User-Agent"] = agent
	if len(r.Body) > 0 {
		kept["Content-Length"] = strconv.Itoa(len(r.Body))
		if mapHeader(kept, "Content-Type") == "" {
			kept["Content-Type"] = "application/octet-stream"
		}
	}
	r.Headers = kept
	return nil
}

// checkURL lets a bad %-escape pass, as the service does; its attempts fail.
// Only a queue that overrides the host makes the URL optional.
func checkURL(raw string, optional bool) error {
	switch {
	case raw == "" && optional:
		return nil
	case raw == "":
		return invalid("HttpRequest.url is required.")
	case !strings.HasPrefix(raw, "http://") && !strings.HasPrefix(raw, "https://"):
		return invalid("HttpTarget.url must start with 'http://' or 'https://'.")
	}
	encoded := raw
	if u, err := url.Parse(raw); err == nil {
		encoded = u.String()
	}
	if len(encoded) > maxURL {
		return invalid("HttpRequest.url must have at most %d characters after encoding.", maxURL)
	}
	return nil
}

func checkMethod(field string, m cloudtaskspb.HttpMethod, body, allowed bool) error {
	if cloudtaskspb.HttpMethod_name[int32(m)] == "" {
		return invalid("%s.httpMethod %d is unknown.", field, m)
	}
	if body && !allowed {
		return invalid("%s.body is not allowed with httpMethod %s.", field, m)
	}
	return nil
}

// checkHeader refuses what no HTTP request can carry.
func checkHeader(field, name, value string) error {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return invalid("%s: %q is not a valid header.", field, name)
	}
	return nil
}

// keepHeaders is a copy without the headers that the service sets itself.
func keepHeaders(field string, from map[string]string) (map[string]string, error) {
	kept := make(map[string]string, len(from)+1)
	size := 0
	for name, value := range from {
		if err := checkHeader(field, name, value); err != nil {
			return nil, err
		}
		size += len(name) + len(value)
		if !reserved(name) {
			kept[name] = value
		}
	}
	if size >= maxHeaders {
		return nil, invalid("%s must be smaller than 80KB.", field)
	}
	return kept, nil
}

func reserved(name string) bool {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Host", "Content-Length", "User-Agent":
		return true
	}
	return strings.HasPrefix(name, "X-Google-") || strings.HasPrefix(name, "X-Appengine-") || strings.HasPrefix(name, "X-Cloudtasks-")
}

func mapHeader(h map[string]string, name string) string {
	for present, value := range h {
		if strings.EqualFold(present, name) {
			return value
		}
	}
	return ""
}

// deadlineOf is the dispatch deadline of a task, truncated to milliseconds.
func deadlineOf(t *cloudtaskspb.Task) (time.Duration, error) {
	longest, text := maxDeadline, "[15s, 30m]"
	if t.GetAppEngineHttpRequest() != nil {
		longest, text = maxDeadlineGAE, "[15s, 24h15s]"
	}
	set := t.GetDispatchDeadline()
	if set == nil || proto.Equal(set, &durationpb.Duration{}) && t.GetAppEngineHttpRequest() != nil {
		return defaultDeadline, nil
	}
	d := set.AsDuration().Truncate(time.Millisecond)
	if set.CheckValid() != nil || d < minDeadline || d > longest {
		return 0, invalid("Task.dispatchDeadline must be between %s.", text)
	}
	return d, nil
}
