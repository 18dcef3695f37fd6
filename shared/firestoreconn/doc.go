// Package firestoreconn opens the connection to Firestore: database, emulator
// and connection settings in one place, so that every client of the system, in
// tests too, talks to Firestore in the same way.
//
//   - A client is made at the first call that needs one, so that a function
//     starts, and can say what is wrong, while Firestore is away.
//   - The client library sends a write again, with pauses of 0.1 s and more,
//     until the caller's context ends, when it was answered UNAVAILABLE or
//     RESOURCE_EXHAUSTED. A write may therefore meet its own first try:
//     whoever creates a document must recognise it as its own. And every call
//     needs a short deadline: the library's own are a minute and more.
//
// An error is one of two things for a caller: Firestore cannot serve now
// ([IsUnavailable]), or a fault in the call or the set-up.
package firestoreconn
