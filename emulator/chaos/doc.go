// Package chaos runs Seriatim as real processes, has them, Redis, Firestore and Cloud Tasks fail, and checks from outside what was
// promised.
//
// Both functions run as the functions framework serves them, several instances each in processes of their own, configured by their
// environment. Around them are a real redis-server with a replica behind an address that stays, Google's Firestore emulator behind
// one, and the Cloud Tasks emulator, which is the durable truth and is never lost. Clients submit to lanes of several policies, most
// with idempotency keys, repeat what is not answered, and send some things twice; an operator pauses lanes, cancels and redrives.
//
// What goes wrong is in [faults]: processes are killed, terminated and frozen; Redis fails over to a replica that lags, is killed
// and comes back empty, is flushed, stands still, is full, loses connections and replies; Firestore is cut off and frozen; Cloud
// Tasks is late, delivers twice, refuses and loses its answers; the target is slow, fails, and breaks the connection after the
// effect.
//
// When all is calm again, these hold, or the run says which did not, with the requests and instants:
//
//  1. Every acknowledged request has ended, done ones with an effect at the target; what was refused never ran.
//  2. At most concurrency runs of a lane are at the target at once, and no fence comes after a higher one.
//  3. What was acknowledged before another was sent starts before it.
//  4. First grants of a lane are at least its spacing apart.
//  5. What had its effect runs again only where a fault explains it.
//  6. Every answer that said done, the result, and a replay of it are the same bytes, which the target sent once.
//  7. When all has ended every task ends without a call of the target.
//
// The windows in which the design excepts them are constants of their own; the report counts what fell into each.
package chaos
