package cloudtasks

import (
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"connectrpc.com/vanguard/vanguardgrpc"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// systemParameters are query parameters that every Google API takes; they are
// of no field and mean nothing here.
var systemParameters = []string{
	"alt", "$alt", "prettyPrint", "$prettyPrint", "quotaUser", "key", "fields", "$fields", "$xgafv",
	"access_token", "oauth_token", "callback", "upload_protocol", "uploadType", "userIp",
}

// newREST transcodes REST with JSON to the gRPC server, by the HTTP
// annotations of the API. Of the services that all Google APIs share it adds
// the paths that they have in Cloud Tasks v2.
func newREST(server *grpc.Server) (http.Handler, error) {
	rule := func(selector, get string) *annotations.HttpRule {
		return &annotations.HttpRule{Selector: selector, Pattern: &annotations.HttpRule_Get{Get: get}}
	}
	transcoder, err := vanguardgrpc.NewTranscoder(server,
		vanguard.WithCodec(func(r vanguard.TypeResolver) vanguard.Codec {
			return jsonCodec{vanguard.JSONCodec{
				MarshalOptions:   protojson.MarshalOptions{Resolver: r},
				UnmarshalOptions: protojson.UnmarshalOptions{Resolver: r},
			}}
		}),
		vanguard.WithRules(
			rule("google.longrunning.Operations.GetOperation", "/v2/{name=projects/*/locations/*/operations/*}"),
			rule("google.cloud.location.Locations.GetLocation", "/v2/{name=projects/*/locations/*}"),
			rule("google.cloud.location.Locations.ListLocations", "/v2/{name=projects/*}/locations"),
		),
		vanguard.WithDefaultServiceOptions(vanguard.WithMaxMessageBufferBytes(maxMessage)),
	)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &errorWriter{ResponseWriter: w}
		transcoder.ServeHTTP(answer, withJSON(withoutSystemParameters(r)))
		answer.finish()
	}), nil
}

// jsonCodec says that bad JSON is the client's fault.
type jsonCodec struct{ vanguard.JSONCodec }

var _ vanguard.RESTCodec = jsonCodec{}

func (c jsonCodec) Unmarshal(data []byte, m proto.Message) error {
	return badJSON(c.JSONCodec.Unmarshal(data, m))
}

func (c jsonCodec) UnmarshalField(data []byte, m proto.Message, field protoreflect.FieldDescriptor) error {
	return badJSON(c.JSONCodec.UnmarshalField(data, m, field))
}

func badJSON(err error) error {
	if err == nil {
		return nil
	}
	return connect.NewError(connect.CodeInvalidArgument, err)
}

// withoutSystemParameters is r with only the parameters that are fields.
func withoutSystemParameters(r *http.Request) *http.Request {
	if r.URL.RawQuery == "" {
		return r
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return r // the transcoder refuses it
	}
	for _, name := range systemParameters {
		query.Del(name)
	}
	r = r.Clone(r.Context())
	r.URL.RawQuery = query.Encode()
	return r
}

// withJSON takes every body for JSON where the client does not say otherwise:
// a plain `curl -d` says "form".
func withJSON(r *http.Request) *http.Request {
	switch kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind {
	case "", "application/x-www-form-urlencoded", "text/plain":
		r = r.Clone(r.Context())
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}
