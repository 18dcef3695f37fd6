-- invalidate: forget a read in all its variants, with the leases of flights under way.
--
-- Reply: 1 when there was something, else 0
-- Invariant: what was being fetched cannot be stored any more: the lease is void with its epoch. The freeing write comes
-- first, so that the script passes on a full Redis. The work is the same however many variants there are.
-- Sent again: an entry made meanwhile is forgotten too.

redis.call('DEL', ENTRY)
refund()
local found = redis.call('DEL', EPOCH)
redis.call('PUBLISH', EPOCH, '')
return found
