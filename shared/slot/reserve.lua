-- reserve: look the request up, take the next ticket, and grant it at once where the lane is idle and due.
--
-- KEYS[6]   record of the request   KEYS[7]  its response
-- ARGV +1 request id  +2 fingerprint  +3 owner (nonce of the caller)  +4 1: may run at once  +5 1: adopt, no limits apply
--      +6 greatest depth  +7 horizon ms  +8 submitted ms  +9 target  +10 deadline ms (0: none)  +11 1: a dead request runs again
--      +12 +13 ticket and snooze count that an adopted request had (0: none): it keeps the ticket where that is not of this life of the
--              lane, and both where it is of this life but was lost
-- Reply: REPLAY(the record's fields under rec.)   the record is terminal
--        MISMATCH                    the id is in use with another fingerprint
--        RUN(ticket, fence, expiry, attempt, k, slip)   granted
--        OK(ticket, slot, position, due, unknown)     a new ticket, or the caller's own again
--        DUP(ticket, slot, position, due, confirmed, leased, unknown)   another caller's open ticket
--        CANCELLED(ticket)           the lane was purged since it took its old ticket
--        FULL(reason, depth, wait, slot)   refused, nothing changed; reason: depth, horizon, deadline
-- Reply of RUN and OK: young   '1': Redis has been lost less than a retention ago, so the request may have ended before
-- Invariant: an arrival never overtakes what waits (I2). The first write grows, so that a full Redis refuses the whole.

local r, fp, owner = arg(1), arg(2), arg(3)
local fast, adopt, deadline, redrive = arg(4) == '1', arg(5) == '1', narg(10), arg(11) == '1'
local rec = redis.call('HMGET', REC, 'status', 'fp', 'ticket', 'owner', 'attempts')
local status, mapped = rec[1], tonumber(rec[3] or 0)
if unrestored() then return reply('RESTORE') end

local function young() return restoring and s.lost > 0 and now < s.lost + retention and '1' or '0' end
local function told(verdict, t, ...)
  local before = rank(t)
  return reply(verdict, 'ticket', int(t), 'slot', int(slot(before, t)), 'position', int(before + 1), 'young', young(),
    'new', fresh(), ...)
end
local function running_(t, e)
  return reply('RUN', 'ticket', int(t), 'fence', int(e.fence), 'expiry', int(expiry(t)), 'attempt', int(e.att),
    'k', int(e.k), 'slip', int(e.slip), 'young', young(), 'new', fresh())
end
-- An adopted request keeps its number, below all that was accepted since Redis was lost, unless this life of the lane has given
-- the number to another, or has given its place up.
local function keeps(t)
  return adopt and t > 0 and (t < s.inc or inGap(t)) and not entry(t) and not voided(t)
end

-- A request that was cancelled is not taken again by the call that was on its way, nor by a task that it had then.
local cancelled = status == 'cancelled' and not redrive and (adopt and mapped >= narg(12) or rec[4] == owner)
if status == 'done' or (status == 'dead' and not redrive) or cancelled then
  if rec[2] ~= fp then return reply('MISMATCH') end
  return append(reply('REPLAY', 'ticket', int(mapped), 'rec.resp', redis.call('GET', KEYS[7]) or ''), fields())
end

local e = status == 'open' and mapped > 0 and not absent and open(mapped)
if e and e.r == r then
  if rec[2] ~= fp then return reply('MISMATCH') end
  local leased = live(mapped)
  if leased and e.owner == owner then return running_(mapped, e) end
  extendForTask()
  redis.call('PEXPIREAT', REC, int(s['end']))
  save()
  local due = leased and math.max(e.due, expiry(mapped)) or e.due
  local lost = unknown(mapped, e) and '1' or '0'
  if rec[4] == owner then return told('OK', mapped, 'due', int(due), 'unknown', lost) end
  return told('DUP', mapped, 'due', int(due), 'confirmed', e.p == 0 and '1' or '0', 'leased', leased and '1' or '0', 'unknown', lost)
end

begin()
local old = narg(12)
if adopt and old > 0 and old < s.mark then
  redis.call('HSET', REC, 'fp', fp, 'ticket', int(old), 'submitted', arg(8), 'target', arg(9))
  finished(REC, r, old, 'cancelled', {})
  extendForTask()
  save()
  return reply('CANCELLED', 'ticket', int(old), 'new', fresh())
end
-- A request that has run under a place which was given up, cancelled or purged goes on counting, with all attempts left: how that run
-- ended may be known outside Redis, so that the next one is not its first.
local ran = (status == 'open' or status == 'cancelled') and tonumber(rec[5] or 0) or 0
local kept = keeps(old)
local t = kept and old or s.nxt
local waiting = rank(t)
local at = slot(waiting, t)
if not adopt then
  local held = depth()
  if held >= narg(6) then return reply('FULL', 'reason', 'depth', 'depth', int(held), 'wait', int(math.max(interval(), spacing))) end
  if at - now > narg(7) then
    return reply('FULL', 'reason', 'horizon', 'depth', int(held), 'wait', int(at - now - narg(7)))
  end
  if deadline > 0 and at > deadline then return reply('FULL', 'reason', 'deadline', 'depth', int(held), 'slot', int(at)) end
end

local atOnce = fast and not head() and running() < n and now >= runAt(t, false)
redis.call('HSET', REC, 'status', 'open', 'fp', fp, 'ticket', int(t), 'owner', owner, 'submitted', arg(8), 'target', arg(9))
redis.call('DEL', KEYS[7])
redis.call('HDEL', REC, 'durable', 'fence', 'started', 'finished', 'attempts', 'reason', 'detail', 'steered')
if ran > 0 then redis.call('HSET', REC, 'attempts', int(ran)) end
if not head() and running() < n then
  -- Nobody waited: only from now on has a start been possible, and the time before tells nothing about the lane's interval.
  afresh()
end
if kept then
  redis.call('ZADD', O, int(t), int(t))
  grown[O] = true
else
  set('nxt', t + 1)
end
e = { r = r, k = kept and t >= s.inc and narg(13) or 0, p = now + confirmWithin, owner = '', target = arg(9), deadline = deadline, att = ran,
  spared = ran }
if adopt and string.find(',' .. s.parked, ',' .. int(t) .. ',', 1, true) then e.parked = 1 end
note(kept and 'adopt' or 'reserve', t, r, e.parked == 1 and 'park' or '', 'a', ran, 'k', e.k)
for _, f in ipairs(ENTRY) do
  if e[f] == nil then e[f] = 0 end
end
if atOnce and not stands(t, e) then
  grant(t, e, owner, REC)
  extend(now + math.max(retention, LONGEST) + 60000)
  redis.call('PEXPIREAT', REC, int(s['end']))
  save()
  return running_(t, e)
end
entries[t] = e
e.due = math.max(now, backstop(t, waiting))
if deadline > 0 then e.due = math.min(e.due, deadline + 1) end
put(t, e)
extendForTask()
redis.call('PEXPIREAT', REC, int(s['end']))
save()
return reply('OK', 'ticket', int(t), 'slot', int(at), 'position', int(waiting + 1), 'due', int(e.due), 'unknown', '0', 'young', young(),
  'new', fresh())
