package policy

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxDocument bounds the text, whose parsing takes time with the square of its
// length and stack with the depth of its nesting: 3,000 lanes of four fields
// are 200 KiB and take 1.5 s.
const maxDocument = 256 << 10

// Option changes how [Parse] judges a document.
type Option func(*decoder)

// RefuseLiteralSecrets refuses secrets that stand in the document itself
// instead of {env: NAME}: a target's secret, and the values of headers whose
// names tell of a credential.
func RefuseLiteralSecrets() Option {
	return func(d *decoder) { d.refuseLiterals = true }
}

// Parse reads a document of up to 256 KiB. lookup resolves {env: NAME}, as
// os.LookupEnv does; a variable that is not set, or empty, is a fault. The
// error is [Faults], with everything that is wrong, in the document's order
// as far as one part does not depend on another.
func Parse(doc []byte, lookup func(string) (string, bool), opts ...Option) (*Document, error) {
	root, err := parseYAML(doc)
	if err != nil {
		return nil, Faults{{Message: err.Error()}}
	}
	d := &decoder{lookup: lookup}
	for _, opt := range opts {
		opt(d)
	}
	document := d.document(value{d: d, node: root})
	if len(d.faults) > 0 {
		return nil, d.faults
	}
	return document, nil
}

// parseYAML returns the root of the one document that text holds.
func parseYAML(text []byte) (ast.Node, error) {
	switch {
	case len(text) > maxDocument:
		return nil, fmt.Errorf("the document has %d bytes, want %d at most", len(text), maxDocument)
	case !utf8.Valid(text):
		return nil, errors.New("the document is not UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	// Repeated keys are let through here to be reported by their paths.
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(err)
	}
	switch {
	case len(file.Docs) == 0, len(file.Docs) == 1 && file.Docs[0].Body == nil:
		return nil, errors.New("the document is empty")
	case len(file.Docs) > 1:
		return nil, fmt.Errorf("there are %d YAML documents, want one: remove the --- lines", len(file.Docs))
	}
	return file.Docs[0].Body, nil
}

// syntaxError keeps position and message of the library's error, but not its
// excerpt of the document, which may show a secret.
func syntaxError(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		return errors.New("the document is neither YAML nor JSON")
	}
	pos := at.GetToken().Position
	return fmt.Errorf("line %d, column %d: %s; texts that begin with * or { and are no mapping need quotes",
		pos.Line, pos.Column, at.GetMessage())
}
