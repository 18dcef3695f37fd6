package cloudtasks_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"
	"google.golang.org/genproto/googleapis/cloud/location"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

// in schedules a task after d.
func (b *bundle) in(d time.Duration) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.ScheduleTime = timestamppb.New(b.clock.Now().Add(d)) }
}

func named(id string) func(*cloudtaskspb.Task) {
	return func(t *cloudtaskspb.Task) { t.Name = queueName + "/tasks/" + id }
}

func TestTheGoClientManagesQueues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	must := func(q *cloudtaskspb.Queue, err error) *cloudtaskspb.Queue {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	const other = place + "/queues/other"
	must(b.client.CreateQueue(ctx, &cloudtaskspb.CreateQueueRequest{Parent: place, Queue: &cloudtaskspb.Queue{Name: other}}))
	must(b.client.UpdateQueue(ctx, &cloudtaskspb.UpdateQueueRequest{
		Queue:      &cloudtaskspb.Queue{Name: other, RateLimits: &cloudtaskspb.RateLimits{MaxDispatchesPerSecond: 7}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"rate_limits.max_dispatches_per_second"}},
	}))
	must(b.client.PauseQueue(ctx, &cloudtaskspb.PauseQueueRequest{Name: other}))
	paused := must(b.client.GetQueue(ctx, &cloudtaskspb.GetQueueRequest{Name: other}))
	if paused.GetState() != cloudtaskspb.Queue_PAUSED || paused.GetRateLimits().GetMaxDispatchesPerSecond() != 7 {
		t.Errorf("the paused queue: %v", paused)
	}
	must(b.client.ResumeQueue(ctx, &cloudtaskspb.ResumeQueueRequest{Name: other}))
	purged := must(b.client.PurgeQueue(ctx, &cloudtaskspb.PurgeQueueRequest{Name: other}))
	if purged.GetState() != cloudtaskspb.Queue_RUNNING || purged.GetPurgeTime() == nil {
		t.Errorf("the purged queue: %v", purged)
	}
	var names []string
	for q, err := range b.client.ListQueues(ctx, &cloudtaskspb.ListQueuesRequest{Parent: place, PageSize: 1}).All() {
		names = append(names, must(q, err).GetName())
	}
	if diff := cmp.Diff([]string{other, queueName}, names); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if err := b.client.DeleteQueue(ctx, &cloudtaskspb.DeleteQueueRequest{Name: other}); err != nil {
		t.Fatal(err)
	}
	_, err := b.client.GetQueue(ctx, &cloudtaskspb.GetQueueRequest{Name: other})
	if status.Code(err) != codes.NotFound {
		t.Errorf("the deleted queue: %v", err)
	}
}

