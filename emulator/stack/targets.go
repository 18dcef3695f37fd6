package stack

import (
	"encoding/json"
	"net/http"
)

// targetState is one target of a lane, as GET /console/api/targets?key= lists them.
type targetState struct {
	Name   string `json:"name"`
	Paused bool   `json:"paused"`
}

// targets answers which targets the requests of a lane may go to. The API does not tell: only the configuration does.
func (s *Stack) targets(w http.ResponseWriter, r *http.Request) {
	p := s.Parts[0]
	list := []targetState{}
	if lane, ok := p.Config.Policy.Lane(r.URL.Query().Get("key")); ok {
		for _, name := range lane.Targets {
			list = append(list, targetState{Name: name, Paused: p.PausedTargets.Has(r.Context(), name)})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}
