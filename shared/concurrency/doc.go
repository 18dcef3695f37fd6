// Package concurrency bounds the calls that go to one target at one time, over all lanes and instances, by a leased counter in
// Redis: a place is held by its owner until it is given back, or until its lease has run out because the owner died.
package concurrency
