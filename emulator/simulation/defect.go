package simulation

import (
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"

	"github.com/seriatim/seriatim/shared/slot"
)

// Defect is a mutation outside the scripts: a step of ingest or the executor that is answered as done and is not. With
// [twin.Rules] they are the rules of the protocol and the faults of the articles that are one step; whole strategies, such as
// get-then-set, a slot freed only after processing, or tasks that all come at one minute, run in emulator/compare.
type Defect string

// The defects.
const (
	// SuccessorSkipped: an executor's CreateTask of a successor is answered as done and creates nothing.
	SuccessorSkipped Defect = "successor before ack"
	// CreateSkipped: an ingest's CreateTask creates nothing.
	CreateSkipped Defect = "task before acknowledgement"
	// RefusalGuessed: an ambiguous CreateTask is taken for a refused one, and the place given up at once.
	RefusalGuessed Defect = "ambiguous is not refused"
	// ConfirmSkipped: confirm is answered true without a script.
	ConfirmSkipped Defect = "confirm past the margin"
	// LookSkipped: a read of a task answers NotFound, so that unconfirmed heads are voided unseen.
	LookSkipped Defect = "void only after a look"
	// BusyDropped: a delivery whose ticket runs elsewhere is answered 200 bare.
	BusyDropped Defect = "successor for a running duplicate"
	// OwnerShared: all deliveries of an instance share one nonce.
	OwnerShared Defect = "owner per delivery"
	// LeaseNotRenewed: a renewal is answered true without a script.
	LeaseNotRenewed Defect = "lease is renewed"
	// AdoptedAtOnce: an executor's CreateTask of an adopted request is answered as done and creates nothing.
	AdoptedAtOnce Defect = "successor before ack of an adopted request"
	// AgeFromReply: an ingest counts the age of a ticket from the reply of reserve.
	AgeFromReply Defect = "age from the first send"
	// LeaseFromReply: an executor counts the age of a lease from the reply of start.
	LeaseFromReply Defect = "lease age from the send"
	// DeadlineIgnored: an executor is told that every confirm deadline has passed.
	DeadlineIgnored Defect = "deadline of the head"
	// FinisherStops: who finishes is told of no head.
	FinisherStops Defect = "finisher goes on"
	// NewUnverified: a lane that is new is not verified to be so.
	NewUnverified Defect = "verification of new lanes"
	// LookupSkipped: the record store is not asked before a request is adopted.
	LookupSkipped Defect = "look-up before adoption"
	// NoDriving: no head is ever fetched.
	NoDriving Defect = "driving"
)

// Defects are all of them.
var Defects = []Defect{
	SuccessorSkipped, CreateSkipped, RefusalGuessed, ConfirmSkipped, LookSkipped, BusyDropped, OwnerShared, NoDriving,
	LeaseNotRenewed, AdoptedAtOnce, AgeFromReply, LeaseFromReply, DeadlineIgnored, FinisherStops,
	NewUnverified, LookupSkipped,
}

func (w *World) has(d Defect) bool { return w.defects[d] }

func (s *slots) afterReserve(req slot.ReserveRequest, sent time.Time) {
	w := s.in.world
	if w.has(AgeFromReply) && s.in.kind == "ingest" {
		s.in.forget(sent)
	}
	if w.has(AdoptedAtOnce) && req.Adopt {
		s.in.adopted.Store(req.ID, true)
	}
}

func (s *slots) afterStart(res *slot.Started, sent time.Time) {
	w := s.in.world
	if w.has(LeaseFromReply) {
		s.in.forget(sent)
	}
	if w.has(BusyDropped) && res.Verdict == slot.Snoozed && res.Reason == "busy" {
		res.Verdict = slot.AlreadyDone
	}
	w.told(&res.Seen, res.Verdict == slot.AlreadyDone)
}

// told spoils what a script tells of the head.
func (w *World) told(seen *slot.Seen, over bool) {
	if w.has(DeadlineIgnored) {
		seen.Next.Deadline = min(seen.Next.Deadline, 1)
	}
	if w.has(FinisherStops) && over {
		seen.Next = slot.Head{}
	}
}

// forget has the clock lag as long as a call took: its caller counts from the reply.
func (in *instance) forget(sent time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.behind += time.Since(sent)
}

// skipped says that the task is not to be created.
func (s *service) skipped(req *cloudtaskspb.CreateTaskRequest) bool {
	w := s.in.world
	if w.has(AdoptedAtOnce) {
		_, adopted := s.in.adopted.LoadAndDelete(field(req.GetTask().GetHttpRequest().GetBody(), `"id":"`))
		return adopted
	}
	return s.in.kind == "executor" && w.has(SuccessorSkipped) || s.in.kind == "ingest" && w.has(CreateSkipped)
}
