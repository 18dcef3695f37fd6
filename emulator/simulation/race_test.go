//go:build race

package simulation_test

// simulated is how many requests TestSimulation runs by default: few under the race detector, which makes each ten times as dear.
// CI runs the 50,000 in a step of their own.
const simulated = 2_000
