// Package openapitest holds the API description, functions/ingest/openapi.yaml, against what ingest answers: tests put a
// Handler or a Transport of this package between ingest and its callers, and fail with every answer that does not match.
//
// Beyond the statuses, headers and bodies that the description has, an answer may have no header that it has not, but where an
// origin's are passed on; and a request that the description does not allow may not succeed.
package openapitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Document returns the API description, read and checked against the OpenAPI Specification once.
var Document = sync.OnceValues(func() (*openapi3.T, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(root, "functions", "ingest", "openapi.yaml"))
	if err != nil {
		return nil, fmt.Errorf("load the API description: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("the API description: %w", err)
	}
	return doc, nil
})

// moduleRoot is above the folder that a test runs in, its package's.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the API description: no go.mod above the working directory")
		}
	}
	return "", fmt.Errorf("find the API description: %w", err)
}

// Check fails t unless the answer to r matches the description. It does not read r's body; sent is what was.
func Check(t testing.TB, r *http.Request, sent []byte, status int, header http.Header, body []byte) {
	t.Helper()
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	if err := check(doc, r, sent, status, header, body); err != nil {
		t.Errorf("functions/ingest/openapi.yaml does not know this answer: %s %s, answered %d\n%v\nheader %v\nbody %.2000s",
			r.Method, r.URL.RequestURI(), status, err, header, body)
	}
}

func check(doc *openapi3.T, r *http.Request, sent []byte, status int, header http.Header, body []byte) error {
	route, params := find(doc, r)
	again := r.Clone(context.Background())
	again.Body = io.NopCloser(bytes.NewReader(sent))
	if body := route.Operation.RequestBody; body != nil && body.Value.Content["application/json"] != nil {
		again.Header.Set("Content-Type", "application/json") // ingest reads what it is, whatever curl -d says
	}
	options := &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	request := &openapi3filter.RequestValidationInput{
		Request: again, PathParams: params, QueryParams: r.URL.Query(), Route: route, Options: options,
	}
	if status < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(context.Background(), request); err != nil {
			return fmt.Errorf("the request is not allowed, yet it succeeded: %w", err)
		}
	}
	if err := declared(route, status, header); err != nil {
		return err
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request, Status: status, Header: header, Options: options, Body: io.NopCloser(bytes.NewReader(body)),
	})
}

// find returns the operation of r and its path's parameters. It is no router of the library's: those take a "%2F" for "/", and
// know no parameter that holds one. Where there is none, every operation of the path answers, else that of health.
func find(doc *openapi3.T, r *http.Request) (*routers.Route, map[string]string) {
	wire := r.URL.RawPath
	if wire == "" {
		wire = r.URL.EscapedPath()
	}
	route := &routers.Route{Spec: doc, Method: r.Method}
	for path, item := range doc.Paths.Map() {
		params, ok := match(path, wire)
		if !ok {
			continue
		}
		operations := item.Operations()
		route.Path, route.PathItem, route.Operation = path, item, operations[r.Method]
		if route.Operation == nil && r.Method == http.MethodHead {
			route.Operation = operations[http.MethodGet]
		}
		if route.Operation == nil {
			for _, any := range operations {
				route.Operation = any
			}
		}
		return route, params
	}
	route.Path, route.PathItem = "/v1/health", doc.Paths.Value("/v1/health")
	route.Operation = route.PathItem.Get
	return route, nil
}

// match compares segment by segment; the path below an origin is all that follows.
func match(pattern, wire string) (map[string]string, bool) {
	want := strings.Split(pattern, "/")
	got := strings.Split(wire, "/")
	if strings.HasPrefix(pattern, "/v1/fetch/") {
		got = strings.SplitN(wire, "/", len(want))
	}
	if len(got) != len(want) {
		return nil, false
	}
	params := map[string]string{}
	for i, segment := range want {
		if !strings.HasPrefix(segment, "{") {
			if segment != got[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(got[i])
		if err != nil {
			value = got[i]
		}
		if value == "" && strings.HasPrefix(pattern, "/v1/fetch/") {
			value = "/" // the URL itself: the library takes an empty parameter for none
		}
		params[strings.Trim(segment, "{}")] = value
	}
	return params, true
}

// framing are the headers of every HTTP message that has a body.
var framing = []string{"Content-Type", "Content-Length", "Content-Encoding", "Date", "X-Cloud-Trace-Context"}

// declared says which header of the answer the description does not have.
func declared(route *routers.Route, status int, header http.Header) error {
	response := route.Operation.Responses.Status(status)
	if response == nil {
		response = route.Operation.Responses.Default()
	}
	if response == nil || strings.HasPrefix(route.Path, "/v1/fetch/") {
		return nil // the library says so; an origin's headers are its own
	}
	known := slices.AppendSeq(slices.Clone(framing), maps.Keys(response.Value.Headers))
	for name := range header {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			return fmt.Errorf("header %s is not declared for status %d", name, status)
		}
	}
	return nil
}
