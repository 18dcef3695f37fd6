package generation

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Install begins a generation without quarantine where the marker is absent or of another server: for a system whose processes all
// start now, so that nothing from before can still run, as in the emulator and in tests. Call it before they connect.
func Install(ctx context.Context, rdb *redis.Client) error {
	conn := rdb.Conn()
	defer conn.Close()
	seen, err := look(ctx, conn)
	if err != nil || seen.Number > 0 && seen.identity == seen.server {
		return err
	}
	return mark(ctx, conn, seen.server, terms{cause: causeInstalled})
}
