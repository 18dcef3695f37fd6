package ingest_test

import (
	"strings"
	"testing"
)

func TestWhatIsAcceptedIsLoggedWithoutItsContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.target.answer(422, "secret answer")
	b.call("POST", "/v1/lanes/lane-a/requests", "secret payload", once("secret key"))
	a := wantAccepted(t, b.call("POST", "/v1/lanes/lane-a/requests", "secret payload", async, once("secret other key"), header{"X-Tenant", "secret tenant"}))
	b.get(a.path())
	log := b.log.String()
	for _, want := range []string{`"attempt ended"`, `"request accepted"`, `"request":"` + a.ID + `"`, `"duplicate":false`} {
		if !strings.Contains(log, want) {
			t.Errorf("no line has %s:\n%s", want, log)
		}
	}
	if strings.Contains(log, "secret") {
		t.Errorf("a payload, a header or an idempotency key is in the log:\n%s", log)
	}
}
