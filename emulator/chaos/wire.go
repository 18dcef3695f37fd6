package chaos

import (
	"encoding/json"
	"strings"
)

// problemOf is the name of a problem of ours.
func problemOf(body string) string {
	var p struct{ Type string }
	_ = json.Unmarshal([]byte(body), &p)
	return p.Type[strings.LastIndexByte(p.Type, ':')+1:]
}

// state is what a request's state says.
type state struct {
	Status   string
	Started  string
	Attempts int
	Error    struct{ Reason, Detail string }
}
