// Package record keeps the outcomes of requests for as long as clients and
// redeliveries may ask for them: the durable store behind the lanes, which
// outlives Redis. Lanes write through to it; it decides nothing about who runs.
//
// Invariants:
//
//  1. One record per request, named by lane key and request id. [Firestore.Put]
//     stores a new outcome only in place of none, of an expired one, or of one
//     of a lower ticket: a late writer never undoes a newer outcome, and of two
//     outcomes of one ticket the first stays, as it may have been replayed.
//  2. Put may be repeated: the same ticket and fence again is a success.
//  3. A record past its ExpireAt is not there, whether or not it was deleted.
//  4. What it stores is bounded (the Max constants): one document each.
//
// [Firestore] and [Memory] keep the same promises; Memory those of a process.
package record
