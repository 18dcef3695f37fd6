// Package redisconn opens the connection to Redis: address, TLS and
// timeouts in one place, so that every client of the system, in tests too,
// talks to Redis in the same way.
//
// The settings suit a scripted workload on Memorystore for Redis, from
// function instances that come and go:
//
//   - No CLIENT command is ever sent: Memorystore blocks it, and a client
//     name would make every connection fail.
//   - A call whose reply was lost is sent again, up to three times. Every
//     script is therefore replay-safe (DESIGN.md, I7).
//   - A caller's context bounds the whole call, the resends included.
//
// An error is one of three things for a caller: Redis cannot serve now
// ([IsUnreachable]), Redis is full ([IsFull]), or a fault in the call itself.
package redisconn
