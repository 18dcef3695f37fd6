package executor

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/caller"
	"github.com/seriatim/seriatim/shared/clock"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

var guarded = caller.Config{
	Audience: "https://executor-1.europe-west1.run.app", Tasks: "tasks@p.iam.gserviceaccount.com", Sweep: "sweep@p.iam.gserviceaccount.com",
}

// bearer is the header of a right token of Cloud Tasks, its signature replaced as Cloud Run does, but for the changes.
func bearer(t *testing.T, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": "https://accounts.google.com", "aud": guarded.Audience, "email": guarded.Tasks, "email_verified": true,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return "Bearer " + encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(payload) + ".SIGNATURE_REMOVED_BY_GOOGLE"
}

func TestOnlyTheRightTokenWithTheRightMACRuns(t *testing.T) {
	t.Parallel()
	other, err := taskqueue.ParseKeys("ffffffffffffffffffffffffffffffff")
	if err != nil {
		t.Fatal(err)
	}
	right := func(k taskqueue.Keys, e taskqueue.Envelope) (body []byte, mac string, err error) { return k.Seal(e) }
	for name, test := range map[string]struct {
		token string
		seal  func(taskqueue.Keys, taskqueue.Envelope) ([]byte, string, error)
		want  int
	}{
		"the right ones":   {bearer(t, nil), right, http.StatusOK},
		"no token":         {"", right, http.StatusForbidden},
		"another audience": {bearer(t, map[string]any{"aud": "https://ingest-1.europe-west1.run.app"}), right, http.StatusForbidden},
		"another account":  {bearer(t, map[string]any{"email": "ingest@p.iam.gserviceaccount.com"}), right, http.StatusForbidden},
		"the sweep's":      {bearer(t, map[string]any{"email": guarded.Sweep}), right, http.StatusForbidden},
		"an expired token": {bearer(t, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), right, http.StatusForbidden},
		"the marker only":  {"Bearer SIGNATURE_REMOVED_BY_GOOGLE", right, http.StatusForbidden},
		"no MAC": {bearer(t, nil), func(k taskqueue.Keys, e taskqueue.Envelope) ([]byte, string, error) {
			b, _, err := k.Seal(e)
			return b, "", err
		}, http.StatusConflict},
		"the MAC of another": {bearer(t, nil), func(_ taskqueue.Keys, e taskqueue.Envelope) ([]byte, string, error) { return other.Seal(e) }, http.StatusConflict},
		"a changed body": {bearer(t, nil), func(k taskqueue.Keys, e taskqueue.Envelope) ([]byte, string, error) {
			b, mac, err := k.Seal(e)
			return bytes.Replace(b, []byte(`"a"`), []byte(`"b"`), 1), mac, err
		}, http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, redistest.Client(t, redistest.Miniredis(t)), "spacing: 0s")
			body, mac, err := test.seal(b.keys, b.submit("a"))
			if err != nil {
				t.Fatal(err)
			}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
			req.Header.Set(taskqueue.MACHeader, mac)
			if test.token != "" {
				req.Header.Set("Authorization", test.token)
			}
			w := httptest.NewRecorder()
			Guard(guarded, clock.System{}, b).ServeHTTP(w, req)
			if w.Code != test.want {
				t.Errorf("status %d, want %d", w.Code, test.want)
			}
			runs, status := 0, slot.Open
			if test.want == http.StatusOK {
				runs, status = 1, slot.Done
			}
			if len(b.calls) != runs || b.status("a") != status {
				t.Errorf("%d runs, the request is %s; want %d, %s", len(b.calls), b.status("a"), runs, status)
			}
		})
	}
}

func TestTheSweepIsItsOwnAccountsAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		callers       caller.Config
		account, path string
		want          int
	}{
		"the sweep's account":            {guarded, guarded.Sweep, "/sweep", http.StatusTeapot},
		"the task account":               {guarded, guarded.Tasks, "/sweep", http.StatusForbidden},
		"the sweep's account on a task":  {guarded, guarded.Sweep, "/", http.StatusForbidden},
		"a path that only looks like it": {guarded, guarded.Sweep, "/sweep/", http.StatusForbidden},
		"no account is set":              {caller.Config{Audience: guarded.Audience, Tasks: guarded.Tasks}, "", "/sweep", http.StatusForbidden},
		"locally, without any":           {caller.Config{Off: true}, "", "/sweep", http.StatusTeapot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, test.path, strings.NewReader(""))
			req.Header.Set("Authorization", bearer(t, map[string]any{"email": test.account}))
			w := httptest.NewRecorder()
			Guard(test.callers, clock.System{}, passed).ServeHTTP(w, req)
			if w.Code != test.want {
				t.Errorf("status %d, want %d", w.Code, test.want)
			}
		})
	}
}
