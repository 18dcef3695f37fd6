// Package redistest gives tests a Redis: a real redis-server on a free port
// of 127.0.0.1, or miniredis in the test's own process.
//
// What must hold on both is tested with [Each]. What only a real server shows
// (memory limits, lost replies, a killed or frozen server) uses [Start].
// All clients are opened by redisconn, with the settings of production.
//
// Where no redis-server is installed such tests skip and say so; with
// SERIATIM_REQUIRE_REAL=1 in the environment they fail instead.
package redistest
