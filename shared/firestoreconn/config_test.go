package firestoreconn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatim/seriatim/shared/firestoreconn"
)

func TestFromEnv(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, database, emulator string
		want                     firestoreconn.Config
	}{
		{"a default database", "projects/my-project/databases/(default)", "", firestoreconn.Config{Project: "my-project", Database: "(default)"}},
		{"a named one, with white space", " projects/my-project/databases/records-1\n", "", firestoreconn.Config{Project: "my-project", Database: "records-1"}},
		{"a project with a domain", "projects/example.com:my-project/databases/records", "", firestoreconn.Config{Project: "example.com:my-project", Database: "records"}},
		{"an emulator", "projects/my-project/databases/(default)", "127.0.0.1:8200", firestoreconn.Config{Project: "my-project", Database: "(default)", Emulator: "127.0.0.1:8200"}},
		{"an emulator with a scheme", "projects/my-project/databases/(default)", "http://[::1]:8200", firestoreconn.Config{Project: "my-project", Database: "(default)", Emulator: "[::1]:8200"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, present, err := firestoreconn.FromEnv(environment(tt.database, tt.emulator))
			if diff := cmp.Diff(tt.want, got); err != nil || !present || diff != "" {
				t.Errorf("present %v, %v, config (-want +got):\n%s", present, err, diff)
			}
		})
	}
	t.Run("not set is no record store", func(t *testing.T) {
		t.Parallel()
		if got, present, err := firestoreconn.FromEnv(environment("", "127.0.0.1:8200")); err != nil || present || got != (firestoreconn.Config{}) {
			t.Errorf("%+v, present %v, %v", got, present, err)
		}
	})
}

func TestFromEnvRefuses(t *testing.T) {
	t.Parallel()
	const form = " is no database name; give projects/P/databases/D, for the default database projects/P/databases/(default)"
	for _, tt := range []struct{ name, database, emulator, want string }{
		{"a project only", "my-project", "", `SERIATIM_FIRESTORE: "my-project"` + form},
		{"a document", "projects/my-project/databases/(default)/documents", "", `SERIATIM_FIRESTORE: "projects/my-project/databases/(default)/documents"` + form},
		{"no database", "projects/my-project/databases/", "", `SERIATIM_FIRESTORE: "projects/my-project/databases/"` + form},
		{
			"two faults at once", "x", "8200",
			`SERIATIM_FIRESTORE: "x"` + form + "\n" + `FIRESTORE_EMULATOR_HOST: "8200" is no address; give host:port`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, present, err := firestoreconn.FromEnv(environment(tt.database, tt.emulator))
			if err == nil || err.Error() != tt.want || !present {
				t.Errorf("present %v, error %v\nwant %s", present, err, tt.want)
			}
		})
	}
}

func environment(database, emulator string) func(string) (string, bool) {
	vars := map[string]string{}
	if database != "" {
		vars["SERIATIM_FIRESTORE"] = database
	}
	if emulator != "" {
		vars["FIRESTORE_EMULATOR_HOST"] = emulator
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}
