-- resolve: settle the request on which a lane stands, parked or unknown. Constant work.
--
-- KEYS[6]   record of the request   KEYS[7]  its response
-- ARGV +1 request id  +2 what becomes of it:
--           of a parked one: redrive (it runs again in its place, with all its attempts), skip (it is dead, the lane goes on)
--           of an unknown one: retry (it runs again), done, dead
--      +3 owner (nonce of the caller)
-- Reply: OK(ticket, status, next head)   status: open, done, dead
--        RUNNING(ticket)                 it holds a live lease
--        FINISHED(status)                it has ended otherwise
--        KEPT(ticket)                    the lane does not stand on it in that way
--        NONE                            no such request
-- Invariant: only where the lane stands does anybody's word replace a run. Repeated by the same owner it answers the same.

local r, word, owner = arg(1), arg(2), arg(3)
local rec = redis.call('HMGET', REC, 'status', 'ticket', 'steered')
local status, t = rec[1], tonumber(rec[2] or 0)
local function answer(state) return append(reply('OK', 'ticket', int(t), 'status', state), nextHead()) end
if not status then return reply('NONE') end
if rec[3] == owner then return answer(status) end
if status ~= 'open' then return reply('FINISHED', 'status', status) end
local e = not absent and open(t)
if not (e and e.r == r) then return reply('NONE') end
if live(t) then return reply('RUNNING', 'ticket', int(t)) end

local parked = word == 'redrive' or word == 'skip'
if parked and e.parked == 0 or not parked and not unknown(t, e) then return reply('KEPT', 'ticket', int(t)) end
passWhenFull()
redis.call('HSET', REC, 'steered', owner)
note(parked and word or 'resolve', t, r, parked and '' or word)
if word == 'redrive' or word == 'retry' then
  e.parked, e.fence, e.owner, e.nb = 0, 0, '', 0
  if word == 'redrive' then e.spared, e.first = e.att, 0 end
  put(t, e)
  set('fails', 0)
  if not adopted(t) then redis.call('ZADD', L, 0, int(t)) end
  leases, status = {}, 'open'
else
  status = word == 'done' and 'done' or 'dead'
  if word == 'skip' then redis.call('PEXPIREAT', KEYS[7], int(now + retention)) else redis.call('DEL', KEYS[7]) end
  finished(REC, r, t, status, word == 'skip' and { 'durable', '0' } or { 'durable', '0', 'reason', 'resolved', 'detail', 'an operator said so' })
  resolve(t)
end
afresh()
extendForTask()
wake()
save()
return answer(status)
