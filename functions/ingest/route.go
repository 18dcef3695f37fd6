package ingest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seriatim/seriatim/shared/problem"
)

// route is one call of the API. Its segments are the path's, where {name} stands for any one and {name...} for all that
// follow.
type route struct {
	method   string
	pattern  string
	segments []string
	serve    func(*call) error
}

var routes = compile(map[string]func(*call) error{
	"POST /v1/lanes/{key}/requests":                  (*call).submit,
	"GET /v1/lanes/{key}/requests":                   (*call).requests,
	"GET /v1/lanes/{key}/requests/{id}":              (*call).request,
	"DELETE /v1/lanes/{key}/requests/{id}":           (*call).cancel,
	"GET /v1/lanes/{key}/requests/{id}/result":       (*call).result,
	"POST /v1/lanes/{key}/requests/{id}/skip":        (*call).skip,
	"POST /v1/lanes/{key}/requests/{id}/resolve":     (*call).resolve,
	"GET /v1/lanes/{key}":                            (*call).laneState,
	"GET /v1/lanes/{key}/journal":                    (*call).journal,
	"POST /v1/lanes/{key}/pause":                     (*call).pause,
	"POST /v1/lanes/{key}/resume":                    (*call).resume,
	"POST /v1/lanes/{key}/purge":                     (*call).purge,
	"GET /v1/lanes/{key}/dead-letters":               (*call).deadLetters,
	"POST /v1/lanes/{key}/dead-letters/redrive":      (*call).redriveAll,
	"POST /v1/lanes/{key}/dead-letters/{id}/redrive": (*call).redrive,
	"POST /v1/targets/{name}/pause":                  (*call).pauseTarget,
	"POST /v1/targets/{name}/resume":                 (*call).resumeTarget,
	"GET /v1/fetch/{origin}/{path...}":               (*call).fetch,
	"DELETE /v1/fetch/{origin}/{path...}":            (*call).forget,
	"GET /v1/health":                                 (*call).healthState,
})

func compile(table map[string]func(*call) error) []route {
	list := make([]route, 0, len(table))
	for line, serve := range table {
		method, pattern, _ := strings.Cut(line, " ")
		list = append(list, route{method: method, pattern: pattern, segments: strings.Split(pattern, "/"), serve: serve})
	}
	return list
}

// match compares path segments, still percent-encoded, and returns those that wildcards stand for.
func (rt route) match(path []string) (args map[string]string, ok bool) {
	args = map[string]string{}
	for i, want := range rt.segments {
		switch {
		case strings.HasSuffix(want, "...}"):
			return args, i < len(path)
		case i >= len(path):
			return nil, false
		case strings.HasPrefix(want, "{"):
			args[strings.Trim(want, "{}")] = path[i]
		case want != path[i]:
			return nil, false
		}
	}
	return args, len(path) == len(rt.segments)
}

// find returns the route of r. It is no http.ServeMux, whose 404 and 405 are no problem details, and which cannot tell a
// "%2F" from "/" where the path holds another character that ought to be encoded. The error is a problem; for a wrong method
// allow is the header that goes with it.
func find(r *http.Request) (rt route, args map[string]string, allow string, err error) {
	path := strings.Split(wirePath(r.URL), "/")
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for _, rt := range routes {
		args, ok := rt.match(path)
		switch {
		case !ok:
		case rt.method == method:
			return rt, args, "", nil
		case rt.method == http.MethodGet:
			allowed = append(allowed, http.MethodGet, http.MethodHead)
		default:
			allowed = append(allowed, rt.method)
		}
	}
	if len(allowed) == 0 {
		return route{}, nil, "", problem.New(problem.NoRoute,
			`No call of this API has such a path. A "/" in a key is sent as %2F.`)
	}
	slices.Sort(allowed)
	allow = strings.Join(allowed, ", ")
	return route{}, nil, allow, problem.New(problem.MethodNotAllowed, "This path knows only "+allow+".")
}

// wirePath is the path as it was sent. URL.EscapedPath would decode and encode it anew where it holds a character that ought
// to be encoded, such as "{", and then a "%2F" is a "/".
func wirePath(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}
