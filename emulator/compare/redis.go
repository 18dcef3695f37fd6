package compare

import "time"

// redis is a Redis server.
type redis struct {
	*world
	values map[string]int64
	expiry map[string]time.Duration // of locks
}

func (w *world) newRedis() *redis {
	return &redis{world: w, values: map[string]int64{}, expiry: map[string]time.Duration{}}
}

// do sends one command, or one script: it runs by itself, half-way between its call and its reply.
func (r *redis) do(p *process, command func()) {
	r.costs.Redis++
	p.pass(80*time.Microsecond, 300*time.Microsecond)
	command()
	p.pass(80*time.Microsecond, 300*time.Microsecond)
}

// read returns other where key is not there.
func (r *redis) read(key string, other int64) int64 {
	if value, there := r.values[key]; there {
		return value
	}
	return other
}

func (r *redis) get(p *process, key string, other int64) (value int64) {
	r.do(p, func() { value = r.read(key, other) })
	return value
}

func (r *redis) set(p *process, key string, value int64) {
	r.do(p, func() { r.values[key] = value })
}

// add is INCRBY.
func (r *redis) add(p *process, key string, n int64) {
	r.do(p, func() { r.values[key] += n })
}

// lock is SET key NX PX.
func (r *redis) lock(p *process, key string, lives time.Duration) (locked bool) {
	r.do(p, func() {
		if locked = r.now >= r.expiry[key]; locked {
			r.expiry[key] = r.now + lives
		}
	})
	return locked
}

// keep is PEXPIRE; DEL where nothing of its life is left.
func (r *redis) keep(p *process, key string, until time.Duration) {
	r.do(p, func() { r.expiry[key] = until })
}
