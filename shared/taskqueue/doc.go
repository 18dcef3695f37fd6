// Package taskqueue carries requests through Cloud Tasks: what a task says, how
// it is named, created for certain and read again.
//
//  1. A task's id is a pure function of what it stands for: the lane's key and
//     incarnation, the ticket, the request id and the snooze count. Whoever
//     knows these finds the task, and to create it twice creates it once.
//  2. A task's body is an [Envelope] under an HMAC. What cannot be verified is
//     never run, and what a newer version wrote is never guessed at.
//  3. [Client.Create] tells three ends apart: the task exists, it certainly was
//     not created ([ErrRefused]), or nobody knows ([ErrAmbiguous]). It never
//     calls the third the second: a ticket may be given up only when no task
//     can come for it.
//
// It works against Google and, with [Config.Endpoint], against an emulator.
package taskqueue
