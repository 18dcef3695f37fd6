-- renew: lengthen the lease of the flight.
--
-- ARGV[1] nonce of the leader   ARGV[2] lease, ms
-- Reply: 1, or 0 when the lease is another's, has been settled, or the key was invalidated
-- Invariant: only the owner's lease grows. One that has lapsed and that nobody took is still the owner's.
-- Sent again: the lease ends a little later.

local nonce, lease = ARGV[1], tonumber(ARGV[2])
if e.owner == '' or e.owner ~= nonce then return 0 end
redis.call('HSET', ENTRY, 'lease', int(now + lease))
refund()
keep(math.max(e.charged, OVERHEAD), math.max(e.kept, now + 2 * lease))
return 1
