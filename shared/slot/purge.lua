-- purge: cancel all that waits. Constant work: the mark says it of every ticket below; entries and records go when their
-- tasks come, or expire.
--
-- Reply: OK(purged)   how many requests were cancelled
-- Invariant: what holds a live lease goes on; no ticket below the mark starts any more.

if absent then return reply('OK', 'purged', '0') end
passWhenFull()
local purged = depth() - running()
for _, t in ipairs(lapsed()) do
  redis.call('HDEL', Q, int(t))
  entries[t] = false
end
redis.call('ZREMRANGEBYSCORE', L, '-inf', int(now))
redis.call('DEL', D)
leases = {}
set('mark', s.nxt)
set('u', s.nxt)
afresh()
set('resolved', s.resolved + purged)
extendForTask()
save()
return reply('OK', 'purged', int(purged))
