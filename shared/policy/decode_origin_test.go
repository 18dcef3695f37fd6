package policy_test

import "testing"

func TestOriginFaults(t *testing.T) {
	t.Parallel()
	wantFaults(t, shortest+`
origins:
  o: {url: "http://o", headers: {x-team: blue}, vary: [X-Team, Range, If-None-Match, Cookie, Authorization, Accept]}
`, []string{
		`origins.o.vary[3]: "Cookie" is never forwarded`,
		`origins.o.vary[4]: "Authorization" is never forwarded`,
		`origins.o.vary[0]: "X-Team" is in headers too: remove one`,
		`origins.o.vary[1]: "Range" is answered by Seriatim itself`,
		`origins.o.vary[2]: "If-None-Match" is answered by Seriatim itself`,
	})
}
