package taskqueue

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Names of the environment variables that [FromEnv] reads.
const (
	EnvQueue          = "SERIATIM_QUEUE"
	EnvExecutorURL    = "SERIATIM_EXECUTOR_URL"
	EnvServiceAccount = "SERIATIM_TASKS_SERVICE_ACCOUNT"
	EnvKeys           = "SERIATIM_ENVELOPE_KEY"
	EnvEndpoint       = "SERIATIM_TASKS_ENDPOINT"
	EnvAuth           = "SERIATIM_AUTH"
)

// maxURL is Cloud Tasks' limit for a task's URL, in characters.
const maxURL = 2083

// Config says where tasks go and how they prove where they come from.
type Config struct {
	// Queue is the queue's full name, projects/P/locations/L/queues/Q. Required.
	Queue string
	// ExecutorURL receives every task by POST. Required; https unless Endpoint
	// is set, since it carries payloads and a token.
	ExecutorURL string
	// ServiceAccount is the e-mail address of the account in whose name Cloud
	// Tasks calls the executor, with an OIDC token. Required while Auth is true
	// and Endpoint empty; where it is empty, tasks carry no token. Whoever
	// creates a task needs iam.serviceAccounts.actAs on it.
	ServiceAccount string
	// Audience of that token. Cloud Run wants the service's base URL; FromEnv
	// takes the scheme and host of ExecutorURL.
	Audience string
	// Endpoint is the host:port of an emulator, called over plain-text gRPC and
	// without credentials. Empty: Google.
	Endpoint string
	// Keys seal and open envelopes. Required.
	Keys Keys
	// Auth is false where nobody checks tokens (SERIATIM_AUTH=off).
	Auth bool
}

// FromEnv reads the configuration through lookup ([os.LookupEnv], or a map in
// tests). White space around a value is ignored. The error lists every fault
// that it finds, each with the name of its variable, and shows no key.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	keys, err := ParseKeys(get(EnvKeys))
	if err != nil {
		err = fmt.Errorf("%s: %w", EnvKeys, err)
	}
	c := Config{
		Queue:          get(EnvQueue),
		ExecutorURL:    get(EnvExecutorURL),
		ServiceAccount: get(EnvServiceAccount),
		Endpoint:       get(EnvEndpoint),
		Keys:           keys,
		Auth:           get(EnvAuth) != "off",
	}
	if u, err := url.Parse(c.ExecutorURL); err == nil {
		c.Audience = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	}
	if err := errors.Join(err, c.validate()); err != nil {
		return Config{}, err
	}
	return c, nil
}

var queuePattern = regexp.MustCompile(`^projects/[^/\s]+/locations/[^/\s]+/queues/[A-Za-z0-9-]{1,100}$`)

// validate joins the faults of all fields but Keys.
func (c Config) validate() error {
	var faults []error
	fault := func(name, format string, args ...any) {
		faults = append(faults, fmt.Errorf(name+": "+format, args...))
	}
	if !queuePattern.MatchString(c.Queue) {
		fault(EnvQueue, "%q is no queue name; give projects/P/locations/L/queues/Q", c.Queue)
	}
	if detail := c.executorFault(); detail != "" {
		fault(EnvExecutorURL, "%s", detail)
	}
	if c.Auth && c.Endpoint == "" && c.ServiceAccount == "" {
		fault(EnvServiceAccount, "not set; give the e-mail address of the account that may invoke the executor, or set %s=off", EnvAuth)
	}
	if c.ServiceAccount != "" && !strings.Contains(c.ServiceAccount, "@") {
		fault(EnvServiceAccount, "%q is no e-mail address of a service account", c.ServiceAccount)
	}
	if _, port, err := net.SplitHostPort(c.Endpoint); c.Endpoint != "" && (err != nil || port == "") {
		fault(EnvEndpoint, "%q is no address; give host:port without a scheme", c.Endpoint)
	}
	return errors.Join(faults...)
}

func (c Config) executorFault() string {
	u, err := url.Parse(c.ExecutorURL)
	switch {
	case c.ExecutorURL == "":
		return "not set; give the executor's URL"
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "not an absolute http(s) URL; give the executor's URL"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "a URL with user, query or fragment; give scheme, host and path only"
	case u.Scheme == "http" && c.Endpoint == "":
		return "plain http carries payloads and tokens in clear; give an https URL, or set " + EnvEndpoint + " for local use"
	case len(c.ExecutorURL) > maxURL:
		return fmt.Sprintf("%d characters long, the most is %d", len(c.ExecutorURL), maxURL)
	}
	return ""
}

// Project is the Google Cloud project of the queue, empty where Queue is no queue name.
func (c Config) Project() string {
	parts := strings.Split(c.Queue, "/")
	if len(parts) != 6 {
		return ""
	}
	return parts[1]
}
