-- trylock: take the key, or say who has it.
--
-- KEYS[1] a hash: owner, fp (fingerprint), state (running | done), result. It expires, by Redis's clock, when lease or retention ends
-- ARGV[1] owner: nonce of the call   ARGV[2] fingerprint   ARGV[3] lease in ms, or 0: only look
-- Reply: {verdict, result, what is left of lease or retention in ms}; verdict is acquired | running | done | mismatch | free
-- Invariant: a key that is there is never taken over.
-- Sent again: acquired, with what is left of the same lease.

local owner, fp, lease = ARGV[1], ARGV[2], ARGV[3]
local r = redis.call('HMGET', KEYS[1], 'owner', 'fp', 'state', 'result')
if not r[1] then
  if lease == '0' then return { 'free', '', 0 } end
  redis.call('HSET', KEYS[1], 'owner', owner, 'fp', fp, 'state', 'running')
  redis.call('PEXPIRE', KEYS[1], lease)
  return { 'acquired', '', tonumber(lease) }
end
local left = redis.call('PTTL', KEYS[1])
if r[1] == owner and r[3] == 'running' then return { 'acquired', '', left } end
if r[2] ~= fp then return { 'mismatch', '', left } end
return { r[3], r[4] or '', left }
