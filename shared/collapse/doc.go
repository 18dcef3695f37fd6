// Package collapse answers identical reads with one call to their origin,
// whichever callers, instances and processes they come from.
//
// Callers of one instance share a flight in the process. Flights of several
// instances meet in Redis: one holds the lease of the flight key and fetches
// (the leader), the others wait to be woken by pub/sub and read the entry that
// the leader leaves (followers). The package knows bytes and times, no HTTP:
// what is cacheable, and for how long, says the caller's [Fetch].
//
// What holds, with Redis in reach:
//
//  1. One call. While a lease is live only its leader fetches; one that is
//     lapsed or released gets exactly one successor. Exceptions, each once per
//     instance: passes, and what [Result.Detail] names.
//  2. Compare, then set. An answer is stored only under the nonce of the
//     present lease: a leader that was overtaken, or whose key was invalidated,
//     changes nothing.
//  3. Invalidation wins. A caller that comes after [Group.Invalidate] has
//     returned gets no answer whose fetch began before, in whichever variant
//     and wherever it was in flight: nobody shares a look-up that was sent
//     before they came, nor an answer that came too late to be stored.
//  4. Nobody waits for ever. A caller leaves with its context or, after
//     [Policy.Wait], with [ErrWait]; never with an origin call of its own.
//  5. Nobody is waited for. A fetch outlives the caller whose it was, up to
//     [Policy.Timeout]; a leader that dies is replaced when its lease lapses.
//  6. One result. Failures are shared like values: by all who wait for the
//     flight, whatever the lives, and then for [Policy.NegativeTTL].
//  7. Private means private. An answer marked so reaches the one caller whose
//     fetch it was, and no store; the others pass, each with its own fetch.
//  8. Bounded. Every key expires, and all keys of an origin together stay
//     within [Policy.MaxBytes], counted as is said there.
//  9. One clock. Redis TIME, in whole milliseconds; an instance's clock only
//     measures how long its own fetch took.
//  10. Replay-safe. A script that is sent again changes nothing more and gives
//     an answer that is as good.
//
// Without Redis, or with Redis out of reach, an instance collapses what it has
// itself, stores nothing, and says so in [Result.Detail]; Invalidate then
// reaches this instance only, and fails.
//
// A failover of Redis may forget a lease (one more call), a value (one more
// call) or the last invalidations (the old answer, for the rest of its life).
package collapse
