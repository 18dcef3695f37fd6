// Package slottest helps to test what is built on lanes: a clock that scripts read instead of Redis' own, a dump of a lane's
// state, a history that checks the invariants of package slot, and a small world of clients, executors and a queue.
//
// It looks at lanes from outside. What it knows of the protocol are the invariants, never how the scripts keep them, so that
// a fault in a script is not repeated here.
package slottest
