package twin

// Rule is one rule of the protocol that keeps an invariant. Without it a Store breaks a promise, and a test must see that.
type Rule string

// The rules, by what goes wrong without them.
const (
	// NoOvertaking: an arrival runs at once only on a lane where nothing waits.
	NoOvertaking Rule = "no overtaking in reserve"
	// LiveBelowConcurrency: a grant needs fewer live leases than the concurrency.
	LiveBelowConcurrency Rule = "live below concurrency"
	// Pace: a grant waits for the gate.
	Pace Rule = "pace at the grant"
	// PaceOfTakeovers: a retry or take-over takes pace as well.
	PaceOfTakeovers Rule = "retries and take-overs take pace"
	// HeadFirst: only the lowest ticket that waits is granted.
	HeadFirst Rule = "head first"
	// LapsedWaits: a lapsed lease is not resolved; its ticket is the head again.
	LapsedWaits Rule = "lapsed lease is not resolved"
	// RetryKeepsPlace: a retried ticket stays the head.
	RetryKeepsPlace Rule = "retry keeps its place"
	// FenceGrows: every grant has a new fence.
	FenceGrows Rule = "every grant has a new fence"
	// FenceAtFinish: only the grant that holds the lease ends the attempt.
	FenceAtFinish Rule = "fence checked in finish"
	// OwnerOfDelivery: a live lease is told to the delivery that has it only.
	OwnerOfDelivery Rule = "owner per delivery"
	// TerminalStays: a terminal record is not overwritten.
	TerminalStays Rule = "terminal record stays"
	// NeverRevive: renew does not revive a lapsed lease.
	NeverRevive Rule = "renew never revives"
	// RenewChecksFence: renew belongs to the grant.
	RenewChecksFence Rule = "renew checks fence and owner"
	// FastTicketUnconfirmed: a ticket granted at once has a confirm deadline too.
	FastTicketUnconfirmed Rule = "fast ticket has a confirm deadline"
	// RetryRearms: a retry of an unconfirmed ticket sets the deadline anew.
	RetryRearms Rule = "retry re-arms the deadline"
	// StartConfirms: a start confirms its ticket: its task has come.
	StartConfirms Rule = "start confirms its ticket"
	// VoidUnconfirmedOnly: a confirmed ticket is never voided.
	VoidUnconfirmedOnly Rule = "void never when confirmed"
	// VoidPastDeadline: not before the deadline, unless at once.
	VoidPastDeadline Rule = "void not before the deadline"
	// VoidNotLeased: not under a live lease.
	VoidNotLeased Rule = "void not under a live lease"
	// ConfirmGuards: confirm refuses a ticket that was given up.
	ConfirmGuards Rule = "confirm refuses a lost place"
	// DuplicateUnconfirmed: a duplicate is told that its ticket has no task yet.
	DuplicateUnconfirmed Rule = "duplicate is told what is confirmed"
	// SnoozeCounts: a snooze records its count before its task is created.
	SnoozeCounts Rule = "snooze records k"
	// RetryCounts: a retry records its count before its task is created.
	RetryCounts Rule = "retry records k"
	// VoidedIsUnknown: the task of a voided ticket is adopted, not dropped.
	VoidedIsUnknown Rule = "voided ticket is unknown"
	// MissingLooksTwice: a missing head needs two looks.
	MissingLooksTwice Rule = "missing looks twice"
	// MissingUnchanged: only a confirmed, unleased, unchanged head is missing.
	MissingUnchanged Rule = "missing needs an unchanged head"
	// ResendOfGrant: a resend of a reserve that granted is told the grant again.
	ResendOfGrant Rule = "resend of a grant"
	// ResendOfRetry: a resend of a finish that retried changes nothing.
	ResendOfRetry Rule = "resend of a retry"
	// TicketsGrow: every reservation takes a ticket of its own.
	TicketsGrow Rule = "reserve takes a new ticket"
	// PaceWhenGranted: pace is taken at the grant, not when the run ends.
	PaceWhenGranted Rule = "pace is taken at the grant"
	// GateNeverBack: the gate only moves forward.
	GateNeverBack Rule = "the gate never moves back"
	// LaneOutlivesTasks: a lane's state lives as long as its tasks.
	LaneOutlivesTasks Rule = "a lane outlives its tasks"
	// Quarantine: nothing starts before every lease of an older generation has run out.
	Quarantine Rule = "quarantine"
	// RepairSkips: a repair skips the tickets and fences that the lost milliseconds may have issued.
	RepairSkips Rule = "repair skips what was lost"
	// AdoptedKeepsTicket: an adopted request keeps its number.
	AdoptedKeepsTicket Rule = "an adopted request keeps its ticket"
	// ReachHolds: what is new to a lane waits until what was accepted before the loss has had time to return.
	ReachHolds Rule = "reach holds what is new"
	// MarksRestored: a lane that may have been lost begins with its marks.
	MarksRestored Rule = "marks are restored"
	// UnnoticedForgotten: a lane that began in an emptied Redis before that was noticed counts for nothing.
	UnnoticedForgotten Rule = "unnoticed lanes are forgotten"
	// PaceOfTheLost: what ran before a loss has taken its pace.
	PaceOfTheLost Rule = "pace holds across a loss"
	// YoungLooksUp: reserve says that a request may have ended before Redis was lost.
	YoungLooksUp Rule = "young lanes look up"
	// OneKick: at most one kick is under way.
	OneKick Rule = "one kick per lane"
	// OneClaim: at most one waiter drives an overdue head.
	OneClaim Rule = "one claim per head"
)

// Rules are all of them.
var Rules = []Rule{
	NoOvertaking, LiveBelowConcurrency, Pace, PaceOfTakeovers, HeadFirst, LapsedWaits, RetryKeepsPlace, FenceGrows, FenceAtFinish,
	OwnerOfDelivery, TerminalStays, NeverRevive, RenewChecksFence, FastTicketUnconfirmed, RetryRearms, StartConfirms,
	VoidUnconfirmedOnly, VoidPastDeadline, VoidNotLeased, ConfirmGuards, DuplicateUnconfirmed, SnoozeCounts, RetryCounts,
	VoidedIsUnknown, MissingLooksTwice, MissingUnchanged, ResendOfGrant, ResendOfRetry, OneKick, OneClaim,
	Quarantine, RepairSkips, AdoptedKeepsTicket, ReachHolds, MarksRestored, UnnoticedForgotten, PaceOfTheLost, YoungLooksUp,
	TicketsGrow, PaceWhenGranted, GateNeverBack, LaneOutlivesTasks,
}
