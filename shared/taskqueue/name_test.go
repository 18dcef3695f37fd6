package taskqueue_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatim/seriatim/shared/taskqueue"
)

func TestTaskIDsStayTheSame(t *testing.T) {
	t.Parallel()

	// A driver of this release looks for tasks that the last one created.
	if got, want := taskqueue.RequestTaskID("tenant-42:product-7", 1796119200000, 1796119200007, "abcdefghijklmnopqrstuvwxyz", 2), "yobnsvpugk33fxo3yvso2qd2alovgkcagc3age7x"; got != want {
		t.Errorf("RequestTaskID = %s, want %s", got, want)
	}
	if got, want := taskqueue.KickTaskID("tenant-42:product-7", 1796119200000, 3), "jhmts7azkvgudp75o7dmg6gyoeu6zmv6yybssbms"; got != want {
		t.Errorf("KickTaskID = %s, want %s", got, want)
	}
}

type name struct {
	kick                     bool
	key, request             string
	incarnation, ticket, seq int64
	k                        int
}

func (n name) id() string {
	if n.kick {
		return taskqueue.KickTaskID(n.key, n.incarnation, n.seq)
	}
	return taskqueue.RequestTaskID(n.key, n.incarnation, n.ticket, n.request, n.k)
}

// Small alphabets, so that parts that run into each other would be found out.
func genName() *rapid.Generator[name] {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("01-/")), 0, 3, -1)
	number := rapid.Int64Range(-1, 11)
	return rapid.Custom(func(t *rapid.T) name {
		n := name{kick: rapid.Bool().Draw(t, "kick"), key: text.Draw(t, "key"), incarnation: number.Draw(t, "incarnation")}
		if n.kick {
			n.seq = number.Draw(t, "seq")
		} else {
			n.ticket, n.request, n.k = number.Draw(t, "ticket"), text.Draw(t, "request"), int(number.Draw(t, "k"))
		}
		return n
	})
}

func TestTaskIDs(t *testing.T) {
	t.Parallel()

	form := regexp.MustCompile(`^[a-z2-7]{40}$`)
	rapid.Check(t, func(t *rapid.T) {
		seen := map[string]name{}
		for _, n := range rapid.SliceOfN(genName(), 1, 50).Draw(t, "names") {
			id := n.id()
			if !form.MatchString(id) || id != n.id() {
				t.Fatalf("%+v: id %q is malformed or not pure", n, id)
			}
			if other, ok := seen[id]; ok && other != n {
				t.Fatalf("%+v and %+v share the id %s", n, other, id)
			}
			seen[id] = n
		}
	})
}
