package target_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seriatim/seriatim/shared/target"
)

func TestConfiguration(t *testing.T) {
	t.Parallel()
	const url = "https://billing.example/charge"
	for _, tt := range []struct {
		name string
		cfg  target.Config
		want []string // words of the error; none: accepted
	}{
		{"needs only a url", target.Config{URL: url}, nil},
		{"may use every field", target.Config{URL: url, Method: "PUT", Timeout: time.Hour, Audience: url,
			Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Headers: map[string]string{"X-Goog-Api-Key": "k"}}, nil},
		{"may have a credential of its own", target.Config{URL: url, Headers: map[string]string{"Authorization": "Bearer s3cret"}}, nil},
		{"needs a url", target.Config{}, []string{"url:", "absolute"}},
		{"needs an absolute url", target.Config{URL: "/charge?key=s3cret"}, []string{"url:", "absolute"}},
		{"needs a url that can be read", target.Config{URL: "https://s3cret%zz/"}, []string{"url:"}},
		{"needs a host", target.Config{URL: "https://:443/"}, []string{"url:"}},
		{"needs http", target.Config{URL: "ftp://billing.example"}, []string{"url:", "http"}},
		{"has no password in the url", target.Config{URL: "https://me:s3cret@billing.example"}, []string{"url:", "Authorization"}},
		{"has no fragment in the url", target.Config{URL: url + "#s3cret"}, []string{"url:", "fragment"}},
		{"refuses a method that is none", target.Config{URL: url, Method: "GET /"}, []string{"method:"}},
		{"refuses CONNECT", target.Config{URL: url, Method: "CONNECT"}, []string{"method:"}},
		{"refuses a negative timeout", target.Config{URL: url, Timeout: -1}, []string{"timeout:"}},
		{"refuses a secret that is not base64", target.Config{URL: url, Secret: "whsec_s3cret!"}, []string{"secret:", "base64"}},
		{"refuses an empty secret", target.Config{URL: url, Secret: "whsec_"}, []string{"secret:", "empty"}},
		{"refuses a value with a line end", target.Config{URL: url, Headers: map[string]string{"X-Api-Key": "s3cret\n"}}, []string{"X-Api-Key"}},
		{"refuses a header of ours", target.Config{URL: url, Headers: map[string]string{"seriatim-fence": "1"}}, []string{"seriatim-fence"}},
		{"leaves the body's headers to the client", target.Config{URL: url, Headers: map[string]string{"content-type": "text/plain"}}, []string{"content-type"}},
		{"refuses two bearer tokens", target.Config{URL: url, Audience: url, Headers: map[string]string{"authorization": "s3cret"}}, []string{"authorization", "audience"}},
		{"names all faults at once", target.Config{Name: "billing", Timeout: -1, Method: "TRACE", Secret: "!"}, []string{"billing", "url:", "method:", "timeout:", "secret:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, err := target.New(tt.cfg)
			if (err != nil) != (len(tt.want) > 0) || (h == nil) != (err != nil) {
				t.Fatalf("got %v, error %v", h, err)
			}
			for _, word := range tt.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
			wantNoLeak(t, err, "s3cret")
		})
	}
}
