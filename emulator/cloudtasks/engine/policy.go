package engine

import (
	"slices"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/protobuf/proto"
)

// Policy returns the IAM policy of a queue, an empty one where none is set.
// The answer must not be changed.
func (e *Engine) Policy(queue string) (*iampb.Policy, error) {
	q, err := e.find(queue)
	if err != nil {
		return nil, err
	}
	if q.policy == nil {
		return &iampb.Policy{}, nil
	}
	return q.policy, nil
}

// SetPolicy stores the IAM policy of a queue; nothing enforces it.
func (e *Engine) SetPolicy(queue string, p *iampb.Policy) (*iampb.Policy, error) {
	q, err := e.find(queue)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, invalid("policy is required.")
	}
	q.policy = proto.CloneOf(p)
	return q.policy, nil
}

// Locations returns the names of the locations of a project ("projects/P") in
// which there are queues, sorted.
func (e *Engine) Locations(project string) []string {
	var names []string
	for name := range e.queues {
		if location, _, _ := strings.Cut(name, "/queues/"); strings.HasPrefix(location, project+"/locations/") {
			names = append(names, location)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
