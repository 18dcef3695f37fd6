package policy

import (
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Names below are in lower case; one that ends in a star stands for all that
// begin like it.
var (
	// framing belongs to one connection or one message, never to the next.
	framing = []string{
		"connection", "content-length", "host", "keep-alive", "proxy-*", "te", "trailer", "transfer-encoding", "upgrade",
	}
	// ours are set by Seriatim itself on every call.
	ours = []string{
		"content-encoding", "content-type", "idempotency-key", "seriatim-*", "traceparent", "tracestate", "webhook-*",
	}
	// private tell about the caller's session with Google or with us, and are
	// none of a target's business.
	private = []string{
		"authorization", "cookie", "forwarded*", "x-cloudtasks-*", "x-forwarded-*", "x-goog*", "x-serverless-authorization",
	}
	// cached are answered from the cache: an origin that saw them would answer
	// with a part, or with nothing.
	cached = []string{"if-*", "range"}
	// credentials are headers whose values must not stand in a document.
	credentials = []string{"authorization", "cookie", "*api-key*", "*password*", "*secret*", "*token*"}
)

func among(patterns []string, name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// headers reads a mapping of headers to send. Messages never quote a value.
func (o object) headers(name string) map[string]string {
	v, ok := o.take(name)
	if !ok {
		return nil
	}
	fields, ok := v.object()
	if !ok {
		return nil
	}
	all := make(map[string]string, len(fields.names))
	for _, name := range fields.names {
		field := fields.fields[name]
		canonical := http.CanonicalHeaderKey(name)
		if _, twice := all[canonical]; twice {
			field.fault("is given more than once: the case of a header's name does not matter")
		}
		all[canonical] = field.header(name)
	}
	return all
}

func (v value) header(name string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		v.fault("is not the name of a header")
	case among(framing, name):
		v.fault("belongs to the connection and cannot be set")
	case among(ours, name):
		v.fault("is set by Seriatim itself")
	}
	t, ok := v.text()
	switch {
	case !ok:
	case !httpguts.ValidHeaderFieldValue(t.s):
		t.fault("holds a character that no header may have, such as a line break")
	case among(credentials, name):
		v.d.refuseLiteral(t)
	}
	return t.s
}

// headerNames reads a list of the client's headers to pass on.
func (o object) headerNames(name string) []string {
	items, ok := o.texts(name)
	if !ok {
		return nil
	}
	names := make([]string, len(items))
	for i, t := range items {
		names[i] = http.CanonicalHeaderKey(t.s)
		switch {
		case t.s == "":
		case !httpguts.ValidHeaderFieldName(t.s):
			t.fault("%v is not the name of a header", t)
		case among(framing, t.s) || among(private, t.s):
			t.fault("%v is never forwarded", t)
		case among(ours, t.s):
			t.fault("%v is set by Seriatim itself", t)
		case slices.Contains(names[:i], names[i]):
			t.fault("%v is listed already", t)
		}
	}
	return names
}

// checkVary reports headers of the client's that a read of r cannot pass on.
func (o object) checkVary(r *Origin) {
	for i, name := range r.Vary {
		path := index(o.child("vary"), i)
		if _, ok := r.Headers[name]; ok {
			o.d.fault(path, "%q is in headers too: remove one", name)
		}
		if among(cached, name) {
			o.d.fault(path, "%q is answered by Seriatim itself", name)
		}
	}
}

// checkHeaders reports headers that two settings of t would both set.
func (o object) checkHeaders(t *Target) {
	if _, ok := t.Headers["Authorization"]; ok && t.Audience != "" {
		o.d.fault(o.child("audience"), "sends an OIDC token as Authorization, which headers sets too: remove one")
	}
	for i, name := range t.Forward {
		if _, ok := t.Headers[name]; ok {
			o.d.fault(index(o.child("forward"), i), "%q is in headers too: remove one", name)
		}
	}
}
