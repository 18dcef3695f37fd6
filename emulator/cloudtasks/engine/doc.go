// Package engine holds the state and the rules of the Cloud Tasks emulator,
// without goroutines, timers or I/O.
//
// Time comes in with every call; [Engine.Next] tells the instant at which
// something falls due, [Engine.Advance] moves there and hands out the attempts
// to send, [Engine.Finish] takes their results. A real server, a clock that a
// test drives and a single-threaded simulation all run the same engine.
//
// The rules, as Google documents them for API v2:
//
//  1. No attempt starts before its task's schedule time.
//  2. A queue starts an attempt only while it is RUNNING, has a token (token
//     bucket of the effective rate) and fewer attempts in flight than
//     max_concurrent_dispatches. RunTask ignores all three.
//  3. 200-299 deletes the task. Anything else, and silence past the dispatch
//     deadline (counted as 504), schedules the next attempt by the documented
//     back-off: doubling, then linear, then capped.
//  4. A task is given up when both its attempts and its retry duration are
//     spent; a limit that is not set does not count. Given-up tasks are deleted.
//  5. A task is deleted 31 days after its creation, whatever its state.
//  6. The name of a task that is gone stays taken for a while (24 h by
//     default), that of a queue 7 days.
//  7. 429, 503 and a high error rate slow the whole queue for a time.
//
// An Engine is not safe for concurrent use.
package engine
