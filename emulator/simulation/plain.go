package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// plain is what Redis holds beside the lanes: sets, sorted sets and texts, as far as the product uses them. World.perform guards
// it.
type plain struct {
	texts  map[string]string
	scores map[string]map[string]float64 // a set has scores of 0
	set    map[string]time.Time          // when a member of a set came to it
	gone   func(key, member string)      // sees ZREM
	info   func() string
	newest int64 // generation
}

// clone copies what p holds, take replaces it.
func (p *plain) clone() *plain {
	out := newPlain()
	maps.Copy(out.texts, p.texts)
	maps.Copy(out.set, p.set)
	for key, members := range p.scores {
		out.scores[key] = maps.Clone(members)
	}
	return out
}

func (p *plain) take(other *plain) {
	p.texts, p.scores, p.set = other.texts, other.scores, other.set
}

func newPlain() *plain {
	return &plain{texts: map[string]string{}, scores: map[string]map[string]float64{}, set: map[string]time.Time{}}
}

// newClient is a go-redis client of an instance whose commands reach World.plain, in place of a connection, by the same arrows
// as scripts.
func newClient(in *instance) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: "simulated:0", DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	c.AddHook(hook{in})
	return c
}

// hook carries out commands.
type hook struct{ in *instance }

// DialHook is redis.Hook's: nothing is dialed.
func (hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook is redis.Hook's.
func (h hook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h.send(ctx, []redis.Cmder{cmd}) }
}

// ProcessPipelineHook is redis.Hook's: a pipeline is one call.
func (h hook) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return h.send
}

func (h hook) send(ctx context.Context, cmds []redis.Cmder) error {
	c, _ := ctx.Value(pinned{}).(connection)
	replies, err := command(ctx, caller{in: h.in, sent: time.Now()}, "plain", h.in.name+" "+about(cmds)+" "+c.about, func(context.Context) (replies []any, _ error) {
		if strings.EqualFold(cmds[0].Name(), "info") {
			h.in.world.stick(ctx)
		}
		for _, cmd := range cmds {
			replies = append(replies, h.in.world.plain.do(cmd.Args()))
		}
		return replies, nil
	})
	if err != nil {
		h.in.blind.Store(time.Now().UnixNano())
	}
	for i, cmd := range cmds {
		if err != nil {
			cmd.SetErr(err)
			continue
		}
		answer(cmd, replies[i])
	}
	if err == nil && len(cmds) == 1 {
		return cmds[0].Err()
	}
	return err
}

// about tells one call from another: its first keys.
func about(cmds []redis.Cmder) string {
	for _, cmd := range cmds {
		if args := cmd.Args(); len(args) > 1 {
			return fmt.Sprint(args[0], " ", args[1])
		}
	}
	return ""
}

// do carries out one command. Lives of keys are left out: runs are shorter.
func (p *plain) do(args []any) any {
	text := func(i int) string { return fmt.Sprint(args[i]) }
	switch name := strings.ToLower(text(0)); name {
	case "multi", "exec", "pexpire", "pexpireat":
	case "info":
		return p.info()
	case "pttl":
		return 366 * 24 * time.Hour
	case "evalsha", "eval":
		list := make([]string, len(args)-4)
		for i := range list {
			list[i] = text(i + 4)
		}
		return p.mark(text(3), list)
	case "sadd":
		p.add(text(1), text(2), 0)
		if key := text(1) + " " + text(2); p.set[key].IsZero() {
			p.set[key] = time.Now()
		}
	case "srem", "zrem":
		if p.gone != nil && name == "zrem" {
			p.gone(text(1), text(2))
		}
		delete(p.scores[text(1)], text(2))
		delete(p.set, text(1)+" "+text(2))
	case "smembers":
		return p.range_(text(1), "-inf", "+inf")
	case "set":
		if b, ok := args[2].([]byte); ok {
			p.texts[text(1)] = string(b)
		}
	case "get":
		if value, found := p.texts[text(1)]; found {
			return value
		}
		return redis.Nil
	case "del":
		delete(p.texts, text(1))
	case "zadd":
		score, _ := strconv.ParseFloat(text(len(args)-2), 64)
		p.add(text(1), text(len(args)-1), score)
	case "zrangebyscore":
		return p.range_(text(1), text(2), text(3))
	case "zrevrangebyscore":
		found := p.range_(text(1), text(3), text(2))
		slices.Reverse(found)
		return limited(found, args)
	default:
		panic("simulated Redis does not know " + name)
	}
	return nil
}

func (p *plain) add(key, member string, score float64) {
	if p.scores[key] == nil {
		p.scores[key] = map[string]float64{}
	}
	p.scores[key][member] = score
}

// range_ returns the members with a score in [low, high], ascending.
func (p *plain) range_(key, low, high string) []redis.Z {
	from, _ := strconv.ParseFloat(low, 64)
	to, _ := strconv.ParseFloat(high, 64)
	var found []redis.Z
	for member, score := range p.scores[key] {
		if score >= from && score <= to {
			found = append(found, redis.Z{Score: score, Member: member})
		}
	}
	slices.SortFunc(found, func(a, b redis.Z) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Member.(string), b.Member.(string)))
	})
	return found
}

// limited obeys LIMIT offset count.
func limited(found []redis.Z, args []any) []redis.Z {
	for i, a := range args {
		if word, ok := a.(string); ok && strings.EqualFold(word, "limit") {
			offset, count := fmt.Sprint(args[i+1]), fmt.Sprint(args[i+2])
			from, _ := strconv.Atoi(offset)
			n, _ := strconv.Atoi(count)
			from = min(from, len(found))
			return found[from:min(len(found), from+n)]
		}
	}
	return found
}

// answer sets what a command came to.
func answer(cmd redis.Cmder, reply any) {
	if err, failed := reply.(error); failed {
		cmd.SetErr(err)
		return
	}
	found, _ := reply.([]redis.Z)
	members := make([]string, len(found))
	for i, z := range found {
		members[i] = z.Member.(string)
	}
	switch cmd := cmd.(type) {
	case *redis.StringSliceCmd:
		cmd.SetVal(members)
	case *redis.ZSliceCmd:
		cmd.SetVal(found)
	case *redis.DurationCmd:
		cmd.SetVal(reply.(time.Duration))
	case *redis.Cmd:
		cmd.SetVal(reply)
	case *redis.StringCmd:
		cmd.SetVal(reply.(string))
	}
}

// paused is when a target was paused, zero for one that is not.
func (p *plain) paused(name string) time.Time {
	for key, at := range p.set {
		if strings.HasPrefix(key, "seriatim-targets:") && strings.HasSuffix(key, " "+name) {
			return at
		}
	}
	return time.Time{}
}
