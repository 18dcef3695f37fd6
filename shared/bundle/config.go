// Package bundle puts together what both functions are made of, from their environment: Redis, the scripts, the queue, the
// policy, the targets. Nothing is connected before it is used, so importing a function never needs its environment.
package bundle

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/seriatim/seriatim/shared/caller"
	"github.com/seriatim/seriatim/shared/firestoreconn"
	"github.com/seriatim/seriatim/shared/lane"
	"github.com/seriatim/seriatim/shared/logging"
	"github.com/seriatim/seriatim/shared/marks"
	"github.com/seriatim/seriatim/shared/policy"
	"github.com/seriatim/seriatim/shared/redisconn"
	"github.com/seriatim/seriatim/shared/slot"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

// Config is what the environment says.
type Config struct {
	Redis redisconn.Config
	// Cache is the Redis of collapsed reads; with an empty URL they are in Redis.
	Cache  redisconn.Config
	Tasks  taskqueue.Config
	Policy *policy.Document
	// Firestore is where the records of durable lanes are; nil without SERIATIM_FIRESTORE.
	Firestore *firestoreconn.Config
	// Records stands in for Firestore where it is not nil: the emulator's memory, which its instances share.
	Records lane.RecordStore
	// Marks stands in for Firestore as Records does.
	Marks Marks
	// Callers are those whom the executor lets in.
	Callers caller.Config
	// Project is the Google Cloud project of the queue: traces in logs carry it.
	Project string
}

// Marks are both stores of package marks.
type Marks interface {
	marks.Store
	slot.PausedStore
}

// FromEnv reads the environment through lookup: SERIATIM_CONFIG or SERIATIM_CONFIG_FILE, SERIATIM_REDIS_URL, SERIATIM_REDIS_CA,
// SERIATIM_CACHE_REDIS_URL, SERIATIM_QUEUE, SERIATIM_EXECUTOR_URL, SERIATIM_TASKS_SERVICE_ACCOUNT, SERIATIM_ENVELOPE_KEY, SERIATIM_TASKS_ENDPOINT,
// SERIATIM_FIRESTORE, FIRESTORE_EMULATOR_HOST, SERIATIM_AUTH, SERIATIM_SWEEP_SERVICE_ACCOUNT. The error names every variable at fault.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	var c Config
	var errs [6]error
	c.Redis, errs[0] = redisconn.FromEnv(lookup)
	c.Tasks, errs[1] = taskqueue.FromEnv(lookup)
	c.Policy, errs[2] = policy.FromEnv(lookup)
	c.Callers, errs[3] = caller.FromEnv(lookup)
	c.Cache, errs[4] = cacheFromEnv(lookup)
	c.Firestore, errs[5] = firestoreFromEnv(lookup, c.Policy)
	if err := errors.Join(errs[:]...); err != nil {
		return Config{}, err
	}
	c.Project = c.Tasks.Project()
	return c, nil
}

// firestoreFromEnv demands a database where a durable lane could lose its records: in the cloud. Elsewhere no lane is durable
// without one.
func firestoreFromEnv(lookup func(string) (string, bool), doc *policy.Document) (*firestoreconn.Config, error) {
	c, present, err := firestoreconn.FromEnv(lookup)
	if err != nil || present {
		return &c, err
	}
	if _, cloud := lookup("K_SERVICE"); cloud && doc != nil && slices.ContainsFunc(doc.Lanes, func(l *policy.Lane) bool { return l.Durable }) {
		return nil, fmt.Errorf("%s is not set, and lanes are durable: give projects/P/databases/D, or say durable: false in every lane", firestoreconn.EnvDatabase)
	}
	return nil, nil
}

// Logger returns the logger of a function.
func (c Config) Logger(w io.Writer) *slog.Logger {
	log := logging.New(w, c.Project)
	if c.Policy == nil { // misconfigured: the log says so
		return log
	}
	return slog.New(logging.Sample(log.Handler(), c.Policy.Log.Sample))
}
