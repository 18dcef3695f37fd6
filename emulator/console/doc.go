// Package console is the emulator's page: lanes as lanes, live, with the buttons that steer them.
//
//  1. What it shows comes from a Journal of transitions, told by wrappers around the scripts that the functions of the process
//     call. Nothing is asked of Redis for it, and no payload, header or idempotency key passes through it.
//  2. What its buttons do goes over the public HTTP API, as a user's calls would.
//  3. It is memory alone: bounded, and empty again after a restart. The lane's own state is read from the API.
//
// The page is static: no build step, and no request to anywhere else.
package console
