package ingest

import (
	"errors"
	"strings"

	"golang.org/x/net/http/httpguts"
)

var errPrefer = errors.New(`malformed Prefer header: it is a list of preferences such as respond-async or name="value", with every quote closed`)

// preferences are those of a request by name, in lower case, with their values, in quotes where they came so.
type preferences map[string]string

func (p preferences) has(name string) bool { _, ok := p[name]; return ok }

// parsePrefer reads the values of Prefer headers (RFC 7240). Parameters are not needed, and a preference that this code does
// not know is ignored, as the RFC demands; of one that is repeated the first counts. The error is errPrefer. It is not read as
// a structured field, which knows no upper case and no white space around "=".
func parsePrefer(values []string) (preferences, error) {
	elements, err := splitUnquoted(strings.Join(values, ","), ',')
	if err != nil {
		return nil, err
	}
	list := preferences{}
	for _, element := range elements {
		preference, _, _ := strings.Cut(element, ";")
		name, value, assigned := strings.Cut(preference, "=")
		name = strings.ToLower(strings.Trim(name, " \t"))
		switch {
		case httpguts.ValidHeaderFieldName(name): // a token
			if !list.has(name) {
				list[name] = strings.Trim(value, " \t")
			}
		case name != "" || assigned:
			return nil, errPrefer
		}
	}
	return list, nil
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
