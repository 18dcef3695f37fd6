// Package cloudtasks is an emulator of the Cloud Tasks API v2: a server on a
// loopback port that speaks gRPC and REST, keeps its queues in memory and sends
// tasks to their targets over HTTP as the service does.
//
// [Start] runs one inside a test or a program. The rules are those of package
// engine; this package adds the network, the clock and the tokens.
package cloudtasks
