// Package firestoretest gives tests a Firestore: Google's own emulator, a Java
// program that comes with the gcloud CLI, on a free port of 127.0.0.1.
//
// It takes seconds to start, so the tests of a package share one, each with a
// project of its own ([Shared], [Main]). A test that stops it or holds it up
// starts its own ([Start]).
//
// The emulator differs from the service: data is in memory, nothing is deleted
// by TTL, composite indexes are not asked for.
//
// Where it is not installed such tests skip and say so; with
// SERIATIM_REQUIRE_REAL=1 in the environment they fail instead.
package firestoretest
