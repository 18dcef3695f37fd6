package cloudtasks

import (
	"context"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// service is the Cloud Tasks API v2 over an engine.
type service struct {
	cloudtaskspb.UnimplementedCloudTasksServer
	runner     *runner
	operations *operations
	cmek       encryption
}

var _ cloudtaskspb.CloudTasksServer = (*service)(nil)

func (s *service) CreateQueue(_ context.Context, r *cloudtaskspb.CreateQueueRequest) (*cloudtaskspb.Queue, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.Queue, error) {
		return e.CreateQueue(now, r.GetParent(), r.GetQueue())
	})
}

func (s *service) GetQueue(_ context.Context, r *cloudtaskspb.GetQueueRequest) (*cloudtaskspb.Queue, error) {
	return call(s.runner, func(e *engine.Engine, _ time.Time) (*cloudtaskspb.Queue, error) {
		return e.GetQueue(r.GetName())
	})
}

func (s *service) ListQueues(_ context.Context, r *cloudtaskspb.ListQueuesRequest) (*cloudtaskspb.ListQueuesResponse, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.ListQueuesResponse, error) {
		return e.ListQueues(now, r)
	})
}

func (s *service) UpdateQueue(_ context.Context, r *cloudtaskspb.UpdateQueueRequest) (*cloudtaskspb.Queue, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.Queue, error) {
		return e.UpdateQueue(now, r.GetQueue(), r.GetUpdateMask().GetPaths())
	})
}

func (s *service) DeleteQueue(_ context.Context, r *cloudtaskspb.DeleteQueueRequest) (*emptypb.Empty, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, e.DeleteQueue(now, r.GetName())
	})
}

func (s *service) PurgeQueue(_ context.Context, r *cloudtaskspb.PurgeQueueRequest) (*cloudtaskspb.Queue, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.Queue, error) {
		return e.PurgeQueue(now, r.GetName())
	})
}

func (s *service) PauseQueue(_ context.Context, r *cloudtaskspb.PauseQueueRequest) (*cloudtaskspb.Queue, error) {
	return call(s.runner, func(e *engine.Engine, _ time.Time) (*cloudtaskspb.Queue, error) {
		return e.PauseQueue(r.GetName())
	})
}

func (s *service) ResumeQueue(_ context.Context, r *cloudtaskspb.ResumeQueueRequest) (*cloudtaskspb.Queue, error) {
	return call(s.runner, func(e *engine.Engine, _ time.Time) (*cloudtaskspb.Queue, error) {
		return e.ResumeQueue(r.GetName())
	})
}

func (s *service) CreateTask(_ context.Context, r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.Task, error) {
		return e.CreateTask(now, r)
	})
}

func (s *service) GetTask(_ context.Context, r *cloudtaskspb.GetTaskRequest) (*cloudtaskspb.Task, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.Task, error) {
		return e.GetTask(now, r.GetName(), r.GetResponseView())
	})
}

func (s *service) ListTasks(_ context.Context, r *cloudtaskspb.ListTasksRequest) (*cloudtaskspb.ListTasksResponse, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.ListTasksResponse, error) {
		return e.ListTasks(now, r)
	})
}

func (s *service) DeleteTask(_ context.Context, r *cloudtaskspb.DeleteTaskRequest) (*emptypb.Empty, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, e.DeleteTask(now, r.GetName())
	})
}

func (s *service) RunTask(_ context.Context, r *cloudtaskspb.RunTaskRequest) (*cloudtaskspb.Task, error) {
	return call(s.runner, func(e *engine.Engine, now time.Time) (*cloudtaskspb.Task, error) {
		return e.RunTask(now, r.GetName(), r.GetResponseView())
	})
}
