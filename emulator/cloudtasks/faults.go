package cloudtasks

import "github.com/seriatim/seriatim/emulator/cloudtasks/engine"

// Faults says what the emulator does wrong on purpose.
type Faults = engine.Faults

// ParseFaults reads faults such as
// "late=0.002:30s-180s,jitter=20ms-200ms,duplicate=0.01,lose-reply=0.01,error=0.01";
// see [engine.ParseFaults].
func ParseFaults(text string) (Faults, error) { return engine.ParseFaults(text) }
