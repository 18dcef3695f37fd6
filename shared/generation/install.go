package generation

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Install begins a generation without quarantine where the marker is absent or of another server: for a system whose processes all
// start now, so that nothing from before can still run, as in the emulator and in tests. Call it before they connect. outlived says
// that a Firestore may hold what an earlier Redis has lost: the generation then has a restoring time.
func Install(ctx context.Context, rdb *redis.Client, outlived bool) error {
	conn := rdb.Conn()
	defer conn.Close()
	seen, err := look(ctx, conn)
	if err != nil || seen.Number > 0 && seen.identity == seen.server {
		return err
	}
	made := terms{cause: causeInstalled}
	if outlived {
		made.restore = restoring
	}
	return mark(ctx, conn, seen.server, made)
}
