// Package generation notices that Redis was lost or rolled back, and numbers its lives.
//
// # The marker
//
// Redis itself keeps the number: in one key beside the lanes, the marker, with the identity of the server that it was written
// for (run_id and master_replid of INFO), the end of the quarantine and the end of the restoring time. Whatever takes the
// lanes takes the marker, or leaves a marker that does not fit the server any more:
//
//   - restarted empty, flushed, or moved to an empty server: no marker;
//   - failed over to a replica, which may lack the last writes: the marker came with the data, but names another run_id;
//   - the same process was demoted and promoted again: another master_replid;
//   - a marker below a number that a process has seen: rolled back with the data;
//   - a marker of another server that nobody has touched for three minutes: a snapshot was loaded. Its lanes count as lost like those
//     of an emptied Redis, since what they show as waiting was done long ago; so they do where Redis was away, or without a request
//     or a sweep, for that long before a failover. Where nothing outlives Redis they are kept.
//
// # The protocol
//
// A connection's first act, before any script of a lane, is to read INFO and the marker ([Tracker.OnConnect]). A marker that fits
// is taken over, without a write. Else one script, marker.lua, on the same connection gives the server a new generation: a number
// above the marker's, above every number that the process has seen and not below Redis' clock in milliseconds, a quarantine of
// 4/3 of the longest lease, in which nothing starts, since what was started by the lost Redis may still run, and a restoring time
// of 32 days, as long as a task may live, in which a lane that Redis does not know may have been lost. The script changes
// nothing where the marker fits by then: of many processes one makes the generation, and all others take it over. So no second
// store is needed to notice a loss, or to agree on it.
//
// Only a marker that is absent leaves a question: is this the first life of the deployment, or was Redis emptied? A create-if-absent
// of one document in Firestore answers it ([Firestore.First]); whoever creates it begins the first life, without quarantine. A
// Firestore out of reach, or none, is the answer "emptied", on the safe side. A process that has seen a generation does not ask.
// Without Firestore nothing can be restored, so the restoring time is empty; the quarantine holds.
//
// The caller's other half: a script must carry the generation of the connection that it is written to, hence one read as it is
// written, not before the connection was dialled.
//
// # Windows
//
//   - A FLUSHALL, or a demotion and promotion, under a connection that lives on is noticed with the next [Tracker.Check], within
//     [CheckedWithin] while requests come. A lane that began its life in between is told by [Tracker.Verify], which the caller
//     asks after each such script; and as the marker says which generation found Redis empty last, the scripts of who has noticed
//     forget it. A demotion and promotion leaves rolled back lanes in use for up to [CheckedWithin].
//   - A change of master_replid does not always mean loss: a server takes another one when its first replica ever connects, and
//     when no replica was connected for an hour (repl-backlog-ttl). Both cost a quarantine without need; the two cases cannot be
//     told from a loss by what INFO says later.
//   - A write that a primary had acknowledged and its replica had not got is lost with a failover. The generation says that this
//     may be so, not what was lost.
//   - Two servers that both say that they are the primary overtake each other's numbers, each time with a quarantine: nothing
//     starts on either until one is gone.
package generation