func TestTheGoClientManagesTasks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	for i := range 5 {
		b.create(t, named(fmt.Sprint("task-", i)), b.in(time.Hour))
	}
	tasks := b.client.ListTasks(ctx, &cloudtaskspb.ListTasksRequest{Parent: queueName, PageSize: 2})
	count := 0
	for {
		if _, err := tasks.Next(); errors.Is(err, iterator.Done) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != 5 {
		t.Errorf("listed %d tasks, want 5", count)
	}
	got, err := b.client.GetTask(ctx, &cloudtaskspb.GetTaskRequest{Name: queueName + "/tasks/task-0", ResponseView: cloudtaskspb.Task_FULL})
	if err != nil || string(got.GetHttpRequest().GetBody()) != "hello" {
		t.Errorf("GetTask FULL: %v, %v", got, err)
	}
	if err := b.client.DeleteTask(ctx, &cloudtaskspb.DeleteTaskRequest{Name: got.GetName()}); err != nil {
		t.Error(err)
	}
	run, err := b.client.RunTask(ctx, &cloudtaskspb.RunTaskRequest{Name: queueName + "/tasks/task-1"})
	if err != nil || run.GetDispatchCount() != 1 {
		t.Errorf("RunTask: %v, %v", run, err)
	}
	if r := b.target.next(t); r.Header.Get("X-CloudTasks-TaskName") != "task-1" {
		t.Errorf("the target got %v", r.Header)
	}
	b.settle(t)
	if s := b.server.Stats(); s.Waiting != 3 || s.Completed != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestIAMLocationsAndEncryptionAreAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	policy := &iampb.Policy{Bindings: []*iampb.Binding{{Role: "roles/cloudtasks.enqueuer"}}}
	if _, err := b.client.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: queueName, Policy: policy}); err != nil {
		t.Fatal(err)
	}
	got, err := b.client.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: queueName})
	if diff := cmp.Diff(policy, got, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("policy (-want +got):\n%s%v", diff, err)
	}
	permissions := []string{"cloudtasks.tasks.create"}
	for resource, want := range map[string][]string{queueName: permissions, queueName + "2": nil} {
		tested, err := b.client.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: resource, Permissions: permissions})
		if diff := cmp.Diff(want, tested.GetPermissions()); diff != "" || err != nil {
			t.Errorf("%s: permissions (-want +got):\n%s%v", resource, diff, err)
		}
	}
	if l, err := b.client.GetLocation(ctx, &location.GetLocationRequest{Name: place}); err != nil || l.GetLocationId() != "l" {
		t.Errorf("location %v, %v", l, err)
	}
	config := &cloudtaskspb.CmekConfig{Name: place + "/cmekConfig", KmsKey: place + "/keyRings/r/cryptoKeys/k"}
	if _, err := b.client.UpdateCmekConfig(ctx, &cloudtaskspb.UpdateCmekConfigRequest{CmekConfig: config}); err != nil {
		t.Fatal(err)
	}
	stored, err := b.client.GetCmekConfig(ctx, &cloudtaskspb.GetCmekConfigRequest{Name: config.Name})
	if diff := cmp.Diff(config, stored, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("CMEK config (-want +got):\n%s%v", diff, err)
	}
}

func TestALostReplyMeansTheTaskIsThere(t *testing.T) {
	t.Parallel()
	faults, err := cloudtasks.ParseFaults("lose-reply=1")
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(o *cloudtasks.Options) { o.Faults = faults })
	request := func() *cloudtaskspb.CreateTaskRequest {
		task := &cloudtaskspb.Task{MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: b.target.URL}}}
		named("x")(task)
		b.in(time.Hour)(task)
		return &cloudtaskspb.CreateTaskRequest{Parent: queueName, Task: task}
	}
	if _, err := b.client.CreateTask(t.Context(), request()); status.Code(err) != codes.Unavailable {
		t.Errorf("the first call: %v, want UNAVAILABLE", err)
	}
	if _, err := b.client.CreateTask(t.Context(), request()); status.Code(err) != codes.AlreadyExists {
		t.Errorf("the same call again: %v, want ALREADY_EXISTS", err)
	}
}

func TestInjectedErrorsRefuseWithoutEffect(t *testing.T) {
	t.Parallel()
	faults, err := cloudtasks.ParseFaults("error=1:RESOURCE_EXHAUSTED@CreateTask")
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(o *cloudtasks.Options) { o.Faults = faults })
	_, err = b.client.CreateTask(t.Context(), &cloudtaskspb.CreateTaskRequest{Parent: queueName, Task: &cloudtaskspb.Task{}})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("CreateTask: %v", err)
	}
	if _, err := b.client.GetQueue(t.Context(), &cloudtaskspb.GetQueueRequest{Name: queueName}); err != nil {
		t.Errorf("GetQueue: %v", err)
	}
	want := map[string]int64{"CreateTask": 1, "GetQueue": 1}
	if diff := cmp.Diff(want, b.server.Stats().Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestMalformedCallsGetTheirCodeOverTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, c := range map[string]struct {
		method string
		want   codes.Code
	}{
		"an empty request":   {"/google.cloud.tasks.v2.CloudTasks/CreateTask", codes.InvalidArgument},
		"an unknown method":  {"/google.cloud.tasks.v2.CloudTasks/BufferTask", codes.Unimplemented},
		"an unknown service": {"/google.cloud.tasks.v2beta3.CloudTasks/CreateTask", codes.Unimplemented},
		"no method":          {"/", codes.Unimplemented},
	} {
		err := b.client.Connection().Invoke(t.Context(), c.method, &cloudtaskspb.CreateTaskRequest{}, &cloudtaskspb.Task{})
		if status.Code(err) != c.want {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}
