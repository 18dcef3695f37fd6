// Package simulation runs the real code of ingest, executor, lane and taskqueue against a simulated world and checks what the
// product promises: nothing acknowledged is lost, nothing overtakes, no two leases overlap, pace is kept, lanes do not stand.
//
// One run is one bubble of testing/synctest: goroutines, channels and contexts are real, time is virtual. Under the code lie the
// twin of the slot scripts, the Cloud Tasks engine, and clients and targets of the package's own. Every arrow between them (a
// script, a call of the queue, a delivery, a call of the target, a wake-up) takes a random time of its own, so that no two steps
// share an instant, and is a point of fault: see [Faults]. A crash marks an instance dead; each of its goroutines ends at its
// next arrow, as if the process had been gone since the last.
//
// All randomness is hashed from the seed, what the arrow is about and how often it was drawn, never taken from a shared stream:
// one seed is one history, and leaving a fault out changes no other draw. So a failing run is shrunk by leaving out submissions
// and faults while it still fails, and what remains is short enough to read.
//
// The oracle sees what the scripts answer at the instant they run, what ingest answers, and which tasks exist. It keeps its own
// books and trusts no state of the lane.
package simulation
