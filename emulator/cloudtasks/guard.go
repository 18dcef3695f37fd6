package cloudtasks

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard refuses requests that a web page of another site makes a browser send:
// those whose Host or Origin is not a name of this machine. A listener on
// loopback alone does not stop them (DNS rebinding).
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch origin := r.Header.Get("Origin"); {
		case !isLocal(r.Host):
			refuse(w, "Host", r.Host)
		case origin != "" && !isLocalOrigin(origin):
			refuse(w, "Origin", origin)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, header, value string) {
	writeRESTError(w, http.StatusForbidden, restError{
		Message: "header " + header + " names " + strings.ToValidUTF8(value, "?") + ", which is not this machine: use localhost or 127.0.0.1",
		Status:  "PERMISSION_DENIED",
	})
}

// isLocal reports a host, with or without a port, that is this machine.
func isLocal(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func isLocalOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && isLocal(u.Host)
}
