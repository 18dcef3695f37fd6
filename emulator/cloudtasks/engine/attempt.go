package engine

import (
	"fmt"
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
)

// Attempt is one sending of a task to its target.
type Attempt struct {
	Task     string // full name
	Request  Request
	Started  time.Time
	Deadline time.Time // from then on the engine counts it as 504

	task      *task
	scheduled time.Time
	forced    bool // by RunTask
	index     int  // in the engine's running heap
	ended     bool
}

// Request is what an attempt sends. Nothing in it may be changed.
type Request struct {
	Method string
	URL    string
	Header http.Header // exact case; Authorization is missing while Token is set
	Body   []byte
	Token  *Token // what to put into Authorization, or nil
}

// Token asks for an Authorization header.
type Token struct {
	Email    string // service account
	Audience string // of an OIDC token; "" asks for an OAuth token
	Scope    string // of an OAuth token
}

// Result is how an attempt ended.
type Result struct {
	Status     int           // HTTP status, 0 when there was no response
	RetryAfter time.Duration // the response's Retry-After, 0 for none; counted up to an hour
}

// Step is what [Engine.Advance] asks the caller to do.
type Step struct {
	Start  []*Attempt // send these, and give each to Finish
	Cancel []*Attempt // stop these, they ran past their deadline; their Finish counts for nothing
}

// maxRetryAfter bounds how long one response can hold a task back.
const maxRetryAfter = time.Hour

// outcome is a Result, or the deadline.
type outcome struct {
	status     int
	answered   bool // by the target
	retryAfter time.Duration
}

var timedOut = outcome{status: http.StatusGatewayTimeout}

func outcomeOf(r Result) outcome {
	return outcome{status: r.Status, answered: r.Status != 0, retryAfter: min(max(0, r.RetryAfter), maxRetryAfter)}
}

func (o outcome) ok() bool { return o.status >= 200 && o.status <= 299 }

// overload reports the statuses that slow the whole queue; App Engine's 429 does not.
func (o outcome) overload(appEngine bool) bool {
	return o.status == http.StatusServiceUnavailable || o.status == http.StatusTooManyRequests && !appEngine
}

// codeOfStatus maps HTTP to gRPC, as google.rpc.Code documents it.
var codeOfStatus = map[int]code.Code{
	http.StatusBadRequest:                   code.Code_INVALID_ARGUMENT,
	http.StatusUnauthorized:                 code.Code_UNAUTHENTICATED,
	http.StatusForbidden:                    code.Code_PERMISSION_DENIED,
	http.StatusNotFound:                     code.Code_NOT_FOUND,
	http.StatusConflict:                     code.Code_ABORTED,
	http.StatusRequestedRangeNotSatisfiable: code.Code_OUT_OF_RANGE,
	http.StatusTooManyRequests:              code.Code_RESOURCE_EXHAUSTED,
	499:                                     code.Code_CANCELLED,
	http.StatusInternalServerError:          code.Code_INTERNAL,
	http.StatusNotImplemented:               code.Code_UNIMPLEMENTED,
	http.StatusServiceUnavailable:           code.Code_UNAVAILABLE,
	http.StatusGatewayTimeout:               code.Code_DEADLINE_EXCEEDED,
}

// rpc is the outcome as Attempt.response_status.
func (o outcome) rpc() *status.Status {
	switch c, known := codeOfStatus[o.status]; {
	case o.ok():
		return &status.Status{}
	case o.status == 0:
		return &status.Status{Code: int32(code.Code_UNAVAILABLE), Message: "the target could not be reached"}
	case known:
		return &status.Status{Code: int32(c), Message: fmt.Sprintf("%s(%d): HTTP status code %d", c, c, o.status)}
	default:
		return &status.Status{Code: int32(code.Code_UNKNOWN), Message: fmt.Sprintf("HTTP status code %d", o.status)}
	}
}
