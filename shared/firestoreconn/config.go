package firestoreconn

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
)

// Names of the environment variables that [FromEnv] reads.
const (
	EnvDatabase = "SERIATIM_FIRESTORE"
	EnvEmulator = "FIRESTORE_EMULATOR_HOST" // the client library's own
)

// Config says which database is meant and where it is.
type Config struct {
	// Project is the Google Cloud project of the database. Required.
	Project string
	// Database is the database's id. Defaults to "(default)".
	Database string
	// Emulator is the host:port of an emulator, called over plain-text gRPC and
	// with the credentials of an emulator's owner. Empty: Google.
	Emulator string
}

// String is the database's full name, projects/P/databases/D.
func (c Config) String() string {
	return "projects/" + c.Project + "/databases/" + c.database()
}

func (c Config) database() string {
	if c.Database == "" {
		return "(default)"
	}
	return c.Database
}

// FromEnv reads SERIATIM_FIRESTORE (projects/P/databases/D) and
// FIRESTORE_EMULATOR_HOST (host:port) through lookup: [os.LookupEnv], or a map
// in tests. Present is false where SERIATIM_FIRESTORE is not set: there is no
// record store then. White space around a value is ignored. The error lists
// every fault, each with the name of its variable.
func FromEnv(lookup func(string) (string, bool)) (c Config, present bool, err error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	name := get(EnvDatabase)
	if name == "" {
		return Config{}, false, nil
	}
	parts := databasePattern.FindStringSubmatch(name)
	if parts == nil {
		err = fmt.Errorf("%s: %q is no database name; give projects/P/databases/D, for the default database projects/P/databases/(default)", EnvDatabase, name)
	} else {
		c = Config{Project: parts[1], Database: parts[2]}
	}
	// The client library takes the same forms.
	c.Emulator = strings.TrimPrefix(strings.TrimPrefix(get(EnvEmulator), "https://"), "http://")
	if err = errors.Join(err, c.emulatorFault()); err != nil {
		return Config{}, true, err
	}
	return c, true, nil
}

// databasePattern: a project id, with the domain that old ones have, and a
// database id.
var databasePattern = regexp.MustCompile(`^projects/((?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,62}[a-z0-9])/databases/(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$`)

func (c Config) emulatorFault() error {
	if c.Emulator == "" {
		return nil
	}
	if _, port, err := net.SplitHostPort(c.Emulator); err != nil || port == "" {
		return fmt.Errorf("%s: %q is no address; give host:port", EnvEmulator, c.Emulator)
	}
	return nil
}
