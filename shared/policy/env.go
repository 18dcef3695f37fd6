package policy

import (
	"errors"
	"fmt"
	"os"
)

const (
	envConfig = "SERIATIM_CONFIG"
	envFile   = "SERIATIM_CONFIG_FILE"
	// envService is set by Cloud Run, and so on a Cloud Function.
	envService = "K_SERVICE"
)

// FromEnv reads the document that SERIATIM_CONFIG holds, or the file that
// SERIATIM_CONFIG_FILE names; exactly one of them must be set. With K_SERVICE
// set, secrets in clear text are refused. lookup is os.LookupEnv, or a map in
// a test. The error names the variable and wraps [Faults] where the document
// is at fault.
func FromEnv(lookup func(string) (string, bool)) (*Document, error) {
	text, _ := lookup(envConfig)
	file, _ := lookup(envFile)
	source := envConfig
	switch {
	case text != "" && file != "":
		return nil, fmt.Errorf("%s and %s are both set: remove one", envConfig, envFile)
	case text == "" && file == "":
		return nil, errors.New("no configuration: set " + envConfig + " to the document, or " + envFile + " to its path")
	case file != "":
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", envFile, err)
		}
		text, source = string(data), envFile
	}
	var opts []Option
	if service, _ := lookup(envService); service != "" {
		opts = append(opts, RefuseLiteralSecrets())
	}
	doc, err := Parse([]byte(text), lookup, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s is not valid:\n%w", source, err)
	}
	return doc, nil
}
