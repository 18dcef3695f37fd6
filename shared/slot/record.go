package slot

import "time"

// Status is the state of a record.
type Status string

// States of a record. Whether an open request runs is told by its lease, not by its record.
const (
	// Open: not finished.
	Open Status = "open"
	// Done: accepted.
	Done Status = "done"
	// Dead: given up.
	Dead Status = "dead"
	// Cancelled: taken out before it started.
	Cancelled Status = "cancelled"
	// Expired: the record is gone, and the ticket proves that it was terminal.
	Expired Status = "expired"
)

// Record is the stored outcome of a request, or what is known of an open one.
type Record struct {
	ID     string
	Status Status
	// Fingerprint is that of the request which reserved the id.
	Fingerprint string
	// Ticket is the request's, Fence the number of its last lease, 0 where it never had one.
	Ticket, Fence int64
	Attempts      int64
	// Response is opaque to this package. Redis may no longer have that of a Durable record.
	Response []byte
	// Reason and Detail say why the last attempt failed.
	Reason, Detail string
	// Target is the target's name.
	Target string
	// Submitted, Started (the first grant) and Finished are Redis time but for Submitted; zero where it has not happened.
	Submitted, Started, Finished time.Time
	// Durable says that the record is also outside Redis.
	Durable bool
}

func (r *reply) record(id string) Record { return r.recordUnder("rec.", id) }

// recordUnder reads a record whose fields have that prefix.
func (r *reply) recordUnder(prefix, id string) Record {
	return Record{
		ID: id, Status: Status(r.fields[prefix+"status"]), Fingerprint: r.fields[prefix+"fp"], Ticket: r.int(prefix + "ticket"),
		Fence: r.int(prefix + "fence"), Attempts: r.int(prefix + "attempts"), Response: []byte(r.fields[prefix+"resp"]),
		Reason: r.fields[prefix+"reason"], Detail: r.fields[prefix+"detail"], Target: r.fields[prefix+"target"],
		Submitted: r.time(prefix + "submitted"), Started: r.time(prefix + "started"), Finished: r.time(prefix + "finished"),
		Durable: r.bool(prefix + "durable"),
	}
}

func (r *reply) time(name string) time.Time {
	n := r.int(name)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
