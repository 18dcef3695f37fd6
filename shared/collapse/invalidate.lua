-- invalidate: forget the entry of a flight key, with the lease of a flight under way.
--
-- Reply: 1 when there was one, else 0
-- Invariant: what was being fetched cannot be stored any more: the lease is gone with its nonce. The freeing write comes
-- first, so that the script passes on a full Redis.
-- Sent again: an entry made meanwhile is forgotten too.

local found = redis.call('DEL', ENTRY)
refund()
redis.call('PUBLISH', ENTRY, 'invalidate')
return found
