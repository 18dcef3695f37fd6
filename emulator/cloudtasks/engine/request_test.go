package engine_test

import (
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// sent is the request of one task with this URL on a queue with this target.
func sent(t *testing.T, target *cloudtaskspb.HttpTarget, change ...func(*cloudtaskspb.Task)) engine.Request {
	t.Helper()
	w := setup(t, engine.Options{}, func(q *cloudtaskspb.Queue) { q.HttpTarget = target })
	w.create(change...)
	w.run(0)
	if len(w.starts) != 1 {
		t.Fatal("the task was not sent")
	}
	return w.starts[0].Request
}

// FACTS.md 1.4: queue http_target overrides, ALWAYS by default or IF_NOT_EXISTS.
func TestAQueueOverridesTheURLOfItsTasks(t *testing.T) {
	t.Parallel()
	const once = cloudtaskspb.UriOverride_IF_NOT_EXISTS
	http := cloudtaskspb.UriOverride_HTTP
	for what, c := range map[string]struct {
		url      string
		override *cloudtaskspb.UriOverride
		want     string
	}{
		"host alone keeps the rest": {"https://a.example:8443/x?y=1", &cloudtaskspb.UriOverride{Host: proto.String("b.example")}, "https://b.example:8443/x?y=1"},
		"port alone":                {"https://a.example/x", &cloudtaskspb.UriOverride{Port: proto.Int64(123)}, "https://a.example:123/x"},
		"port 0 takes it away":      {"https://a.example:1/x", &cloudtaskspb.UriOverride{Port: proto.Int64(0)}, "https://a.example/x"},
		"IPv6":                      {"http://[::1]:9/x", &cloudtaskspb.UriOverride{Port: proto.Int64(0)}, "http://[::1]/x"},
		"scheme":                    {"https://a.example/x", &cloudtaskspb.UriOverride{Scheme: &http}, "http://a.example/x"},
		"path":                      {"https://a.example/x?y=1", &cloudtaskspb.UriOverride{PathOverride: &cloudtaskspb.PathOverride{Path: "/p%2Fq"}}, "https://a.example/p%2Fq?y=1"},
		"an empty path clears it":   {"https://a.example/x", &cloudtaskspb.UriOverride{PathOverride: &cloudtaskspb.PathOverride{}}, "https://a.example"},
		"query":                     {"https://a.example/x?y=1", &cloudtaskspb.UriOverride{QueryOverride: &cloudtaskspb.QueryOverride{QueryParams: "z=2"}}, "https://a.example/x?z=2"},
		"a URL left to the queue":   {"", &cloudtaskspb.UriOverride{Host: proto.String("b.example"), PathOverride: &cloudtaskspb.PathOverride{Path: "/p"}}, "https://b.example/p"},
		"if not exists, all there":  {"http://a.example:1/x?y=1", &cloudtaskspb.UriOverride{UriOverrideEnforceMode: once, Host: proto.String("b.example"), Port: proto.Int64(2), PathOverride: &cloudtaskspb.PathOverride{Path: "/p"}, QueryOverride: &cloudtaskspb.QueryOverride{QueryParams: "z=2"}}, "http://a.example:1/x?y=1"},
		"if not exists, none there": {"http://a.example", &cloudtaskspb.UriOverride{UriOverrideEnforceMode: once, Host: proto.String("b.example"), Port: proto.Int64(2), PathOverride: &cloudtaskspb.PathOverride{Path: "/p"}, QueryOverride: &cloudtaskspb.QueryOverride{QueryParams: "z=2"}}, "http://a.example:2/p?z=2"},
		"a URL that does not parse": {"http://a.example/%zz", &cloudtaskspb.UriOverride{Host: proto.String("b.example")}, "http://a.example/%zz"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := sent(t, &cloudtaskspb.HttpTarget{UriOverride: c.override}, url(c.url)).URL; got != c.want {
				t.Errorf("sent to %q, want %q", got, c.want)
			}
		})
	}
}

