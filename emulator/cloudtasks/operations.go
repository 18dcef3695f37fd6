package cloudtasks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// maxOperations bounds how many finished operations are remembered.
const maxOperations = 10000

var errOperationMissing = status.Error(codes.NotFound, "Operation not found: it may be too old, only the latest ones are kept.")

// operations remembers the results of batch calls, which are done by the time
// they are answered.
type operations struct {
	longrunningpb.UnimplementedOperationsServer

	mu     sync.Mutex
	byName map[string]*longrunningpb.Operation
	order  []string // oldest first
}

var _ longrunningpb.OperationsServer = (*operations)(nil)

func newOperations() *operations {
	return &operations{byName: map[string]*longrunningpb.Operation{}}
}

// once runs perform, unless a call with the same parent, method and request ID
// has done so: then its operation is the answer. No two run at once.
func (o *operations) once(parent, method, requestID string, perform func() (*longrunningpb.Operation, error)) (*longrunningpb.Operation, error) {
	if requestID == "" {
		requestID = rand.Text()
	}
	sum := sha256.Sum256([]byte(parent + "\x00" + method + "\x00" + requestID))
	location, _, _ := strings.Cut(parent, "/queues/")
	name := location + "/operations/" + hex.EncodeToString(sum[:16])
	o.mu.Lock()
	defer o.mu.Unlock()
	if done := o.byName[name]; done != nil {
		return done, nil
	}
	operation, err := perform()
	if err != nil {
		return nil, err
	}
	operation.Name, operation.Done = name, true
	o.byName[name] = operation
	if o.order = append(o.order, name); len(o.order) > maxOperations {
		delete(o.byName, o.order[0])
		o.order = o.order[1:]
	}
	return operation, nil
}

func (o *operations) find(name string) (*longrunningpb.Operation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if operation := o.byName[name]; operation != nil {
		return operation, nil
	}
	return nil, errOperationMissing
}

// GetOperation returns a finished operation.
func (o *operations) GetOperation(_ context.Context, r *longrunningpb.GetOperationRequest) (*longrunningpb.Operation, error) {
	return o.find(r.GetName())
}

// WaitOperation returns at once: every operation is finished.
func (o *operations) WaitOperation(_ context.Context, r *longrunningpb.WaitOperationRequest) (*longrunningpb.Operation, error) {
	return o.find(r.GetName())
}

// CancelOperation changes nothing: every operation is finished.
func (o *operations) CancelOperation(_ context.Context, r *longrunningpb.CancelOperationRequest) (*emptypb.Empty, error) {
	_, err := o.find(r.GetName())
	return &emptypb.Empty{}, err
}
