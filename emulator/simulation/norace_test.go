//go:build !race

package simulation_test

// simulated is how many requests TestSimulation runs by default.
const simulated = 50_000
