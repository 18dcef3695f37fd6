// Package journal is the record of a lane's last transitions, and the proof that it keeps the lane's promises.
//
// The scripts of package slot append an [Entry] for whatever changes the order, the leases or the pace of a lane, in the same atomic
// step, so a journal has no gap between its first entry and its last. It holds the last entries only: [Verify] is sound on whatever
// is left of a lane's history, and claims nothing of what came before.
//
// Renewals and snoozes are not in it: they move no ticket, and a long run or a long wait would push out all the rest. Where a lease
// has outlived the expiry of its grant, the count of live leases that every grant carries tells whether it was renewed.
package journal
