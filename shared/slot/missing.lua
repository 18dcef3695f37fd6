-- missing: a confirmed head whose task Cloud Tasks does not know.
--
-- KEYS[6]   record of the request
-- ARGV +1 ticket  +2 request id  +3 snooze count k  +4 '' or what durable records say: void, done, dead  +5 wait between looks, ms
--      +6 instant ms before which the caller's look did not begin: a call that is sent again is no second look
-- Reply: AGAIN(at)    first look recorded: look again from at
--        CHECK        second look, nothing changed: read the durable records, then call again with what they say
--        VOIDED(next head)  place given up; its task, should it come, takes a new ticket
--        DONE(next head)    resolved: the record says how it ended, and points to the durable one
--        KEPT(next head)    it is no longer such a head
-- Invariant: two looks, the second begun at least +5 after the first was recorded, with the same ticket and k, no live lease, not unconfirmed.

local t, r, k, settle = narg(1), arg(2), narg(3), arg(4)
local e = not absent and open(t)
local function answer(verdict) return append(reply(verdict), nextHead()) end
if not e then -- a resend of a settled one?
  if settle == '' or absent then return answer('KEPT') end
  if voided(t) then return answer('VOIDED') end
  return answer(redis.call('HGET', REC, 'status') == settle and 'DONE' or 'KEPT')
end
if e.r ~= r or e.k ~= k or e.p ~= 0 or live(t) or head() ~= t then return answer('KEPT') end
passWhenFull()
if s.miss ~= t or s.missk ~= k then
  set('miss', t)
  set('missk', k)
  set('missat', now)
end
local at = s.missat + narg(5)
if narg(6) < at then
  save()
  return reply('AGAIN', 'at', int(at))
end
if settle == '' then return reply('CHECK') end
extendForTask()
if settle == 'void' then
  redis.call('HSET', REC, 'reason', 'task-missing', 'detail', 'the queue no longer has the task of this request')
  voidTicket(t, e, 0)
  save()
  return answer('VOIDED')
end
finished(REC, r, nil, settle, { 'durable', '1' })
note('settle', t, r, settle)
resolve(t)
set('prev', 0)
wake()
save()
return answer('DONE')
