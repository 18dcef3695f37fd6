package slot

import (
	"context"
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

	mu    sync.Mutex
	ps    PubSub
	lanes map[string]map[*Listener]struct{}
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
	return &Hub{subscribe: subscribe, lanes: map[string]map[*Listener]struct{}{}}
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

// Listen subscribes to the lane's wake-ups for ticket. A Redis that cannot be reached is no error here: no wake-up comes. The
// caller closes the Listener.
func (h *Hub) Listen(ctx context.Context, key string, ticket int64) *Listener {
	return h.listen(ctx, KeysOf(key).Wake(), strconv.FormatInt(ticket, 10))
}

// ListenEnd is Listen for the end of a request.
func (h *Hub) ListenEnd(ctx context.Context, key, requestID string) *Listener {
	return h.listen(ctx, KeysOf(key).Ended(), requestID)
}

func (h *Hub) listen(ctx context.Context, channel, word string) *Listener {
	l := &Listener{C: make(chan Wakeup, 1), hub: h, channel: channel, word: word}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ps == nil {
		h.ps = h.subscribe()
		go h.receive(h.ps.ChannelWithSubscriptions())
	}
	first := h.lanes[l.channel] == nil
	if first {
		h.lanes[l.channel] = map[*Listener]struct{}{}
	}
	h.lanes[l.channel][l] = struct{}{}
	if first {
		// The client keeps the channel in its list and subscribes again when it reconnects, so the error needs no handling.
		_ = h.ps.Subscribe(ctx, l.channel)
	}
	return l
}

// Close ends the listening; the last listener of a lane ends its subscription.
func (l *Listener) Close() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lanes[l.channel], l)
	if len(h.lanes[l.channel]) == 0 {
		delete(h.lanes, l.channel)
		_ = h.ps.Unsubscribe(context.Background(), l.channel)
	}
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

func (h *Hub) receive(messages <-chan any) {
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
