-- void: give up the place of a ticket that was never confirmed and has no task.
--
-- KEYS[6]   record of the request
-- ARGV +1 ticket  +2 request id  +3 1: at once (CreateTask failed for certain), else only past the confirm deadline
--      +4 instant ms before which the caller's look for the task did not begin (0: now)
--      +5 fence of the lease that the caller holds and has not used (0: none)
-- Reply: VOIDED(next head) | KEPT(next head)
-- Invariant: a confirmed ticket, another's live lease and a request whose outcome is unknown are never voided. The look for the task
-- began after the deadline that stands now: a retry sets a later one, and a look from before it proves nothing.

local t, r, atOnce = narg(1), arg(2), arg(3) == '1'
local looked = narg(4) > 0 and narg(4) or now
local e = not absent and open(t)
local function answer(verdict) return append(reply(verdict), nextHead()) end
if not e then return answer(not absent and voided(t) and 'VOIDED' or 'KEPT') end
local unused = narg(5) > 0 and e.fence == narg(5) and e.att == 1
if e.r ~= r or e.p == 0 or (live(t) or unknown(t, e)) and not unused or not (atOnce or e.p < looked) then return answer('KEPT') end
passWhenFull()
voidTicket(t, e, unused and e.fence or 0)
if e.att == 0 or unused then redis.call('DEL', REC) end
extendForTask()
save()
return answer('VOIDED')
