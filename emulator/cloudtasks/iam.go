package cloudtasks

import (
	"context"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/genproto/googleapis/cloud/location"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatim/seriatim/emulator/cloudtasks/engine"
)

// GetIamPolicy returns what SetIamPolicy stored, else an empty policy.
func (s *service) GetIamPolicy(_ context.Context, r *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	return call(s.runner, func(e *engine.Engine, _ time.Time) (*iampb.Policy, error) { return e.Policy(r.GetResource()) })
}

// SetIamPolicy stores a policy that nothing enforces.
func (s *service) SetIamPolicy(_ context.Context, r *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	return call(s.runner, func(e *engine.Engine, _ time.Time) (*iampb.Policy, error) {
		return e.SetPolicy(r.GetResource(), r.GetPolicy())
	})
}

// TestIamPermissions grants everything on a queue that exists, nothing else.
func (s *service) TestIamPermissions(_ context.Context, r *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	_, err := call(s.runner, func(e *engine.Engine, _ time.Time) (*cloudtaskspb.Queue, error) { return e.GetQueue(r.GetResource()) })
	switch status.Code(err) {
	case codes.OK:
		return &iampb.TestIamPermissionsResponse{Permissions: r.GetPermissions()}, nil
	case codes.NotFound:
		return &iampb.TestIamPermissionsResponse{}, nil
	default:
		return nil, err
	}
}

// encryption remembers the CMEK configuration of each location; nothing is
// encrypted with it.
type encryption struct {
	mu  sync.Mutex
	key map[string]string // by configuration name
}

const configSuffix = "/cmekConfig"

// GetCmekConfig returns what UpdateCmekConfig stored, else no key.
func (s *service) GetCmekConfig(_ context.Context, r *cloudtaskspb.GetCmekConfigRequest) (*cloudtaskspb.CmekConfig, error) {
	if err := checkCmekName(r.GetName()); err != nil {
		return nil, err
	}
	s.cmek.mu.Lock()
	defer s.cmek.mu.Unlock()
	return &cloudtaskspb.CmekConfig{Name: r.GetName(), KmsKey: s.cmek.key[r.GetName()]}, nil
}

// UpdateCmekConfig stores the key's name, or forgets it where it is blank.
func (s *service) UpdateCmekConfig(_ context.Context, r *cloudtaskspb.UpdateCmekConfigRequest) (*cloudtaskspb.CmekConfig, error) {
	name := r.GetCmekConfig().GetName()
	if err := checkCmekName(name); err != nil {
		return nil, err
	}
	for _, path := range r.GetUpdateMask().GetPaths() {
		if path != "kms_key" && path != "kmsKey" {
			return nil, status.Errorf(codes.InvalidArgument, "Invalid update_mask: %q cannot be updated, only kms_key.", path)
		}
	}
	s.cmek.mu.Lock()
	defer s.cmek.mu.Unlock()
	s.cmek.key[name] = r.GetCmekConfig().GetKmsKey()
	return &cloudtaskspb.CmekConfig{Name: name, KmsKey: s.cmek.key[name]}, nil
}

func checkCmekName(name string) error {
	location, ok := strings.CutSuffix(name, configSuffix)
	if !ok {
		return status.Error(codes.InvalidArgument, `CMEK config name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/cmekConfig".`)
	}
	return engine.CheckLocation(location)
}

// locations answers that every well-formed location is there.
type locations struct {
	location.UnimplementedLocationsServer
	runner *runner
}

// GetLocation returns any location that is well-formed.
func (l *locations) GetLocation(_ context.Context, r *location.GetLocationRequest) (*location.Location, error) {
	if err := engine.CheckLocation(r.GetName()); err != nil {
		return nil, err
	}
	return &location.Location{Name: r.GetName(), LocationId: r.GetName()[strings.LastIndexByte(r.GetName(), '/')+1:]}, nil
}

// ListLocations returns the locations of a project that have queues.
func (l *locations) ListLocations(_ context.Context, r *location.ListLocationsRequest) (*location.ListLocationsResponse, error) {
	response := &location.ListLocationsResponse{}
	l.runner.do(func(e *engine.Engine, _ time.Time) {
		for _, name := range e.Locations(r.GetName()) {
			response.Locations = append(response.Locations, &location.Location{Name: name, LocationId: name[strings.LastIndexByte(name, '/')+1:]})
		}
	})
	return response, nil
}
