//go:build !linux

package chaos

import "syscall"

// endWithParent: only Linux can tie the life of a process to its parent's.
func endWithParent() *syscall.SysProcAttr { return nil }
