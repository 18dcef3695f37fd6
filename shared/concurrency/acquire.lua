-- acquire: take one of the places of a target, or say that all are taken.
--
-- KEYS[1]  zset  owner -> end of its lease, ms
-- ARGV[1] owner (nonce of the run)  [2] places  [3] lease ms
-- Reply: 1 taken, now or before by this owner; 0 full
-- Invariant: at most so many owners hold a lease that has not run out. Repeated by the same owner it answers the same.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[3])), ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1
