package slottest

import "slices"

// Task is a task of the modelled queue. The queue delivers at least once, in any order, early and late.
type Task struct {
	Request             string
	Ticket, Incarnation int64
	K                   int
}

// queue is Cloud Tasks as far as a lane can see it: a name is taken for ever, a task stays until it is answered 200, and a
// creation whose answer was lost may land much later.
type queue struct {
	names   map[Task]bool
	tasks   []Task
	landing []Task
}

// create adds a task. A name that was used before is a success without a task, as with ALREADY_EXISTS.
func (q *queue) create(t Task) {
	if q.names[t] {
		return
	}
	q.names[t] = true
	q.tasks = append(q.tasks, t)
}

// land lets the i-th creation whose answer was lost take place.
func (q *queue) land(i int) {
	t := q.landing[i]
	q.landing = slices.Delete(q.landing, i, i+1)
	q.create(t)
}

func (q *queue) remove(t Task) {
	q.tasks = slices.DeleteFunc(q.tasks, func(other Task) bool { return other == t })
}

// lookUp finds the task of a ticket as a driver does: by k, then by the one before.
func (q *queue) lookUp(request string, ticket, incarnation int64, k int) bool {
	return slices.ContainsFunc(q.tasks, func(t Task) bool {
		return t.Request == request && t.Ticket == ticket && t.Incarnation == incarnation && (t.K == k || t.K == k-1)
	})
}

func (q *queue) has(request string) bool {
	return slices.ContainsFunc(q.tasks, func(t Task) bool { return t.Request == request })
}
