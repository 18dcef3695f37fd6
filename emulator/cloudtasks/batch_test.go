package cloudtasks_test

import (
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestBatchesAreOperationsThatTellWhatFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	request := func(id string) *cloudtaskspb.CreateTaskRequest {
		task := &cloudtaskspb.Task{MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: b.target.URL}}}
		named(id)(task)
		b.in(time.Hour)(task)
		return &cloudtaskspb.CreateTaskRequest{Parent: queueName, Task: task}
	}
	batch := &cloudtaskspb.BatchCreateTasksRequest{Parent: queueName, RequestId: "once",
		Requests: []*cloudtaskspb.CreateTaskRequest{request("a"), request("b"), request("a")}}
	var names []string
	for range 2 { // the second call is the same operation
		op, err := b.client.BatchCreateTasks(ctx, batch)
		if err != nil {
			t.Fatal(err)
		}
		created, err := op.Wait(ctx)
		if err != nil || len(created.GetTasks()) != 2 {
			t.Fatalf("created %v, %v", created, err)
		}
		metadata, err := op.Metadata()
		if err != nil || metadata.GetState() != cloudtaskspb.BatchCreateTasksMetadata_PARTIALLY_SUCCEEDED || metadata.GetFailedRequests()[2].GetCode() != int32(codes.AlreadyExists) {
			t.Errorf("metadata %v, %v", metadata, err)
		}
		names = append(names, op.Name())
		if again, err := b.client.BatchCreateTasksOperation(op.Name()).Wait(ctx); err != nil || len(again.GetTasks()) != 2 {
			t.Errorf("looked up by name: %v, %v", again, err)
		}
	}
	if names[0] != names[1] {
		t.Errorf("one request ID gave the operations %v", names)
	}
	remove := func(ids ...string) error {
		r := &cloudtaskspb.BatchDeleteTasksRequest{Parent: queueName}
		for _, id := range ids {
			r.Names = append(r.Names, queueName+"/tasks/"+id)
		}
		op, err := b.client.BatchDeleteTasks(ctx, r)
		if err != nil {
			return err
		}
		return op.Wait(ctx)
	}
	if err := remove("a", "none"); err != nil {
		t.Errorf("deleting one of two: %v", err)
	}
	if err := remove("a", "none"); status.Code(err) != codes.Aborted {
		t.Errorf("deleting none: %v, want ABORTED", err)
	}
	if s := b.server.Stats(); s.Waiting != 1 {
		t.Errorf("%d tasks wait, want 1", s.Waiting)
	}
}

func TestBadBatchesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	create := func(parent string, n int, other string) error {
		r := &cloudtaskspb.BatchCreateTasksRequest{Parent: parent}
		for range n {
			r.Requests = append(r.Requests, &cloudtaskspb.CreateTaskRequest{Parent: other})
		}
		_, err := b.client.BatchCreateTasks(ctx, r)
		return err
	}
	remove := func(n int) error {
		_, err := b.client.BatchDeleteTasks(ctx, &cloudtaskspb.BatchDeleteTasksRequest{Parent: queueName, Names: make([]string, n)})
		return err
	}
	for what, c := range map[string]struct {
		err  error
		want codes.Code
	}{
		"FACTS.md 1.1: 101 creates":  {create(queueName, 101, queueName), codes.InvalidArgument},
		"no creates":                 {create(queueName, 0, ""), codes.InvalidArgument},
		"another queue in the batch": {create(queueName, 1, queueName+"2"), codes.InvalidArgument},
		"an unknown queue":           {create(queueName+"2", 1, queueName+"2"), codes.NotFound},
		"FACTS.md 1.1: 1001 deletes": {remove(1001), codes.InvalidArgument},
		"no deletes":                 {remove(0), codes.InvalidArgument},
	} {
		if status.Code(c.err) != c.want {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
}