func TestAQueueOverridesMethodHeadersAndToken(t *testing.T) {
	t.Parallel()
	target := &cloudtaskspb.HttpTarget{
		HttpMethod: cloudtaskspb.HttpMethod_GET,
		HeaderOverrides: []*cloudtaskspb.HttpTarget_HeaderOverride{
			{Header: &cloudtaskspb.HttpTarget_Header{Key: "X-Tenant", Value: "queue"}},
		},
		AuthorizationHeader: &cloudtaskspb.HttpTarget_OidcToken{OidcToken: &cloudtaskspb.OidcToken{ServiceAccountEmail: "queue@p", Audience: "aud"}},
	}
	got := sent(t, target, func(t *cloudtaskspb.Task) {
		r := t.GetHttpRequest()
		r.Body = []byte("x")
		r.Headers = map[string]string{"x-tenant": "task", "authorization": "Bearer mine"}
		r.AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{ServiceAccountEmail: "task@p"}}
	})
	if got.Method != "GET" || got.Body != nil {
		t.Errorf("sent %s with a body of %d bytes, want GET without", got.Method, len(got.Body))
	}
	if got.Header["x-tenant"] != nil || got.Header["authorization"] != nil || got.Header["X-Tenant"][0] != "queue" {
		t.Errorf("headers %v", got.Header)
	}
	if diff := cmp.Diff(&engine.Token{Email: "queue@p", Audience: "aud"}, got.Token); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
}

// FACTS.md 1.4: the audience defaults to the target URI, path and query included.
func TestTokensDefaultAudienceAndScope(t *testing.T) {
	t.Parallel()
	oidc := sent(t, nil, url("http://a.example/x?y=1"), func(t *cloudtaskspb.Task) {
		t.GetHttpRequest().AuthorizationHeader = &cloudtaskspb.HttpRequest_OidcToken{OidcToken: &cloudtaskspb.OidcToken{ServiceAccountEmail: "a@p"}}
	})
	oauth := sent(t, nil, func(t *cloudtaskspb.Task) {
		t.GetHttpRequest().AuthorizationHeader = &cloudtaskspb.HttpRequest_OauthToken{OauthToken: &cloudtaskspb.OAuthToken{ServiceAccountEmail: "a@p"}}
	})
	want := []*engine.Token{{Email: "a@p", Audience: "http://a.example/x?y=1"}, {Email: "a@p", Scope: "https://www.googleapis.com/auth/cloud-platform"}}
	if diff := cmp.Diff(want, []*engine.Token{oidc.Token, oauth.Token}); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestAppEngineTasks(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{AppEngineURL: "http://app.example:8080/"}, retries(-1, 0, time.Second, time.Second, 1))
	_, err := w.CreateTask(w.now, &cloudtaskspb.CreateTaskRequest{Parent: name, Task: &cloudtaskspb.Task{
		Name: name + "/tasks/x",
		MessageType: &cloudtaskspb.Task_AppEngineHttpRequest{AppEngineHttpRequest: &cloudtaskspb.AppEngineHttpRequest{
			RelativeUri: "/work", Body: []byte("hello"), Headers: map[string]string{"X-Mixed-Case": "kept"},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.statuses(503, 200)
	w.run(time.Minute)
	got := w.starts[1].Request
	want := map[string][]string{
		"X-Mixed-Case": {"kept"}, "Content-Type": {"application/octet-stream"}, "Content-Length": {"5"},
		"User-Agent":            {"AppEngine-Google; (+http://code.google.com/appengine)"},
		"X-AppEngine-QueueName": {"q"}, "X-AppEngine-TaskName": {"x"}, "X-AppEngine-TaskRetryCount": {"1"},
		"X-AppEngine-TaskExecutionCount": {"1"}, "X-AppEngine-TaskPreviousResponse": {"503"},
		"X-AppEngine-TaskRetryReason": {"App Error"}, "X-AppEngine-TaskETA": {"1796119201.000000"},
	}
	if diff := cmp.Diff(want, map[string][]string(got.Header)); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got.URL != "http://app.example:8080/work" || got.Method != "POST" {
		t.Errorf("sent %s %s", got.Method, got.URL)
	}
}
