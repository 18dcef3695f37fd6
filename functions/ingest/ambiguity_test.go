package ingest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/problem"
	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestTheQueueRefuses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb *redis.Client) {
		b := setupOn(t, rdb)
		b.queue.set(refused)
		wantProblem(t, b.submit("lane-a", async, once("k")), 503, problem.Unavailable)
		if s, _ := b.inspect("lane-a", ""); s.Depth != 0 {
			t.Errorf("depth %d: a place without a task was left", s.Depth)
		}
		// The same request, sent again, is as if it had never been.
		b.queue.set(nil)
		got := wantAccepted(t, b.submit("lane-a", async, once("k")))
		if _, ok := b.queue.task(got.Ticket, 0); !ok || got.Position != 1 {
			t.Errorf("got %+v, want the first place, with a task", got)
		}
	})
}

func TestTheQueueRefusesTheTaskOfARetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.target.answer(500, "boom")
	b.queue.set(refused)
	wantProblem(t, b.submit("lane-a", once("k")), 503, problem.Unavailable)
	if s, _ := b.inspect("lane-a", ""); s.Depth != 0 {
		t.Errorf("depth %d: the lane stands on a request that has no task", s.Depth)
	}
	b.queue.set(nil)
	wantStatus(t, b.submit("lane-a", once("k")), 200, "done") // as if it had never been
}

func TestGivingAPlaceUpWakesTheLane(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.queue.set(func(task taskqueue.Task, exist func()) error {
		// While the queue thinks, another request comes behind.
		b.queue.set(nil)
		wantAccepted(t, b.submit("lane-a", async))
		b.waitRedis(5 * time.Millisecond) // its task is late
		return refused(task, exist)
	})
	wantProblem(t, b.submit("lane-a", async), 503, problem.Unavailable)
	if kicks := b.queue.of(taskqueue.KindKick); len(kicks) != 1 {
		t.Errorf("%d kicks, want 1: the next head may start now, and its task has not come", len(kicks))
	}
}

func TestTheQueueDoesNotSay(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(taskqueue.Task, func()) error{"took it": lostReply, "did not take it": vanished} {
		t.Run("and "+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.queue.set(create)
			wantProblem(t, b.submit("lane-a", async, once("k")), 503, problem.OutcomeUnknown)
			if s, _ := b.inspect("lane-a", ""); s.Depth != 1 {
				t.Fatalf("depth %d: a place whose task may live was given up", s.Depth)
			}
			// Sent again, the same ticket is acknowledged, now by confirm.
			b.queue.set(nil)
			got := wantAccepted(t, b.submit("lane-a", async, once("k")))
			if _, ok := b.queue.task(got.Ticket, 0); !ok {
				t.Error("acknowledged without a task")
			}
			if tasks := b.queue.of(taskqueue.KindRequest); len(tasks) != 1 {
				t.Errorf("%d tasks for one request", len(tasks))
			}
			b.wantConfirmed("lane-a", got)
		})
	}
}

func TestADuplicateWhoseTaskIsRefusedGivesNothingUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.queue.set(vanished)
	wantProblem(t, b.submit("lane-a", async, once("k")), 503, problem.OutcomeUnknown)
	b.queue.set(refused)
	wantProblem(t, b.submit("lane-a", async, once("k")), 503, problem.Unavailable)
	if s, _ := b.inspect("lane-a", ""); s.Depth != 1 {
		t.Error("a duplicate gave up the place of a first caller who may yet succeed")
	}
}
