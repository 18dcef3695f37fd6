-- renew: lengthen a live lease.
--
-- ARGV +1 ticket  +2 fence  +3 owner
-- Reply: OK(expiry) | LOST
-- Invariant: a lapsed lease is never revived, by nobody.

local t, fence, owner = narg(1), narg(2), arg(3)
local e = not absent and open(t)
if not (e and live(t) and e.fence == fence and e.owner == owner) then return reply('LOST') end
passWhenFull()
redis.call('ZADD', L, int(now + lease), int(t))
if s['end'] < now + lease + confirmWithin then extend(now + lease + confirmWithin + 60000) end
save()
return reply('OK', 'expiry', int(now + lease))
