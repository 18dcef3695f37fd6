package firestoretest

import "syscall"

// endWithParent has the kernel kill the emulator when the test binary ends
// without running its cleanups, as it does after a -timeout.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
