package engine_test

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

func TestListTasksPagesThroughAllWhileTasksComeAndGo(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	if _, err := w.PauseQueue(name); err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		w.create(named(fmt.Sprint(i)))
	}
	var got []string
	r := &cloudtaskspb.ListTasksRequest{Parent: name, PageSize: 3}
	for {
		page, err := w.ListTasks(w.now, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.GetTasks() {
			got = append(got, task.GetName()[len(name+"/tasks/"):])
		}
		// The task that the token stands for goes, another comes.
		if err := w.DeleteTask(w.now, name+"/tasks/"+got[len(got)-1]); err != nil {
			t.Fatal(err)
		}
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5", "6"}, got); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

// FACTS.md 1.5: page <= 1000, token 2 h.
func TestPagesAreBoundedAndTheirTokensExpire(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	if _, err := w.PauseQueue(name); err != nil {
		t.Fatal(err)
	}
	for range 1001 {
		w.create()
	}
	page, err := w.ListTasks(w.now, &cloudtaskspb.ListTasksRequest{Parent: name, PageSize: 5000})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.GetTasks()) != 1000 {
		t.Errorf("a page of %d tasks", len(page.GetTasks()))
	}
	next := &cloudtaskspb.ListTasksRequest{Parent: name, PageToken: page.GetNextPageToken()}
	rest, err := w.ListTasks(w.now.Add(2*time.Hour), next)
	if err != nil || len(rest.GetTasks()) != 1 || rest.GetNextPageToken() != "" {
		t.Errorf("the second page: %v, %v", rest, err)
	}
	if _, err := w.ListTasks(w.now.Add(2*time.Hour+time.Second), next); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an expired token: %v", err)
	}
}

// FACTS.md 1.5: BASIC view omits the body.
func TestOnlyFullViewShowsTheBody(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	body := func(t *cloudtaskspb.Task) { t.GetHttpRequest().Body = []byte("hello") }
	created := w.create(named("x"), due(start.Add(time.Hour)), body)
	full, err := w.GetTask(w.now, created.GetName(), cloudtaskspb.Task_FULL)
	if err != nil {
		t.Fatal(err)
	}
	if full.GetView() != cloudtaskspb.Task_FULL || string(full.GetHttpRequest().GetBody()) != "hello" {
		t.Errorf("FULL view: %v", full)
	}
	full.View = cloudtaskspb.Task_BASIC
	want := &cloudtaskspb.HttpRequest{
		Url: "http://target.example/work", HttpMethod: cloudtaskspb.HttpMethod_POST, Headers: map[string]string{"User-Agent": "Google-Cloud-Tasks"},
	}
	if diff := cmp.Diff(want, created.GetHttpRequest(), protocmp.Transform()); diff != "" {
		t.Errorf("the request in BASIC view (-want +got):\n%s", diff)
	}
}

func TestListQueuesIsSortedPagedAndFiltered(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	for _, q := range []string{"/queues/b", "/queues/a", "x/queues/a"} {
		if _, err := w.AddQueue(w.now, &cloudtaskspb.Queue{Name: place + q}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.PauseQueue(place + "/queues/b"); err != nil {
		t.Fatal(err)
	}
	list := func(filter, token string, size int32) ([]string, string) {
		t.Helper()
		page, err := w.ListQueues(w.now, &cloudtaskspb.ListQueuesRequest{Parent: place, Filter: filter, PageToken: token, PageSize: size})
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, q := range page.GetQueues() {
			names = append(names, q.GetName()[len(place+"/queues/"):])
		}
		return names, page.GetNextPageToken()
	}
	first, token := list("", "", 2)
	second, _ := list("", token, 2)
	paused, _ := list("state: PAUSED", "", 0)
	running, _ := list(`state != "PAUSED"`, "", 0)
	want := [][]string{{"a", "b"}, {"q"}, {"b"}, {"a", "q"}}
	if diff := cmp.Diff(want, [][]string{first, second, paused, running}); diff != "" {
		t.Errorf("pages and filters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{place, place + "x"}, w.Locations("projects/p")); diff != "" {
		t.Errorf("locations (-want +got):\n%s", diff)
	}
}

func TestAPausedQueueAcceptsTasksAndSendsThemWhenResumed(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	if _, err := w.PauseQueue(name); err != nil {
		t.Fatal(err)
	}
	w.create()
	w.run(time.Hour)
	if len(w.starts) != 0 {
		t.Fatalf("a paused queue started %v", w.offsets())
	}
	if q, err := w.ResumeQueue(name); err != nil || q.GetState() != cloudtaskspb.Queue_RUNNING {
		t.Fatal(q, err)
	}
	w.run(0)
	if len(w.starts) != 1 {
		t.Errorf("the resumed queue started %d", len(w.starts))
	}
}

func TestAPurgeTellsWhenItWas(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	w.now = w.now.Add(1999)
	q, err := w.PurgeQueue(w.now, name)
	if err != nil || !q.GetPurgeTime().AsTime().Equal(start.Add(1000)) {
		t.Errorf("purged %v, %v", q.GetPurgeTime().AsTime(), err)
	}
}

func TestPoliciesAreKept(t *testing.T) {
	t.Parallel()
	w := setup(t, engine.Options{})
	if p, err := w.Policy(name); err != nil || len(p.GetBindings()) != 0 {
		t.Errorf("the first policy: %v, %v", p, err)
	}
	want := &iampb.Policy{Bindings: []*iampb.Binding{{Role: "roles/cloudtasks.enqueuer"}}}
	if _, err := w.SetPolicy(name, want); err != nil {
		t.Fatal(err)
	}
	got, err := w.Policy(name)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("policy (-want +got):\n%s%v", diff, err)
	}
}
