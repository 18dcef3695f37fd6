// Package slot is the lane protocol in Redis: who may run next, when, and for how long. Each verb is one Lua script, so one
// round trip and atomic; Redis is the only clock. The words are those of the project's glossary: a key names a lane, a
// request takes a ticket, a grant gives the ticket a lease with a fence, finish ends an attempt.
//
// # Invariants
//
//  1. Exclusion. At any Redis time the live leases of a lane are at most its concurrency; every grant has a distinct, higher
//     fence. Fences and tickets start at the incarnation's Redis time in milliseconds, so they grow for the life of a key.
//  2. Order. A ticket starts only when every lower ticket is resolved or holds a live lease; a lapsed lease is neither. An
//     arrival never overtakes what waits.
//  3. Pace. Grants of a lane keep its spacing, or stay within a GCRA burst of it. Retries and take-overs take pace too. Pace is
//     measured at the grant, in Redis time.
//  4. No loss. A ticket that may have been acknowledged is never given up: void needs an unconfirmed ticket, missing a task
//     that the queue denied twice. A task is told DONE only when its request is terminal, or its ticket is of this incarnation
//     and generation, below the head, and in no list of voided or skipped tickets.
//  5. Effect. At most one result per request: finish compares the fence, and a terminal record is never overwritten.
//  6. Replay. go-redis resends a script whose reply was lost. Every script, repeated with the same arguments, leaves the same
//     state and gives an equivalent answer. A nonce of the caller (owner) tells a resend from a rival.
//  7. One clock. Redis TIME, made monotone per lane, in integer milliseconds. Lua's tostring and RESP corrupt larger or
//     fractional numbers, so scripts answer strings made by %.0f.
//  8. Bounded. Every key expires; depth and horizon are refused at the door.
//
// # State
//
// All keys of a lane share one hash tag (see Keys). The head of lane.lua lists them. A ticket that waits costs one field of
// one hash and one record; everything a script reads is found by ticket, so its work does not grow with the lane.
//
// # Generations
//
// Every script takes the generation of Redis that the caller knows (see Generations). A lane of an older generation is
// repaired at first touch, a caller of an older generation is refused and reads its store again.
//
// # Journal
//
// Every script that changes the order, the leases or the pace of a lane appends that to the lane's journal: one list, one RPUSH as
// it ends, so the journal is as atomic as the change, and passes on a full Redis where the change does. It keeps the last 100
// to 120 transitions for an hour after the last, and never longer than the lane. Package journal replays it against the invariants.
package slot
