-- accept: store the result of whoever holds the key.
--
-- KEYS[1] the hash of trylock
-- ARGV[1] owner   ARGV[2] fingerprint   ARGV[3] result   ARGV[4] retention in ms   ARGV[5] 1: whoever holds it
-- Reply: OK | LOST (another holds the key)
-- Invariant: without ARGV[5] nothing of another owner is written over. A key that is gone is written: its lease lapsed, and
-- nobody followed.
-- Sent again: OK, and the first result with what is left of its retention stays.

local r = redis.call('HMGET', KEYS[1], 'owner', 'state')
if r[1] == ARGV[1] and r[2] == 'done' then return 'OK' end
if r[1] and r[1] ~= ARGV[1] and ARGV[5] ~= '1' then return 'LOST' end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fp', ARGV[2], 'state', 'done', 'result', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 'OK'
