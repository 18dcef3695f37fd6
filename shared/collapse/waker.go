package collapse

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// waker listens for all followers of the instance on one connection. Every
// message on a channel, and every confirmed subscription (also after the
// connection was lost), tells watches of it to look again: subscribe, then check.
// A message that names an entry concerns its watches only, an empty one all.
type waker struct {
	rdb     Client
	changed chan struct{} // capacity 1

	mu       sync.Mutex
	watches  map[string]map[*watch]struct{} // by channel
	listened map[string]bool                // channels whose subscription is confirmed
}

// watch is one follower's interest in an entry.
type watch struct {
	channel, entry string
	woken          chan struct{} // capacity 1
}

func (w *watch) wake() { poke(w.woken) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func newWaker(rdb Client) *waker {
	return &waker{
		rdb: rdb, changed: make(chan struct{}, 1),
		watches: map[string]map[*watch]struct{}{}, listened: map[string]bool{},
	}
}

// watch begins to listen; it does not wait for Redis.
func (w *waker) watch(channel, entry string) *watch {
	x := &watch{channel: channel, entry: entry, woken: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches[channel] == nil {
		w.watches[channel] = map[*watch]struct{}{}
	}
	w.watches[channel][x] = struct{}{}
	if w.listened[channel] {
		x.wake() // nothing else would: it is confirmed already
	}
	poke(w.changed)
	return x
}

func (w *waker) unwatch(x *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watches[x.channel], x)
	if len(w.watches[x.channel]) == 0 {
		delete(w.watches, x.channel)
	}
	poke(w.changed)
}

// run connects with the first watch and listens until ctx ends.
func (w *waker) run(ctx context.Context) {
	select {
	case <-w.changed:
		poke(w.changed)
	case <-ctx.Done():
		return
	}
	pubsub := w.rdb.Subscribe(ctx)
	events := pubsub.ChannelWithSubscriptions()
	subscribed := map[string]struct{}{}
	for more := true; more; {
		select {
		case <-ctx.Done():
			more = false
		case <-w.changed:
			w.follow(ctx, pubsub, subscribed)
		case event, open := <-events:
			w.tell(event)
			more = open // closed when the client is
		}
	}
	_ = pubsub.Close() // an error leaves nothing to do
	for range events { // so that its goroutine ends
	}
}

// follow brings the subscriptions in line with the watches. An error needs
// nothing: the client repeats all subscriptions when it has connected again,
// and until then followers poll.
func (w *waker) follow(ctx context.Context, pubsub *redis.PubSub, subscribed map[string]struct{}) {
	var add, remove []string
	w.mu.Lock()
	for channel := range w.watches {
		if _, ok := subscribed[channel]; !ok {
			add = append(add, channel)
			subscribed[channel] = struct{}{}
		}
	}
	for channel := range subscribed {
		if _, ok := w.watches[channel]; !ok {
			remove = append(remove, channel)
			delete(subscribed, channel)
			delete(w.listened, channel)
		}
	}
	w.mu.Unlock()
	if len(add) > 0 {
		_ = pubsub.Subscribe(ctx, add...)
	}
	if len(remove) > 0 {
		_ = pubsub.Unsubscribe(ctx, remove...)
	}
}

// tell wakes the watches that an event concerns.
func (w *waker) tell(event any) {
	var channel, entry string
	w.mu.Lock()
	defer w.mu.Unlock()
	switch event := event.(type) {
	case *redis.Message:
		channel, entry = event.Channel, event.Payload
	case *redis.Subscription:
		if event.Kind != "subscribe" {
			return
		}
		channel = event.Channel
		if w.watches[channel] != nil {
			w.listened[channel] = true
		}
	}
	for x := range w.watches[channel] {
		if entry == "" || entry == x.entry {
			x.wake()
		}
	}
}
