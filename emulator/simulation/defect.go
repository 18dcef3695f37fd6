package simulation

// Defect is a mutation outside the scripts: a step of ingest or the executor that is answered as done and is not.
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
	// NoDriving: no head is ever fetched.
	NoDriving Defect = "driving"
)

func (w *World) has(d Defect) bool { return w.defects[d] }

// Defects are all of them.
var Defects = []Defect{
	SuccessorSkipped, CreateSkipped, RefusalGuessed, ConfirmSkipped, LookSkipped, BusyDropped, OwnerShared, NoDriving,
}
