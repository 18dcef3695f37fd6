package terraform_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
)

// permissions that an RPC needs: https://cloud.google.com/tasks/docs/reference-access-control (GetTask asks for the FULL view) and
// https://cloud.google.com/firestore/docs/security/iam. A Commit is named by what it writes.
var permissions = map[string][]string{
	"CreateTask":        {"cloudtasks.tasks.create"},
	"GetTask":           {"cloudtasks.tasks.get", "cloudtasks.tasks.fullView"},
	"GetQueue":          {"cloudtasks.queues.get"},
	"BatchGetDocuments": {"datastore.entities.get"},
	"RunQuery":          {"datastore.entities.get", "datastore.entities.list"},
	"Commit/create":     {"datastore.entities.create"},
	"Commit/update":     {"datastore.entities.update"},
	"Commit/set":        {"datastore.entities.create", "datastore.entities.update"},
	"Commit/delete":     {"datastore.entities.delete"},
}

// calls are the RPCs that one function made, by method.
type calls struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (c *calls) add(methods ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	for _, method := range methods {
		c.seen[method] = true
	}
}

// needed are the permissions that all calls took.
func (c *calls) needed(t *testing.T) []string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]bool{}
	for method := range c.seen {
		if permissions[method] == nil {
			t.Errorf("%s is called: this test does not know its permission", method)
		}
		for _, p := range permissions[method] {
			all[p] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// granted are the permissions of a function's roles on the queue and on the database.
func granted(t *testing.T, s state, name string) []string {
	t.Helper()
	roles := []any{
		s.get(t, "google_cloud_tasks_queue_iam_member."+name, "role"),
		s.get(t, `google_project_iam_member.uses_records["`+name+`"]`, "role"),
	}
	var all []string
	for _, custom := range s.of("google_project_iam_custom_role") {
		if slices.Contains(roles, custom.Values["id"]) {
			for _, p := range custom.Values["permissions"].([]any) {
				all = append(all, p.(string))
			}
		}
	}
	slices.Sort(all)
	return all
}

// record starts a gRPC proxy before an emulator that notes what passes, and returns its address.
func (d *deployment) record(c *calls, emulator string) string {
	d.t.Helper()
	h2c := &http.Protocols{}
	h2c.SetUnencryptedHTTP2(true)
	proxy := &httputil.ReverseProxy{
		// No FlushInterval: it would send the headers of an answer that is only headers, an error, as those of a longer one.
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: emulator}) },
		Transport: &http.Transport{Protocols: h2c},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if method := path.Base(r.URL.Path); method != "Commit" {
			c.add(method)
		} else {
			methods, err := commits(r)
			if err != nil {
				d.t.Errorf("Commit cannot be read: %v", err)
			}
			c.add(methods...)
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.Protocols = h2c
	server.Start()
	d.t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// commits names the writes of a Commit, and leaves its body to be read again.
func commits(r *http.Request) ([]string, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	const prefix = 5 // of a gRPC message: whether it is compressed, and its length
	if err != nil || len(body) < prefix || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:prefix])) != len(body)-prefix {
		return nil, fmt.Errorf("no plain message of %d bytes: %w", len(body), err)
	}
	var commit firestorepb.CommitRequest
	if err := proto.Unmarshal(body[prefix:], &commit); err != nil {
		return nil, err
	}
	var methods []string
	for _, write := range commit.GetWrites() {
		exists, says := write.GetCurrentDocument().GetConditionType().(*firestorepb.Precondition_Exists)
		switch {
		case write.GetDelete() != "":
			methods = append(methods, "Commit/delete")
		case says && !exists.Exists:
			methods = append(methods, "Commit/create")
		case write.GetCurrentDocument() != nil: // it exists, or was last written at a time
			methods = append(methods, "Commit/update")
		default:
			methods = append(methods, "Commit/set")
		}
	}
	return methods, nil
}
