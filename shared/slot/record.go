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

func (r *reply) record(id string) Record {
	return Record{
		ID: id, Status: Status(r.fields["rec.status"]), Fingerprint: r.fields["rec.fp"], Ticket: r.int("rec.ticket"),
		Fence: r.int("rec.fence"), Attempts: r.int("rec.attempts"), Response: []byte(r.fields["rec.resp"]),
		Reason: r.fields["rec.reason"], Detail: r.fields["rec.detail"], Target: r.fields["rec.target"],
		Submitted: r.time("rec.submitted"), Started: r.time("rec.started"), Finished: r.time("rec.finished"),
		Durable: r.bool("rec.durable"),
	}
}

func (r *reply) time(name string) time.Time {
	n := r.int(name)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
