-- start: grant a ticket its lease, or say what it waits for.
--
-- KEYS[6]   record of the caller's own request   KEYS[7]  record of the driven request (KEYS[6] again where none)
-- ARGV +1 own ticket (0: a kick)  +2 incarnation  +3 own request id  +4 own snooze count k  +5 owner (nonce of this delivery)
--      +6 inline wait left ms (negative: answer finally, claim nothing)  +7 ticket to drive (0: none)  +8 its request id
--      +9 kick number (0: none)  +10 jitter, a factor around 1
-- Reply: RUN(ticket, fence, expiry, attempt, k, slip, next head)
--        DONE(status, durable, reason, next head)  the request is terminal; a driven one too, where it waited past its deadline.
--                                               reason: deadline, of the call alone that ended it so
--        UNKNOWN                                not a ticket of this life of the lane: look elsewhere, then adopt
--        GONE(next head)                        the ticket to drive is not to be driven
--        SNOOZE(at, k, reason)                  k and at are recorded: create the task (ticket, k) for at, then answer 200
--        WAIT(until, rank, reason, overdue, next head)
-- Invariant: at most `concurrency` live leases (I1), lower tickets first (I2), pace at every grant (I3).
-- Repeated with the same owner it answers the same grant, and k never falls.

local t, inc, r, k, owner = narg(1), narg(2), arg(3), narg(4), arg(5)
local left, driven, drivenId, kick, jitter = narg(6), narg(7), arg(8), narg(9), tonumber(arg(10))
if absent then return reply('UNKNOWN') end
passWhenFull()

local function answer(verdict, ...) return append(reply(verdict, ...), nextHead()) end
local function finally(...)
  save()
  return answer(...)
end

if kick > 0 and driven == 0 then
  if s.kickset == 1 and s.kickseq == kick then set('kickset', 0) end
  return finally('WAIT', 'until', '0', 'rank', '0', 'reason', 'kick', 'overdue', '0')
end

local x, e, record = t, nil, REC
if driven == 0 then
  local rec = redis.call('HMGET', REC, 'status', 'ticket', 'durable')
  local status, mapped = rec[1], tonumber(rec[2] or 0)
  -- Not by the cancel of an earlier life, which a purge may have written down after Redis was lost.
  if status and status ~= 'open' and not (status == 'cancelled' and mapped < t) then
    return finally('DONE', 'status', status, 'durable', rec[3] or '0')
  end
  e = inc == s.inc and open(t)
  if not (e and e.r == r) then
    if inc == s.inc and not voided(t) then
      if t < s.mark and (not status or mapped == t) then
        if entry(t) then redis.call('HDEL', Q, int(t)) end
        if status then
          finished(REC, r, t, 'cancelled', {})
        end
        return finally('DONE', 'status', 'cancelled', 'durable', '0')
      end
      -- A replica that took over may lack that a number of an earlier life was adopted.
      local unadopted = t < s.inc and s.gaps ~= ''
      if t < s.u and not inGap(t) and not status and not unadopted then return finally('DONE', 'status', 'expired', 'durable', '1') end
    end
    save()
    return reply('UNKNOWN')
  end
else
  x, record = driven, KEYS[7]
  e = open(x)
  if not (e and e.r == drivenId) then return finally('GONE') end
end
if e.p ~= 0 then
  e.p = 0
  put(x, e)
end
if s.miss == x then set('miss', 0) end -- its task exists: it takes two looks again to find it missing

local function run()
  return finally('RUN', 'ticket', int(x), 'fence', int(e.fence), 'expiry', int(expiry(x)), 'attempt', int(e.att),
    'k', int(e.k), 'slip', int(e.slip))
end
local function snooze(at, reason)
  if e.deadline > 0 and e.first == 0 then at = math.min(at, math.max(e.deadline + 1, now + 1000)) end
  e.k, e.due, e.here = math.max(e.k, k + 1), math.floor(at), 0
  put(x, e)
  extendForTask()
  redis.call('PEXPIREAT', REC, int(s['end']))
  return finally('SNOOZE', 'at', int(e.due), 'k', int(e.k), 'reason', reason)
end

local until_, reason
if live(x) then
  if e.owner == owner then return run() end
  if driven ~= 0 then return finally('GONE') end
  if left <= 0 then return snooze(now + math.min(math.max(now - e.started, 5000), 600000), 'busy') end
  until_, reason = expiry(x), 'busy'
end

if not reason and expired(x, e, record) then return finally('DONE', 'status', 'dead', 'durable', '0', 'reason', 'deadline') end

local h, he = headEntry()
local standing, runnable = stands(h, he), free(h, he)
if not reason and x == h and runnable and now >= runAt(x, e) then
  grant(x, e, owner, record)
  if n > 1 then wake() end
  return run()
end
if driven ~= 0 then return finally('GONE') end

local overdue = false
if h and h ~= x and runnable and left >= 0 then
  local at = runAt(h, he)
  local soon = he.due >= now and he.due <= now + 50 + 0.05 * math.max(spacing, interval())
  if now >= at + GRACE or (he.here <= now and not soon and now >= at + AWAY) then
    if s.claim ~= h or s.claimend <= now or s.claimby == owner then
      set('claim', h)
      set('claimend', now + CLAIM)
      set('claimby', owner)
      overdue = true
    end
  end
end

local before = rank(x)
if not reason then
  if standing then return snooze(standingUntil(k, jitter), standing) end
  local est = slot(before, x)
  local step = math.max(spacing, interval(), 1)
  if not overdue and (left <= 0 or est - now > left or before >= n + math.min(math.floor(inline / step), 32)) then
    -- A lane that is held up again and again, by a head that fails, must not have all who wait come each time: the least snooze
    -- doubles. Who has company is driven by it.
    return snooze(math.max(backstop(x, before, true), now + 1000 * 2 ^ (before > 0 and math.min(k, 8) or 0)), 'rank')
  end
  if not runnable then
    local first = redis.call('ZRANGEBYSCORE', L, '(' .. int(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    until_, reason = tonumber(first[2] or 0), 'full'
  elseif x == h then until_, reason = runAt(x, e), 'pace'
  else until_, reason = est, 'rank' end
  if e.deadline > 0 and e.first == 0 then until_ = math.min(until_, e.deadline + 1) end
end
if left > 0 then
  e.here = now + left + 1000
  put(x, e)
end
return finally('WAIT', 'until', int(until_), 'rank', int(before), 'reason', reason, 'overdue', overdue and '1' or '0')
