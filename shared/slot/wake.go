package slot

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Hub brings wake-ups to the waiters of one instance over one subscription connection, however many lanes and waiters there
// are. A wake-up is a hint: one that is lost costs time, never correctness, since waiters also poll. It is safe for
// concurrent use.
type Hub struct {
	subscribe func() PubSub
	due       chan struct{} // has room for one: changes wait

	mu      sync.Mutex
	ps      PubSub
	lanes   map[string]map[*Listener]struct{} // by channel
	changes map[string]bool                   // channels to subscribe to (true) and to leave
}

// Subscriber is the part of a go-redis client that a Hub needs.
type Subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// PubSub is the part of a go-redis subscription that a Hub needs.
type PubSub interface {
	Subscribe(ctx context.Context, channels ...string) error
	Unsubscribe(ctx context.Context, channels ...string) error
	ChannelWithSubscriptions(opts ...redis.ChannelOption) <-chan any
	Close() error
}

// NewHub returns a Hub that opens its connection with the first Listen.
func NewHub(rdb Subscriber) *Hub {
	return NewHubOn(func() PubSub { return rdb.Subscribe(context.Background()) })
}

// NewHubOn returns a Hub that calls subscribe with the first Listen: a simulation brings its own Redis.
func NewHubOn(subscribe func() PubSub) *Hub {
	return &Hub{
		subscribe: subscribe, due: make(chan struct{}, 1), lanes: map[string]map[*Listener]struct{}{}, changes: map[string]bool{},
	}
}

// Wakeup is a hint to look again.
type Wakeup struct {
	// At is the Redis instant in milliseconds from which the listener's ticket may start. It is 0 where the listener should look
	// at once: its request has ended, or the subscription has been made (anew) and messages before it may have been missed.
	At int64
}

// Listener receives the wake-ups for one ticket or one request of one lane.
type Listener struct {
	// C has room for one wake-up; a newer one replaces an older.
	C chan Wakeup

	hub     *Hub
	channel string
	word    string // the first of the messages meant for it
}

// Listen subscribes to the lane's wake-ups for ticket, without waiting for Redis. A Redis that cannot be reached is no error here:
// no wake-up comes. The caller closes the Listener.
func (h *Hub) Listen(key string, ticket int64) *Listener {
	return h.listen(KeysOf(key).Wake(), strconv.FormatInt(ticket, 10))
}

// ListenEnd is Listen for the end of a request.
func (h *Hub) ListenEnd(key, requestID string) *Listener {
	return h.listen(KeysOf(key).Ended(), requestID)
}

func (h *Hub) listen(channel, word string) *Listener {
	l := &Listener{C: make(chan Wakeup, 1), hub: h, channel: channel, word: word}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ps == nil {
		h.ps = h.subscribe()
		ended := make(chan struct{})
		go h.receive(h.ps.ChannelWithSubscriptions(), ended)
		go h.follow(h.ps, ended)
	}
	if h.lanes[channel] == nil {
		h.lanes[channel] = map[*Listener]struct{}{}
		h.change(channel, true)
	}
	h.lanes[channel][l] = struct{}{}
	return l
}

// Close ends the listening; the last listener of a lane ends its subscription. Closing again does nothing.
func (l *Listener) Close() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, open := h.lanes[l.channel][l]; !open {
		return
	}
	delete(h.lanes[l.channel], l)
	if len(h.lanes[l.channel]) == 0 {
		delete(h.lanes, l.channel)
		h.change(l.channel, false)
	}
}

// change leaves it to follow to subscribe to a channel, or to leave it. h.mu is held.
func (h *Hub) change(channel string, subscribe bool) {
	h.changes[channel] = subscribe
	select {
	case h.due <- struct{}{}:
	default:
	}
}

// follow makes the changes, many in one command. It alone waits where Redis cannot be reached.
func (h *Hub) follow(ps PubSub, ended <-chan struct{}) {
	for {
		select {
		case <-h.due:
		case <-ended:
			return
		}
		subscribe, leave := h.changed()
		// The client keeps the channels in its list and subscribes again when it reconnects, so errors need no handling.
		if len(subscribe) > 0 {
			_ = ps.Subscribe(context.Background(), subscribe...)
		}
		if len(leave) > 0 { // none would mean all
			_ = ps.Unsubscribe(context.Background(), leave...)
		}
	}
}

// changed takes the changes that wait, in the order of the channels' names: a simulation is to run the same again.
func (h *Hub) changed() (subscribe, leave []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, channel := range slices.Sorted(maps.Keys(h.changes)) {
		if h.changes[channel] {
			subscribe = append(subscribe, channel)
		} else {
			leave = append(leave, channel)
		}
	}
	clear(h.changes)
	return subscribe, leave
}

// Close ends the subscription connection. No Listener may be open.
func (h *Hub) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ps == nil {
		return nil
	}
	return h.ps.Close()
}

// receive delivers until the subscription is closed.
func (h *Hub) receive(messages <-chan any, ended chan<- struct{}) {
	defer close(ended)
	for m := range messages {
		switch m := m.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				h.deliver(m.Channel, "", Wakeup{})
			}
		case *redis.Message:
			word, at, _ := strings.Cut(m.Payload, " ")
			if from, err := strconv.ParseInt(at, 10, 64); word != "" && err == nil {
				h.deliver(m.Channel, word, Wakeup{At: from})
			}
		}
	}
}

// deliver hands w to the listeners of word on the channel, or to all of them where it is empty.
func (h *Hub) deliver(channel, word string, w Wakeup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.lanes[channel] {
		if word == "" || l.word == word {
			l.put(w)
		}
	}
}

func (l *Listener) put(w Wakeup) {
	select {
	case l.C <- w:
		return
	default:
	}
	select {
	case <-l.C:
	default:
	}
	select {
	case l.C <- w:
	default:
	}
}
