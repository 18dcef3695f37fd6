-- release: free the key of an owner that had no effect.
--
-- KEYS[1] the hash of trylock
-- ARGV[1] owner
-- Reply: OK (free now, or already) | LOST (another holds the key, or its result is stored)
-- Invariant: only a running lock of the owner itself is deleted.
-- Sent again: OK, or LOST when another has taken the key since.

local r = redis.call('HMGET', KEYS[1], 'owner', 'state')
if not r[1] then return 'OK' end
if r[1] ~= ARGV[1] or r[2] ~= 'running' then return 'LOST' end
redis.call('DEL', KEYS[1])
return 'OK'
