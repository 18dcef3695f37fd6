-- cancel: take a request out while it waits.
--
-- KEYS[6]   record of the request   KEYS[7]  its response, if it was parked
-- ARGV +1 request id
-- Reply: OK(ticket, next head)   cancelled, now or before
--        RUNNING(ticket)                  it holds a live lease
--        UNKNOWN(ticket)                  its lease was lost: it may have run, and somebody has to say
--        FINISHED(status)                 it has ended otherwise
--        NONE                             no such request
-- Invariant: a live lease is never cancelled; the id is free again.

local r = arg(1)
local rec = redis.call('HMGET', REC, 'status', 'ticket')
local status, t = rec[1], tonumber(rec[2] or 0)
if not status then return reply('NONE') end
if status == 'cancelled' then return append(reply('OK', 'ticket', int(t)), nextHead()) end
if status ~= 'open' then return reply('FINISHED', 'status', status) end
local e = not absent and open(t)
if not (e and e.r == r) then
  if absent or t >= s.mark then return reply('NONE') end -- its place was given up: it was never acknowledged
  passWhenFull() -- purged
else
  if live(t) then return reply('RUNNING', 'ticket', int(t)) end
  if unknown(t, e) then return reply('UNKNOWN', 'ticket', int(t)) end
  passWhenFull()
  if e.parked == 1 then afresh() end
  note('cancel', t, r, '')
  resolve(t)
  wake()
end
redis.call('DEL', KEYS[7])
finished(REC, r, t, 'cancelled', {})
extendForTask()
save()
return append(reply('OK', 'ticket', int(t)), nextHead())
