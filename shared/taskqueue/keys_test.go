package taskqueue_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestParseKeysRefuses(t *testing.T) {
	t.Parallel()

	for _, list := range []string{"", " ", ",", "hunter2,", ",hunter2", "hunter2, ,x"} {
		k, err := taskqueue.ParseKeys(list)
		if err == nil || !k.Empty() {
			t.Errorf("ParseKeys(%q) = %v, %v; want an error", list, k, err)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("ParseKeys(%q): the error shows a key: %v", list, err)
		}
	}
}

func TestKeysShowNothing(t *testing.T) {
	t.Parallel()

	const secret = "hunter2"
	c := config(t)
	c.Keys = keys(t, secret)
	hidden := struct{ keys taskqueue.Keys }{c.Keys} // fmt calls no method on it
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{c.Keys, &c.Keys, c, &c, hidden, []taskqueue.Keys{c.Keys}} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "keys", c.Keys, "config", c)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "keys", c.Keys, "config", c, "hidden", hidden)
	if err := json.NewEncoder(&out).Encode(c); err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%d", []byte(secret)), "aHVudGVyMg"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q is in:\n%s", leak, out.String())
		}
	}
	if !strings.Contains(out.String(), "1 HMAC keys (redacted)") {
		t.Errorf("nothing says that there is a key:\n%s", out.String())
	}
}
