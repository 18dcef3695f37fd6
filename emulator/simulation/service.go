package simulation

import (
	"context"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// service is the Cloud Tasks API as an instance reaches it.
type service struct{ in *instance }

var (
	errRefused = status.Error(codes.ResourceExhausted, "simulated: refused")
	errNoQueue = status.Error(codes.NotFound, "simulated: the queue does not exist")
	errNoTask  = status.Error(codes.NotFound, "simulated: the read does not see the task yet")
	errBroken  = status.Error(codes.Unavailable, "simulated: connection broken")
)

// staleness is how old a task may be that a read does not see: less than the margin of the confirm deadline.
const staleness = 1500 * time.Millisecond

// CreateTask is cloudtasks.Client's.
func (s *service) CreateTask(ctx context.Context, req *cloudtaskspb.CreateTaskRequest, _ ...gax.CallOption) (*cloudtaskspb.Task, error) {
	w, about := s.in.world, "create "+req.GetTask().GetName()[len(queueName)+7:][:12]
	w.count("create")
	w.count(QueueCalls)
	w.steps.Add(1)
	r, f := w.dice.roll("queue latency", about), w.faults()
	if err := pass(ctx, r.span(5*time.Millisecond, 20*time.Millisecond)); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	s.in.trouble(about)
	if s.skipped(req) {
		return req.GetTask(), nil
	}
	switch {
	case w.strike("create refused", about, f.Refuse):
		return nil, []error{errRefused, errNoQueue}[r.intn(2)]
	case w.strike("create lost", about, f.CreateLost):
		return nil, s.broken()
	case w.strike("create late", about, f.CreateLate):
		time.AfterFunc(r.span(time.Second, 25*time.Second), func() { _, _ = w.queue.create(proto.CloneOf(req)) })
		<-ctx.Done()
		s.in.alive(about)
		return nil, s.ambiguous(status.FromContextError(ctx.Err()).Err())
	}
	task, err := w.queue.create(req)
	s.in.trouble("after " + about)
	if w.strike("create reply lost", about, f.CreateReplyLost) {
		return nil, s.broken()
	}
	if perr := pass(ctx, r.span(5*time.Millisecond, 20*time.Millisecond)); perr != nil {
		return nil, s.ambiguous(status.FromContextError(perr).Err())
	}
	s.in.alive(about)
	return task, err
}

func (s *service) broken() error { return s.ambiguous(errBroken) }

// ambiguous is err, unless the defect takes it for a refusal.
func (s *service) ambiguous(err error) error {
	if s.in.world.has(RefusalGuessed) {
		return errNoQueue
	}
	return err
}

// GetTask is cloudtasks.Client's.
func (s *service) GetTask(ctx context.Context, req *cloudtaskspb.GetTaskRequest, _ ...gax.CallOption) (*cloudtaskspb.Task, error) {
	w, about := s.in.world, "get "+req.GetName()[len(queueName)+7:][:12]
	w.count("get")
	w.count(QueueCalls)
	if err := s.read(ctx, about); err != nil {
		return nil, err
	}
	if w.has(LookSkipped) {
		return nil, errNoQueue
	}
	if w.has(NoDriving) {
		return nil, errBroken
	}
	w.queue.mu.Lock()
	task, err := w.queue.engine.GetTask(time.Now(), req.GetName(), req.GetResponseView())
	w.queue.mu.Unlock()
	if err == nil && time.Since(task.GetCreateTime().AsTime()) < staleness && w.strike("stale read", about, w.faults().ReadStale) {
		task, err = nil, errNoTask
	}
	r := w.dice.roll("queue latency", about)
	if perr := pass(ctx, r.span(5*time.Millisecond, 20*time.Millisecond)); perr != nil {
		return nil, status.FromContextError(perr).Err()
	}
	s.in.alive(about)
	return task, err
}

// GetQueue is cloudtasks.Client's.
func (s *service) GetQueue(ctx context.Context, _ *cloudtaskspb.GetQueueRequest, _ ...gax.CallOption) (*cloudtaskspb.Queue, error) {
	s.in.world.count(QueueCalls)
	if err := s.read(ctx, "get queue"); err != nil {
		return nil, err
	}
	return &cloudtaskspb.Queue{Name: queueName, State: cloudtaskspb.Queue_RUNNING}, nil
}

func (s *service) read(ctx context.Context, about string) error {
	s.in.world.steps.Add(1)
	r := s.in.world.dice.roll("queue latency", about)
	if err := pass(ctx, r.span(5*time.Millisecond, 20*time.Millisecond)); err != nil {
		return status.FromContextError(err).Err()
	}
	s.in.trouble(about)
	if s.in.world.strike("read fails", about, s.in.world.faults().ReadFails) {
		return errBroken
	}
	return nil
}
