package caller

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Names of the environment variables that [FromEnv] reads, beside Cloud Run's own K_SERVICE.
const (
	EnvAuth         = "SERIATIM_AUTH"
	EnvExecutorURL  = "SERIATIM_EXECUTOR_URL"
	EnvTasksAccount = "SERIATIM_TASKS_SERVICE_ACCOUNT"
	EnvSweepAccount = "SERIATIM_SWEEP_SERVICE_ACCOUNT"
	envService      = "K_SERVICE"
)

// Config says whom to let in. It does not change and is safe for concurrent use.
type Config struct {
	// Audience is the "aud" of the tokens: scheme and host of the executor's URL.
	Audience string
	// Tasks is the e-mail address of the account in whose name Cloud Tasks calls.
	Tasks string
	// Sweep is that of the account in whose name Cloud Scheduler calls. Empty: nobody may sweep.
	Sweep string
	// Off lets everybody in: for local use, where nobody issues tokens.
	Off bool
}

// FromEnv reads SERIATIM_AUTH (unset, or "off"), SERIATIM_EXECUTOR_URL, SERIATIM_TASKS_SERVICE_ACCOUNT (both required unless
// off) and SERIATIM_SWEEP_SERVICE_ACCOUNT through lookup ([os.LookupEnv], or a map in tests). "off" is refused on Cloud Run, which
// sets K_SERVICE. White space around a value is ignored. The error lists every fault, each with the name of its variable.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	auth := get(EnvAuth)
	c := Config{Tasks: get(EnvTasksAccount), Sweep: get(EnvSweepAccount), Off: auth == "off"}
	var faults []error
	fault := func(name, detail string) { faults = append(faults, fmt.Errorf("%s: %s", name, detail)) }
	switch {
	case auth != "" && !c.Off:
		fault(EnvAuth, fmt.Sprintf("%q is no setting; leave it unset, or give off for local use", auth))
	case c.Off && get(envService) != "":
		fault(EnvAuth, "off is for local use only; unset it on Cloud Run")
	}
	if u, err := url.Parse(get(EnvExecutorURL)); err == nil && u.Host != "" {
		c.Audience = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	} else if !c.Off {
		fault(EnvExecutorURL, "not an absolute URL; give the executor's URL, whose scheme and host are the audience of its tokens")
	}
	if c.Tasks == "" && !c.Off {
		fault(EnvTasksAccount, "not set; give the e-mail address of the account that Cloud Tasks calls with, or set "+EnvAuth+"=off for local use")
	}
	for _, name := range []string{EnvTasksAccount, EnvSweepAccount} {
		if account := get(name); account != "" && !strings.Contains(account, "@") {
			fault(name, fmt.Sprintf("%q is no e-mail address of a service account", account))
		}
	}
	if c.Tasks != "" && c.Tasks == c.Sweep {
		fault(EnvSweepAccount, "the same account as "+EnvTasksAccount+"; give each caller one of its own")
	}
	return c, errors.Join(faults...)
}
