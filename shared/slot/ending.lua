-- ending: how an attempt would end if it were finished now, for a caller that has another store decide that first.
--
-- KEYS[6]   record of the request
-- ARGV +1 ticket  +2 request id  +3 fence  +4 outcome: done, dead, retry  +5 reason
--      +6 attempts allowed  +7 greatest age ms since the first start  +8 1: counts as an attempt  +9 1: park instead of giving up
-- Reply: OK(status, reason)   status: done, dead, with the record's fields, under rec; retry or parked: nothing to decide
--        DONE                 finish has it already, of this grant or another
--        LOST                 the lease is another's
-- Invariant: nothing ends here. A live lease is renewed, so that the decision has time; a lapsed one is not revived.

local t, r, fence, outcome, reason = narg(1), arg(2), narg(3), arg(4), arg(5)
local rec = redis.call('HMGET', REC, 'status', 'fence')
if rec[1] and rec[1] ~= 'open' then return reply('DONE') end
local e = not absent and open(t)
if not (e and e.r == r) then
  local mine = rec[1] and not absent and voided(t) and tonumber(rec[2] or 0) == fence
  if mine and outcome == 'done' then return append(reply('OK', 'status', 'done', 'reason', reason), fields()) end
  return reply('LOST')
end
if e.lastfin == fence then return reply('DONE') end
if e.fence ~= fence then return reply('LOST') end

if outcome == 'retry' then
  local given = exhausted(e, arg(8) == '0' and 1 or 0, narg(6), narg(7))
  if given then outcome, reason = 'dead', given end
end
if outcome == 'dead' and arg(9) == '1' then outcome = 'parked' end
if live(t) then
  passWhenFull()
  redis.call('ZADD', L, int(now + lease), int(t))
  if s['end'] < now + lease + confirmWithin then extend(now + lease + confirmWithin + 60000) end
  save()
end
return append(reply('OK', 'status', outcome, 'reason', reason), fields())
