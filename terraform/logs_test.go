package terraform_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tasksapi "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seriatim/seriatim/shared/idempotency"
	"github.com/seriatim/seriatim/shared/record"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestADeployedRun(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.run()
	t.Run("each function may call what it calls, and nothing else", func(t *testing.T) {
		for name, c := range d.calls {
			if diff := cmp.Diff(granted(t, d.state, name), c.needed(t)); diff != "" {
				t.Errorf("permissions of %s (-granted +needed):\n%s", name, diff)
			}
		}
	})
	t.Run("every metric matches a line and takes a value out of it", func(t *testing.T) {
		entries := d.entries()
		for _, metric := range d.state.of("google_logging_metric") {
			name := metric.Values["name"].(string)
			if err := try(metric.Values, entries); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// run makes both functions write every kind of line that a metric counts, and call everything that they ever call.
func (d *deployment) run() {
	t := d.t
	for name, parts := range d.parts { // the first call of a new JVM may take longer than a check of health waits
		for t.Context().Err() == nil {
			_, _, err := parts.Records.Lookup(t.Context(), "warm", "warm")
			if err == nil {
				break
			}
			t.Logf("%s: %v", name, err)
		}
	}
	d.expect(http.StatusOK, d.send(t.Context(), http.MethodGet, "ingest", "/v1/health", ""))
	d.expect(http.StatusOK, d.post("ingest", "/v1/lanes/k-idle/requests", "x"))
	d.expect(http.StatusUnprocessableEntity, d.post("ingest", "/v1/lanes/k-dead/requests", "x", "Idempotency-Key", "d"))
	d.expect(http.StatusAccepted, d.post("ingest", "/v1/lanes/k-retry/requests", "x"))
	d.await("ingest", `"outcome":"retry"`)
	d.await("executor", `"outcome":"done"`)

	d.expect(http.StatusAccepted, d.post("ingest", "/v1/lanes/parks-dead/requests", "x", "Idempotency-Key", "p"))
	d.expect(http.StatusOK, d.post("ingest", "/v1/lanes/parks-dead/requests/"+idempotency.RequestID("parks-dead", "p")+"/skip", ""))

	d.expect(http.StatusOK, d.send(t.Context(), http.MethodGet, "ingest", "/v1/lanes/k-dead/dead-letters", ""))
	d.expect(http.StatusAccepted, d.post("ingest", "/v1/lanes/k-dead/dead-letters/"+idempotency.RequestID("k-dead", "d")+"/redrive", ""))
	d.overwrite()
	d.loseTheHead()

	// Who is not Cloud Tasks, and who does not know the key.
	d.expect(http.StatusForbidden, d.post("executor", "/", "x"))
	d.expect(http.StatusConflict, d.post("executor", "/", "x", "Authorization", d.token(), taskqueue.MACHeader, "0"))
	// A key whose policy has been removed since.
	body, mac := d.seal("other")
	d.expect(http.StatusConflict, d.post("executor", "/", body, "Authorization", d.token(), taskqueue.MACHeader, mac))

	d.firestore.Stop()
	d.expect(http.StatusOK, d.post("ingest", "/v1/lanes/k-idle/requests", "x"))
	d.await("executor", "record not flushed yet")

	for name, log := range d.logs {
		if strings.Contains(log.String(), "redis was lost") {
			t.Errorf("%s takes the first generation of Redis for a loss:\n%s", name, log)
		}
	}
	if err := d.parts["executor"].Redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	d.awaitAfter("ingest", "redis was lost or rolled back", func() { d.send(t.Context(), http.MethodGet, "ingest", "/v1/lanes/k-idle", "") })

	d.redis.Kill()
	body, mac = d.seal("k-away")
	d.expect(http.StatusServiceUnavailable, d.post("executor", "/", body, "Authorization", d.token(), taskqueue.MACHeader, mac))
	d.expect(http.StatusServiceUnavailable, d.post("ingest", "/v1/lanes/k-away/requests", "x"))
}

// overwrite has each function write a record over one of a lower ticket, as it does when an idempotency key is used again after its
// retention.
func (d *deployment) overwrite() {
	t := d.t
	for name, parts := range d.parts {
		r := record.Record{
			Key: "k-again", ID: idempotency.RequestID("k-again", name), Fingerprint: "f", Ticket: 1, Fence: 1, Status: record.Done,
			Submitted: time.Now(), Started: time.Now(), Finished: time.Now(), ExpireAt: time.Now().Add(time.Hour),
		}
		for range 2 {
			if held, err := parts.Records.Store.Put(t.Context(), r); err != nil || held.Ticket != r.Ticket {
				t.Fatalf("%s puts ticket %d: holds %d, %v", name, r.Ticket, held.Ticket, err)
			}
			r.Ticket, r.Submitted = r.Ticket+1, r.ExpireAt
		}
	}
}

// loseTheHead takes the first tasks of two lanes out of the queue behind Seriatim's back. Of one lane the second task finds that
// out, of the other the sweep does.
func (d *deployment) loseTheHead() {
	t := d.t
	client, err := tasksapi.NewClient(t.Context(), option.WithEndpoint(d.tasks.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.PauseQueue(t.Context(), &cloudtaskspb.PauseQueueRequest{Name: d.queue}); err != nil {
		t.Fatal(err)
	}
	before := d.taskNames(client)
	for _, lane := range []string{"k-lost", "swept-lost"} {
		for range 2 { // the second time confirms that the task is there
			d.expect(http.StatusAccepted, d.post("ingest", "/v1/lanes/"+lane+"/requests", "1", "Prefer", "respond-async", "Idempotency-Key", "1"))
		}
	}
	for _, name := range d.taskNames(client) {
		if !slices.Contains(before, name) {
			if err := client.DeleteTask(t.Context(), &cloudtaskspb.DeleteTaskRequest{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.expect(http.StatusAccepted, d.post("ingest", "/v1/lanes/k-lost/requests", "2", "Prefer", "respond-async"))
	if _, err := client.ResumeQueue(t.Context(), &cloudtaskspb.ResumeQueueRequest{Name: d.queue}); err != nil {
		t.Fatal(err)
	}
	d.await("executor", "head voided: the queue does not have its task") // looked for twice, 5 s apart
	d.awaitAfter("executor", "lane swept", func() {                      // once it has stood for longer than its lease
		d.expect(http.StatusOK, d.post("executor", "/sweep", "", "Authorization", d.token(d.parts["executor"].Config.Callers.Sweep)))
	})
}

func (d *deployment) taskNames(client *tasksapi.Client) []string {
	var names []string
	for task, err := range client.ListTasks(d.t.Context(), &cloudtaskspb.ListTasksRequest{Parent: d.queue}).All() {
		if err != nil {
			d.t.Fatal(err)
		}
		names = append(names, task.GetName())
	}
	return names
}

func (d *deployment) expect(want, got int) {
	d.t.Helper()
	if got != want {
		d.t.Fatalf("status %d, want %d\ningest:\n%s\nexecutor:\n%s", got, want, d.logs["ingest"], d.logs["executor"])
	}
}

// await waits for a text in a function's log.
func (d *deployment) await(name, text string) { d.t.Helper(); d.awaitAfter(name, text, func() {}) }

// awaitAfter does again and again what leads to it.
func (d *deployment) awaitAfter(name, text string, do func()) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); !strings.Contains(d.logs[name].String(), text); do() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.t.Fatalf("%s has not logged %s:\n%s", name, text, d.logs[name])
		}
	}
}

// token is a header of a caller as Cloud Run hands it on; of Cloud Tasks where none is named.
func (d *deployment) token(account ...string) string {
	callers := d.parts["executor"].Config.Callers
	account = append(account, callers.Tasks)
	claims, err := json.Marshal(map[string]any{
		"iss": "https://accounts.google.com", "aud": callers.Audience, "email": account[0], "email_verified": true,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return "Bearer " + encode([]byte(`{"alg":"RS256"}`)) + "." + encode(claims) + ".SIGNATURE_REMOVED_BY_GOOGLE"
}

func (d *deployment) seal(key string) (body, mac string) {
	text, mac, err := d.parts["executor"].Config.Tasks.Keys.Seal(taskqueue.Envelope{
		V: taskqueue.Version, Kind: taskqueue.KindRequest, Key: key, Incarnation: 1, Ticket: 1, ID: "abcdefghijklmnopqrstuvwxyz",
		Target: "work", Fingerprint: "f", Submitted: time.Now(),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text), mac
}

// entries are the log lines as Cloud Logging stores those of a function.
func (d *deployment) entries() []map[string]any {
	var all []map[string]any
	for name, log := range d.logs {
		service := d.state.get(d.t, "google_cloudfunctions2_function."+name, "name")
		for line := range strings.Lines(log.String()) {
			payload := map[string]any{}
			if err := json.Unmarshal([]byte(line), &payload); err != nil {
				d.t.Fatalf("%s logged %q: %v", name, line, err)
			}
			entry := map[string]any{
				"resource": map[string]any{"type": "cloud_run_revision", "labels": map[string]any{"service_name": service}},
				"severity": payload["severity"], "jsonPayload": payload,
			}
			delete(payload, "severity")
			delete(payload, "time")
			all = append(all, entry)
		}
	}
	return all
}
