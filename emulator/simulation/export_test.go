package simulation

// Traced is s with its history kept.
func (s Scenario) Traced() Scenario {
	s.trace = true
	return s
}
