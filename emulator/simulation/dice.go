package simulation

import (
	"encoding/base32"
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

// dice draws from one seed. What is drawn depends on the decision, what it is about, and how often that was drawn before.
type dice struct {
	seed uint64

	mu    sync.Mutex
	drawn map[uint64]uint64
}

func newDice(seed uint64) *dice { return &dice{seed: seed, drawn: map[uint64]uint64{}} }

// roll is the numbers of one decision.
type roll struct{ id, state uint64 }

func (d *dice) hash(decision, about string) uint64 {
	h := uint64(14695981039346656037) ^ d.seed
	for _, text := range [...]string{decision, about} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return h
}

// at is a roll that depends on the virtual time instead of on how often it was drawn.
func (d *dice) at(decision, about string) roll {
	id := mix(d.hash(decision, about) + uint64(time.Now().UnixNano()))
	return roll{id, id}
}

func (d *dice) roll(decision, about string) roll {
	h := d.hash(decision, about)
	d.mu.Lock()
	d.drawn[h]++
	n := d.drawn[h]
	d.mu.Unlock()
	id := mix(h + n*0x9e3779b97f4a7c15)
	return roll{id, id}
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *roll) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// float is in [0, 1).
func (r *roll) float() float64 { return float64(r.next()>>11) / (1 << 53) }

func (r *roll) intn(n int) int { return int(r.next() % uint64(n)) }

// span is in [low, high), to the nanosecond.
func (r *roll) span(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.next()%uint64(high-low))
}

var words = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func (r *roll) nonce() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], r.next())
	binary.BigEndian.PutUint64(b[8:], r.next())
	return strings.ToLower(words.EncodeToString(b[:]))
}
