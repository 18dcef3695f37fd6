-- finish: end an attempt.
--
-- KEYS[6]   record of the request   KEYS[7]  its response
-- ARGV +1 ticket  +2 request id  +3 fence  +4 outcome: done, dead, retry  +5 response (opaque)  +6 reason  +7 detail
--      +8 own snooze count k (-1: ingest, whose ticket has no task yet)  +9 1: the ticket is the caller's own
--      +10 attempts allowed  +11 greatest age ms since the first start  +12 +13 backoff min, max ms  +14 Retry-After ms (0: none)
--      +15 1: counts as an attempt  +16 jitter, a factor around 1  +17 1: park instead of giving up
-- Reply: OK(status, due, k, at, next head)   status: done, dead, retry (start again from at; its task (ticket, k) is due), or
--                                            parked (the lane stands on it; its task (ticket, k) is due, so that it stays durable);
--                                            for done and dead with the record's fields, under rec.
--        DONE(status, next head)             another grant has ended the request
--        LOST(next head)                     the lease is another's
-- Invariant: only the grant with this fence ends the ticket; what it did stands however often the call is repeated (I7).
-- The first write frees, so that work goes on when Redis is full.

local t, r, fence, outcome = narg(1), arg(2), narg(3), arg(4)
local own, jitter = arg(9) == '1', tonumber(arg(16))
local rec = redis.call('HMGET', REC, 'status', 'fence')
local terminal = rec[1] and rec[1] ~= 'open'

local function answer(verdict, ...) return append(reply(verdict, ...), nextHead()) end
local function respond(until_)
  if arg(5) == '' then redis.call('DEL', KEYS[7])
  else redis.call('SET', KEYS[7], arg(5), 'PXAT', int(until_)) end
end
local function record(status, reason)
  finished(REC, r, t, status, { 'reason', reason, 'detail', arg(7), 'durable', '0' })
  respond(now + retention)
end
local function again(e)
  return answer('OK', 'status', e.parked == 1 and 'parked' or 'retry', 'due', int(e.due), 'k', int(e.k), 'at', int(e.nb))
end
local function final(status) return append(answer('OK', 'status', status), fields()) end

if terminal then
  local own = tonumber(rec[2] or 0) == fence and rec[1] ~= 'cancelled' -- a cancel ends a lapsed run over its head
  return own and final(rec[1]) or answer('DONE', 'status', rec[1])
end
local e = not absent and open(t)
if not (e and e.r == r) then
  -- A voided ticket whose handler finished after all: the effect happened, so the record says it.
  if rec[1] and not absent and voided(t) and tonumber(rec[2] or 0) == fence and outcome == 'done' then
    passWhenFull()
    record('done', arg(6))
    note('done', t, r, arg(6), 'f', fence)
    save()
    return final('done')
  end
  return answer('LOST')
end
if e.lastfin == fence then return again(e) end
if e.fence ~= fence then return answer('LOST') end
passWhenFull()

local reason = arg(6)
local backoff = 0
if outcome == 'retry' then
  set('fails', s.fails + 1)
  backoff = math.min(narg(13), narg(12) * 2 ^ math.min(s.fails - 1, 40)) * jitter
  if narg(14) > 0 then backoff = narg(14) end
  backoff = math.ceil(backoff)
  if arg(15) == '0' then e.spared = e.spared + 1 end
  local given = exhausted(e, 0, narg(10), narg(11))
  if given then outcome, reason = 'dead', given end
else
  set('fails', 0)
end

if outcome == 'dead' and arg(17) == '1' then
  outcome, e.parked = 'retry', 1
  set('fails', 0)
end
if outcome == 'retry' then
  e.nb, e.lastfin, e.fence, e.owner = now + backoff, fence, 0, ''
  if e.p ~= 0 then e.p = now + confirmWithin end
  if own then
    e.k = math.max(e.k, narg(8) + 1)
    e.due = math.max(now, e.nb - math.floor(lead()))
    if e.parked == 1 then e.due = standingUntil(narg(8), jitter) end
  end
  put(t, e)
  note(e.parked == 1 and 'park' or 'retry', t, r, reason, 'f', fence, 'k', e.k, 'b', e.nb)
  redis.call('ZADD', L, 0, int(t))
  leases = {}
  set('since', now)
  redis.call('HSET', REC, 'reason', reason, 'detail', arg(7))
  extendForTask()
  if e.parked == 1 then respond(s['end']) end
  redis.call('PEXPIREAT', REC, int(s['end']))
  wake()
  save()
  return again(e)
end

-- The successor of a head that died of a retryable failure waits as long as the head would have.
if backoff > 0 then set('hold', math.max(s.hold, now + backoff)) end
record(outcome, reason)
note(outcome, t, r, reason, 'f', fence, 'b', backoff > 0 and s.hold or 0)
resolve(t)
extend(math.max(now + retention, s.hold) + 60000)
wake()
save()
return final(outcome)
