package firestoretest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is where the emulator lies under the root of the gcloud CLI.
const program = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"

// install says what a missing part comes with.
const install = "install Java 17 or later and gcloud's component cloud-firestore-emulator (Debian: google-cloud-cli-firestore-emulator)"

// Require returns the paths of java and of the emulator's jar. Without one of
// them it skips the test, or fails it when SERIATIM_REQUIRE_REAL=1.
func Require(tb testing.TB) (java, jar string) {
	tb.Helper()
	java, jar, err := Find()
	switch {
	case err == nil:
	case os.Getenv("SERIATIM_REQUIRE_REAL") == "1":
		tb.Fatalf("SERIATIM_REQUIRE_REAL=1, but the Firestore emulator cannot be run: %v; %s", err, install)
	default:
		tb.Skipf("skipped on the Firestore emulator: %v; %s", err, install)
	}
	return java, jar
}

// Find returns the paths of java and of the emulator's jar. It asks for the jar itself: gcloud's own command takes seconds of Python
// to do the same, and leaves the JVM behind when it is killed.
func Find() (java, jar string, err error) {
	java, javaErr := exec.LookPath("java")
	gcloud, gcloudErr := exec.LookPath("gcloud")
	if err := errors.Join(javaErr, gcloudErr); err != nil {
		return "", "", err
	}
	if real, err := filepath.EvalSymlinks(gcloud); err == nil {
		gcloud = real
	}
	// Archives and distributions have gcloud in bin/ of the root; Debian's is a
	// script beside it.
	roots := []string{filepath.Dir(filepath.Dir(gcloud)), "/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk"}
	for _, root := range roots {
		jar = filepath.Join(root, program)
		if _, err := os.Stat(jar); err == nil {
			return java, jar, nil
		}
	}
	return "", "", fmt.Errorf("no %s in any of %q", program, roots)
}

// Arguments are those of java for an emulator that listens on a port of 127.0.0.1 and has a heap of at most heap, such as "512m".
// Only the quick compiler, and one thread to collect little garbage: it is short of time, not of speed.
func Arguments(jar string, port int, heap string) []string {
	return []string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx" + heap, "-Duser.language=en",
		"-cp", jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore",
		"start", "--host=127.0.0.1", fmt.Sprintf("--port=%d", port),
	}
}
