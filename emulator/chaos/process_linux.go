package chaos

import "syscall"

// endWithParent has the kernel kill a process when the driver is gone, even if that was killed itself.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
