package slot_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a hub, a client or a server has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
