package problem

import (
	"net/http"
	"time"
)

// Name is the last part of a problem's type, stable for clients to act on.
// As an error it matches, with errors.Is, every [*Error] of that name.
type Name string

// The problems of API.md section 1, and Internal.
const (
	MalformedKey        Name = "malformed-key"
	MalformedHeader     Name = "malformed-header"
	Forbidden           Name = "forbidden"
	NoRoute             Name = "no-route"
	NoLanePolicy        Name = "no-lane-policy"
	UnknownTarget       Name = "unknown-target"
	UnknownRequest      Name = "unknown-request"
	MethodNotAllowed    Name = "method-not-allowed"
	DeadlineUnreachable Name = "deadline-unreachable"
	NotFinished         Name = "not-finished"
	Conflict            Name = "conflict"
	Cancelled           Name = "cancelled"
	BodyTooLarge        Name = "body-too-large"
	KeyReused           Name = "key-reused"
	LaneFull            Name = "lane-full"
	TargetFailed        Name = "target-failed"
	TargetTimeout       Name = "target-timeout"
	Unavailable         Name = "unavailable"
	Starting            Name = "starting"
	OutcomeUnknown      Name = "outcome-unknown"

	// Internal is every error that nobody made a problem of: a fault of ours.
	Internal Name = "internal"
)

// URI is the problem's type.
func (n Name) URI() string { return "urn:seriatim:problem:" + string(n) }

// Error is the name.
func (n Name) Error() string { return string(n) }

// kind holds what all problems of a name share. A retry above zero means that
// API.md promises Retry-After, also when the code that failed knows no time.
type kind struct {
	status int
	title  string
	retry  time.Duration
}

var kinds = map[Name]kind{
	MalformedKey:        {http.StatusBadRequest, "The key is malformed", 0},
	MalformedHeader:     {http.StatusBadRequest, "A request header is malformed", 0},
	Forbidden:           {http.StatusForbidden, "The caller may not do this", 0},
	NoRoute:             {http.StatusNotFound, "There is no such route", 0},
	NoLanePolicy:        {http.StatusNotFound, "No lane policy matches the key", 0},
	UnknownTarget:       {http.StatusNotFound, "There is no such target", 0},
	UnknownRequest:      {http.StatusNotFound, "There is no such request", 0},
	MethodNotAllowed:    {http.StatusMethodNotAllowed, "The route does not know this method", 0},
	DeadlineUnreachable: {http.StatusConflict, "The deadline cannot be met", 0},
	NotFinished:         {http.StatusConflict, "The request is not finished", time.Second},
	Conflict:            {http.StatusConflict, "The state does not allow this", 0},
	Cancelled:           {http.StatusGone, "The request was cancelled", 0},
	BodyTooLarge:        {http.StatusRequestEntityTooLarge, "The body is too large", 0},
	KeyReused:           {http.StatusUnprocessableEntity, "The idempotency key belongs to another request", 0},
	LaneFull:            {http.StatusTooManyRequests, "The lane is full", time.Second},
	TargetFailed:        {http.StatusBadGateway, "The target failed", 0},
	TargetTimeout:       {http.StatusGatewayTimeout, "The target did not answer in time", 0},
	Unavailable:         {http.StatusServiceUnavailable, "A dependency is out of reach", time.Second},
	Starting:            {http.StatusServiceUnavailable, "The service is starting", time.Second},
	OutcomeUnknown:      {http.StatusServiceUnavailable, "It is unknown whether the request was queued", time.Second},
	Internal:            {http.StatusInternalServerError, "Something unexpected went wrong", 0},
}
