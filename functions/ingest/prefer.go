package ingest

import (
	"errors"
	"strings"

	"golang.org/x/net/http/httpguts"
)

var errPrefer = errors.New(`malformed Prefer header: it is a list of preferences such as respond-async or name="value", with every quote closed`)

// parsePrefer returns the names of the preferences in the values of Prefer headers, in lower case (RFC 7240). Their values
// and parameters are not needed: a preference that this code does not know is ignored, as the RFC demands. The error is
// errPrefer. It is not read as a structured field, which knows no upper case and no white space around "=".
func parsePrefer(values []string) (map[string]bool, error) {
	elements, err := splitUnquoted(strings.Join(values, ","), ',')
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, element := range elements {
		preference, _, _ := strings.Cut(element, ";")
		name, _, assigned := strings.Cut(preference, "=")
		name = strings.ToLower(strings.Trim(name, " \t"))
		switch {
		case httpguts.ValidHeaderFieldName(name): // a token
			names[name] = true
		case name != "" || assigned:
			return nil, errPrefer
		}
	}
	return names, nil
}

// splitUnquoted splits s at every sep outside a quoted string.
func splitUnquoted(s string, sep byte) ([]string, error) {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case quoted && s[i] == '\\':
			i++
		case !quoted && s[i] == sep:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	if quoted {
		return nil, errPrefer
	}
	return append(parts, s[from:]), nil
}
