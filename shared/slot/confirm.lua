-- confirm: the task of a ticket is durable, later than its deadline allows to take for granted.
--
-- KEYS[6]   record of the request
-- ARGV +1 request id  +2 ticket  +3 incarnation
-- Reply: OK     the ticket stands, or the request is terminal: it may be acknowledged
--        VOID   the place was given up: reserve anew
-- Invariant: after OK nobody voids the ticket.

local r, t, inc = arg(1), narg(2), narg(3)
local status = redis.call('HGET', REC, 'status')
if status and status ~= 'open' then return reply('OK') end
local e = not absent and inc == s.inc and open(t)
if not (e and e.r == r) then return reply('VOID') end
passWhenFull()
if e.p ~= 0 then
  e.p = 0
  put(t, e)
end
extendForTask()
save()
return reply('OK')
