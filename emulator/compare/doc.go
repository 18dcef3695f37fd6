// Package compare sends the same arrivals through five ways to keep requests of one key in order and at pace, on simulated
// clocks, and sets side by side what each costs and what each breaks.
//
// The last row, Seriatim, is the product's own code: both functions, the lane protocol and the client of the queue, run by
// package simulation in a bubble of testing/synctest. The other four are baselines, written out as processes that take turns on
// a virtual clock. All meet the same world: a network of 80-300 microseconds to Redis and 5-20 ms to Cloud Tasks each way, a
// queue of 500 dispatches a second, dispatches that come 20-200 ms after their schedule time and, where asked for, in one of 500
// cases 30-180 s later, and a target that takes as long for a request whichever way the request comes. No instance crashes, no
// message is lost: what the baselines break here they break on a good day.
//
// One seed is one result, to the byte.
package compare
