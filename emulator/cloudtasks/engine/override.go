package engine

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
)

var schemes = map[cloudtaskspb.UriOverride_Scheme]string{
	cloudtaskspb.UriOverride_SCHEME_UNSPECIFIED: "https",
	cloudtaskspb.UriOverride_HTTP:               "http",
	cloudtaskspb.UriOverride_HTTPS:              "https",
}

// overrideURL applies a queue's URI override to a task's URL. With
// IF_NOT_EXISTS it fills only what the URL leaves out. A URL that cannot be
// parsed stays as it is: its attempt fails.
func overrideURL(raw string, o *cloudtaskspb.UriOverride) string {
	if o == nil {
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	always := o.GetUriOverrideEnforceMode() != cloudtaskspb.UriOverride_IF_NOT_EXISTS
	switch {
	case o.Scheme == nil && u.Scheme == "":
		u.Scheme = "https"
	case o.Scheme != nil && (always || u.Scheme == ""):
		u.Scheme = schemes[o.GetScheme()]
	}
	overrideHost(u, o, always)
	if o.PathOverride != nil && (always || u.Path == "" || u.Path == "/") {
		setPath(u, o.GetPathOverride().GetPath())
	}
	if o.QueryOverride != nil && (always || u.RawQuery == "") {
		u.RawQuery = o.GetQueryOverride().GetQueryParams()
	}
	return u.String()
}

// overrideHost replaces host and port, each apart from the other. Port 0 takes
// the port away.
func overrideHost(u *url.URL, o *cloudtaskspb.UriOverride, always bool) {
	host, port := u.Hostname(), u.Port()
	if o.Host != nil && (always || host == "") {
		host = o.GetHost()
	}
	if o.Port != nil && (always || port == "") {
		port = strconv.FormatInt(o.GetPort(), 10)
	}
	switch {
	case port != "" && port != "0":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"): // IPv6
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
}

// setPath takes an escaped or a plain path.
func setPath(u *url.URL, path string) {
	u.Path, u.RawPath = path, ""
	if unescaped, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = unescaped, path
	}
}
