package slot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seriatim/seriatim/shared/redisconn/redistest"
	"github.com/seriatim/seriatim/shared/slot/slottest"
)

// mutations take a rule away. breaks is the prefix of the invariant which then breaks, world the first one that noticed when
// this was written: the search begins there, for speed alone.
var mutations = map[string]struct {
	edit   slottest.Edit
	breaks string
	world  uint64
}{
	"live leases are at most n":        {slottest.Edit{Old: "return running() < n and not stands(h, e)", New: "return not stands(h, e)"}, "I1", 3},
	"fences grow":                      {slottest.Edit{Old: "set('fence', s.fence + 1)", New: ""}, "I1", 0},
	"the owner is of one delivery":     {slottest.Edit{Old: "if e.owner == owner then return run() end", New: "do return run() end"}, "I1", 2},
	"renew never revives":              {slottest.Edit{Old: "e and live(t) and e.fence", New: "e and e.fence"}, "I1", 23},
	"finish checks the fence":          {slottest.Edit{Old: "if e.fence ~= fence then return answer('LOST') end", New: ""}, "I", 11},
	"a lapsed lease is not resolved":   {slottest.Edit{Old: "if not h or t < h then h = t end", New: ""}, "I2", 1},
	"an arrival overtakes nobody":      {slottest.Edit{Old: "fast and not head() and", New: "fast and"}, "I2", 1},
	"only the head starts":             {slottest.Edit{Old: "x == h and runnable", New: "runnable"}, "I2", 1},
	"a retry keeps its place":          {slottest.Edit{Old: "redis.call('ZADD', L, 0, int(t))\n  leases", New: "redis.call('ZREM', L, int(t))\n  leases"}, "I", 2},
	"start waits for the pace":         {slottest.Edit{Old: "and runnable and now >= runAt(x, e)", New: "and runnable"}, "I3", 2},
	"reserve waits for the pace":       {slottest.Edit{Old: "now >= runAt(t, false)", New: "true"}, "I3", 44},
	"a burst of b is not one of b + 1": {slottest.Edit{Old: "arrival() - (burst - 1) * spacing", New: "arrival() - burst * spacing"}, "I3", 2},
	"a confirmed ticket is not voided": {slottest.Edit{Old: "e.p == 0 or (live(t)", New: "(live(t)"}, "I4", 14},
	"start confirms":                   {slottest.Edit{Old: "if e.p ~= 0 then\n  e.p = 0\n  put(x, e)\nend\nif s.miss", New: "if s.miss"}, "I4", 10},
	"a snooze records k":               {slottest.Edit{Old: "e.k, e.due, e.here = math.max(e.k, k + 1),", New: "e.k, e.due, e.here = e.k,"}, "I4", 0},
	"a retry records k":                {slottest.Edit{Old: "e.k = math.max(e.k, narg(8) + 1)", New: ""}, "I4", 2},
	"a voided ticket is no proof":      {slottest.Edit{Old: "inc == s.inc and not voided(t)", New: "inc == s.inc"}, "I4", 4},
	"a held lane starts nothing":       {slottest.Edit{Old: "if s.paused == 1 then return 'paused' end", New: ""}, "pause", 0},
	"a parked head starts nothing":     {slottest.Edit{Old: "if e.parked == 1 then return 'parked' end", New: ""}, "stand", 0},
	"an unknown head starts nothing":   {slottest.Edit{Old: "if unknown(h, e) then return 'unknown' end", New: ""}, "stand", 19},
	"only what is parked is redriven":  {slottest.Edit{Old: "if parked and e.parked == 0 or not parked and not unknown(t, e) then", New: "if false then"}, "stand", 0},
	"a resent resolve is the same":     {slottest.Edit{Old: "if rec[3] == owner then return answer(status) end", New: ""}, "", 28},
	"cancel spares what is unknown":    {slottest.Edit{Old: "if unknown(t, e) then return reply('UNKNOWN', 'ticket', int(t)) end", New: ""}, "stand", 209},
	"cancel spares what runs":          {slottest.Edit{Old: "if live(t) then return reply('RUNNING'", New: "if false then return reply('RUNNING'"}, "I1", 151},
	"purge spares what runs":           {slottest.Edit{Old: "for _, t in ipairs(lapsed()) do\n    if t < mark then", New: "for _, t in ipairs(redis.call('ZRANGE', L, 0, -1)) do\n    t = tonumber(t)\n    if t < mark then"}, "I", 124},
	"a resent reserve is no duplicate": {slottest.Edit{Old: "if rec[4] == owner then", New: "if false then"}, "I7", 0},
	"a resent run is the same run":     {slottest.Edit{Old: "if leased and e.owner == owner then", New: "if false then"}, "I7", 2},
	"a resent retry is the same retry": {slottest.Edit{Old: "if e.lastfin == fence then", New: "if false then"}, "I7", 11},
	"a resent kick is the same kick":   {slottest.Edit{Old: "if s.kickby == owner then", New: "if false then"}, "I7", 1},
	"a resent claim is the same claim": {slottest.Edit{Old: "or s.claimby == owner then", New: "then"}, "I7", 25},
	"a resent void is the same void":   {slottest.Edit{Old: "not absent and voided(t) and 'VOIDED' or 'KEPT'", New: "'KEPT'"}, "I", 41},
}

// TestEveryRuleIsNeeded takes the rules of the scripts away, one by one: each time the world must notice, and say which
// invariant is broken. It is what makes TestWorld a proof. Rules that only a rare interleaving needs have stories instead.
func TestEveryRuleIsNeeded(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	scripts := sources(t)
	for rule, m := range mutations {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(scripts, m.edit.Old) {
				t.Fatalf("no script has %q any more", m.edit.Old)
			}
			for seed := m.world; seed < m.world+400; seed++ {
				if err := explore(t, rdb, seed, m.edit); err != nil {
					if !strings.HasPrefix(err.Error(), m.breaks) {
						t.Errorf("broken: %v, want %s", err, m.breaks)
					}
					t.Logf("world %d noticed", seed)
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}

// explore lives through one world and returns what was broken.
func explore(t *testing.T, rdb *redis.Client, seed uint64, edits ...slottest.Edit) error {
	t.Helper()
	lanes := mixes(fmt.Sprintf("%s/%d", t.Name(), seed))
	lane := lanes[int(seed)%len(lanes)]
	rng := rand.New(rand.NewPCG(seed, 1))
	lane.Park, lane.HoldAmbiguous = rng.IntN(4) == 0, rng.IntN(4) == 0
	w, resender := newWorld(t, rdb, lane, rng.IntN, edits...)
	w.Faults, w.Steering = rng.IntN(2) == 0, rng.IntN(3) == 0
	return live(w, resender, 150)
}

func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	files, _ := filepath.Glob("*.lua")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
