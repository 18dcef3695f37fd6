package marks

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"
)

// content is what one document holds: the marks of a lane, or the paused targets.
type content struct {
	lane    string // the key; empty for the targets
	marks   Marks
	targets []string // sorted; nil where nobody has said anything about any
}

func (c content) equal(other content) bool {
	return c.marks.Equal(other.marks) && slices.Equal(c.targets, other.targets) && (c.targets == nil) == (other.targets == nil)
}

func (c content) clone() content {
	c.marks.Parked, c.targets = slices.Clone(c.marks.Parked), slices.Clone(c.targets)
	return c
}

func (c content) life() time.Duration {
	if c.lane == "" {
		return TargetsLife
	}
	return Life
}

// documents are where the contents are. An absent document, or one past its life, has the zero content.
type documents interface {
	read(ctx context.Context, name string) (content, error)
	// change stores what change makes of the content, if that is another, and returns it.
	change(ctx context.Context, name string, change func(*content)) (content, error)
}

// verbs are the calls of both stores.
type verbs struct{ documents documents }

// Read is [Store.Read].
func (v verbs) Read(ctx context.Context, key string) (Marks, error) {
	if err := validName(key); err != nil {
		return Marks{}, err
	}
	c, err := v.documents.read(ctx, laneName(key))
	return c.marks, err
}

// Change is [Store.Change].
func (v verbs) Change(ctx context.Context, key string, change func(*Marks)) (Marks, error) {
	if err := validName(key); err != nil {
		return Marks{}, err
	}
	c, err := v.documents.change(ctx, laneName(key), func(c *content) {
		c.lane = key
		change(&c.marks)
		c.marks = c.marks.normal()
	})
	return c.marks, err
}

// Targets returns the names of the paused targets, sorted. known is false where none was paused or resumed in TargetsLife: the
// store then knows nothing about them. Errors as of [Store.Read].
func (v verbs) Targets(ctx context.Context) (names []string, known bool, err error) {
	c, err := v.documents.read(ctx, targetsName)
	return c.targets, c.targets != nil, err
}

// PauseTarget adds a target to the paused ones, or takes it out. Errors as of [Store.Read].
func (v verbs) PauseTarget(ctx context.Context, name string, paused bool) error {
	if err := validName(name); err != nil {
		return err
	}
	_, err := v.documents.change(ctx, targetsName, func(c *content) {
		names := slices.DeleteFunc(slices.Clone(c.targets), func(n string) bool { return n == name })
		if paused {
			names = append(names, name)
		}
		slices.Sort(names)
		c.targets = append([]string{}, names...) // none, but known
	})
	return err
}

// targetsName is the reserved document of the targets: shorter than every lane's.
const targetsName = "targets"

// laneName is the document of a lane: a hash, since Firestore refuses some names, slows down for rising ones, and a lane's key
// may hold any character.
func laneName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
