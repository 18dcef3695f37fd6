package cloudtasks_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	cloudtasksapi "cloud.google.com/go/cloudtasks/apiv2"
	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seriatim/seriatim/emulator/cloudtasks"
)

// A test's own Cloud Tasks, on a clock that the test drives.
func Example() {
	ctx := context.Background()
	done := make(chan string)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		done <- r.URL.Path
	}))
	defer target.Close()

	const queue = "projects/p/locations/l/queues/q"
	clock := cloudtasks.NewManualClock(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC))
	server, err := cloudtasks.Start(ctx, cloudtasks.Options{
		Queues: []*cloudtaskspb.Queue{{Name: queue}},
		Clock:  clock,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	client, err := cloudtasksapi.NewClient(ctx, option.WithEndpoint(server.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_, err = client.CreateTask(ctx, &cloudtaskspb.CreateTaskRequest{Parent: queue, Task: &cloudtaskspb.Task{
		ScheduleTime: timestamppb.New(clock.Now().Add(30 * 24 * time.Hour)),
		MessageType:  &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: target.URL + "/invoice"}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	clock.Advance(30 * 24 * time.Hour)
	fmt.Println(<-done)
	// Output: /invoice
}
