// Package bundle puts together what both functions are made of, from their environment: Redis, the scripts, the queue, the
// policy, the targets. Nothing is connected before it is used, so importing a function never needs its environment.
package bundle

import (
	"errors"
	"io"
	"log/slog"

	"github.com/seriatim/seriatim/shared/caller"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Config is what the environment says.
type Config struct {
	Redis redisconn.Config
	// Cache is the Redis of collapsed reads; with an empty URL they are in Redis.
	Cache  redisconn.Config
	Tasks  taskqueue.Config
	Policy *policy.Document
	// Callers are those whom the executor lets in.
	Callers caller.Config
	// Project is the Google Cloud project of the queue: traces in logs carry it.
	Project string
}

// FromEnv reads the environment through lookup: SERIATIM_CONFIG or SERIATIM_CONFIG_FILE, SERIATIM_REDIS_URL, SERIATIM_REDIS_CA,
// SERIATIM_CACHE_REDIS_URL, SERIATIM_QUEUE, SERIATIM_EXECUTOR_URL, SERIATIM_TASKS_SERVICE_ACCOUNT, SERIATIM_ENVELOPE_KEY, SERIATIM_TASKS_ENDPOINT,
// SERIATIM_AUTH, SERIATIM_SWEEP_SERVICE_ACCOUNT. The error names every variable at fault.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	var c Config
	var errs [5]error
	c.Redis, errs[0] = redisconn.FromEnv(lookup)
	c.Tasks, errs[1] = taskqueue.FromEnv(lookup)
	c.Policy, errs[2] = policy.FromEnv(lookup)
	c.Callers, errs[3] = caller.FromEnv(lookup)
	c.Cache, errs[4] = cacheFromEnv(lookup)
	if err := errors.Join(errs[:]...); err != nil {
		return Config{}, err
	}
	c.Project = c.Tasks.Project()
	return c, nil
}

// Logger returns the logger of a function.
func (c Config) Logger(w io.Writer) *slog.Logger { return logging.New(w, c.Project) }
