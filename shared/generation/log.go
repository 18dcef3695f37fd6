package generation

import (
	"context"
	"time"

	"github.com/seriatim/seriatim/shared/logging"
)

// Causes of a marker that are not losses; marker.lua has those that are.
const (
	causeFirst     = "first life"
	causeInstalled = "installed"
)

// log tells a new generation, once per process that has seen the old one or asked for the new one.
func (m marker) log(ctx context.Context, before int64) {
	log := logging.FromContext(ctx).With("generation", m.Number, "cause", m.cause)
	if m.cause == causeFirst || m.cause == causeInstalled {
		log.InfoContext(ctx, "the first generation of Redis begins")
		return
	}
	log.WarnContext(ctx, "redis was lost or rolled back: a new generation begins with a quarantine",
		"previous", max(before, m.previous), "quarantine_until", instant(m.QuarantineUntil), "restore_until", instant(m.RestoreUntil))
}

// instant is Redis milliseconds as people read them; empty for none.
func instant(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}
