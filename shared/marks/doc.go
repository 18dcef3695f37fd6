// Package marks keeps what must outlive Redis of a lane beside its requests: that it was paused, what was purged, what it stood
// parked on, and until when tasks of requests that it accepted may still come. It keeps the paused targets, too.
//
// Invariants:
//
//  1. One document per lane, named by its key. [Store.Change] compares and sets: of two changes at once neither is lost.
//  2. Change may be repeated, and calls its function again when another change came between, or when the reply of its own write
//     was lost: the function must come to the same marks when it meets its own effect.
//  3. Marks that did not change for [Life] are not there, whether or not they were deleted: no task of a lane lives longer.
//
// [Firestore] and [Memory] keep the same promises; Memory those of a process.
package marks
