package simulation

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/slot"
)

// broker is Redis' pub/sub.
type broker struct {
	world *World
	mu    sync.Mutex
	subs  []*subscription
}

func newBroker(w *World) *broker { return &broker{world: w} }

// subscription is one connection; it is the slot.PubSub of an instance's Hub.
type subscription struct {
	broker   *broker
	in       *instance
	messages chan any
	channels []string
	closed   bool
}

func (b *broker) subscribe(in *instance) *subscription {
	s := &subscription{broker: b, in: in, messages: make(chan any, 4096)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(b.subs, s)
	return s
}

// drop ends the connections of a dead instance.
func (b *broker) drop(in *instance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		if s.in == in {
			s.end()
		}
	}
	b.subs = slices.DeleteFunc(b.subs, func(s *subscription) bool { return s.in == in })
}

func (b *broker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		s.end()
	}
}

func (s *subscription) end() {
	if !s.closed {
		s.closed = true
		close(s.messages)
	}
}

func (b *broker) publish(key string, ticket, at int64) {
	channel := slot.KeysOf(key).Wake()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		if slices.Contains(s.channels, channel) && !b.world.strike("lost wake-up", s.in.name, b.world.faults().WakeLost) {
			s.send(&redis.Message{Channel: channel, Payload: number(ticket) + " " + number(at)})
		}
	}
}

// reconnect has all connections break and be made anew: what was published meanwhile is lost.
func (b *broker) reconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		for _, c := range s.channels {
			s.send(&redis.Subscription{Kind: "subscribe", Channel: c})
		}
	}
}

// ended publishes the end of a request.
func (b *broker) ended(key, id string) {
	channel := slot.KeysOf(key).Ended()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
		if slices.Contains(s.channels, channel) && !b.world.strike("lost wake-up", s.in.name, b.world.faults().WakeLost) {
			s.send(&redis.Message{Channel: channel, Payload: id + " 0"})
		}
	}
}

// send delivers a moment later.
func (s *subscription) send(message any) {
	r := s.broker.world.dice.roll("wake-up", s.in.name)
	time.AfterFunc(r.span(100*time.Microsecond, 500*time.Microsecond), func() {
		s.broker.mu.Lock()
		defer s.broker.mu.Unlock()
		if !s.closed {
			s.messages <- message
		}
	})
}

// Subscribe listens to channels.
func (s *subscription) Subscribe(_ context.Context, channels ...string) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.world.count(RedisCommands)
	for _, c := range channels {
		s.channels = append(s.channels, c)
		s.send(&redis.Subscription{Kind: "subscribe", Channel: c})
	}
	return nil
}

// Unsubscribe ends that.
func (s *subscription) Unsubscribe(_ context.Context, channels ...string) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.world.count(RedisCommands)
	s.channels = slices.DeleteFunc(s.channels, func(c string) bool { return slices.Contains(channels, c) })
	return nil
}

// ChannelWithSubscriptions is where messages come.
func (s *subscription) ChannelWithSubscriptions(...redis.ChannelOption) <-chan any { return s.messages }

// Close ends the connection.
func (s *subscription) Close() error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.end()
	return nil
}
