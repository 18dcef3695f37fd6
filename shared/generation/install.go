package generation

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// installTimeout bounds the question whether this is the first life: a Firestore emulator that has just started takes seconds.
const installTimeout = 30 * time.Second

// Install begins a generation without quarantine where the marker is absent or of another server: for a system whose processes all
// start now, so that nothing from before can still run, as in the emulator and in tests. Call it before they connect. first is
// asked as Options.First is: what is not the first life has a restoring time. Nil: nothing outlives Redis.
func Install(ctx context.Context, rdb *redis.Client, first func(context.Context) (bool, error)) error {
	conn := rdb.Conn()
	defer conn.Close()
	seen, err := look(ctx, conn)
	if err != nil || seen.Number > 0 && seen.identity == seen.server {
		return err
	}
	made := terms{cause: causeInstalled}
	if first != nil {
		ctx, cancel := context.WithTimeout(ctx, installTimeout)
		defer cancel()
		is, err := first(ctx)
		if err != nil {
			return err
		}
		if !is {
			made.restore = restoring
		}
	}
	return mark(ctx, conn, seen.server, made)
}
