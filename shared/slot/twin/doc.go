// Package twin is the lane protocol of package slot once more, in plain Go: the same verbs on the same types, as a function of
// state, instant and arguments, without Redis. A property test holds every script equal to it, so what a simulation proves over
// the twin holds for the scripts, at a hundredth of the cost.
//
// It follows the scripts line by line, down to what a call that answers early leaves unsaved. Where the two differ, one of them
// is wrong; the scripts are what runs.
//
// A [Rule] can be taken out of a Store, to prove that a test notices: a mutation. Production code holds no such switch.
package twin
