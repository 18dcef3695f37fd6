package chaos

import (
	"context"
	"sync"
	"time"
)

// injector deals faults until ctx ends, every of them in a goroutine of its own: those of one thing wait for one another, all others
// may fall together.
type injector struct {
	world *world
	dice  *dice
	kinds []fault
	every time.Duration // between two faults, on average

	mu     sync.Mutex
	counts map[string]int
	errs   []error
}

func (i *injector) run(ctx context.Context) {
	var going sync.WaitGroup
	defer going.Wait()
	if len(i.kinds) == 0 {
		return
	}
	for once := true; ; once = false {
		for _, f := range i.deck(once) {
			pause(ctx, i.dice.between(i.every/2, i.every*3/2))
			if ctx.Err() != nil {
				return
			}
			going.Go(func() { i.strike(ctx, f) })
		}
	}
}

// strike has a fault happen. What it began it ends also when ctx does.
func (i *injector) strike(ctx context.Context, f fault) {
	err := f.strike(ctx, i.world, i.dice)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts[f.name]++
	if err != nil && ctx.Err() == nil {
		i.errs = append(i.errs, err)
	}
}

// deck is shuffled: once every kind, so that a short run has all of them, and then each as often as its weight says.
func (i *injector) deck(once bool) (deck []fault) {
	for _, f := range i.kinds {
		cards := f.weight
		if once {
			cards = 1
		}
		for range cards {
			deck = append(deck, f)
		}
	}
	i.dice.shuffle(len(deck), func(a, b int) { deck[a], deck[b] = deck[b], deck[a] })
	return deck
}
