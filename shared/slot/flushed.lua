-- flushed: a terminal record is durable outside Redis, which need not keep all of it any longer.
--
-- KEYS[6]   record of the request   KEYS[7]  its response
-- ARGV +1 ticket  +2 fence of the lease that ended it  +3 1: the response that is durable is this one
--      +4 1: the record stays as a tombstone for the retention, 0: as long as a response at most
--      +5 longest response to keep, bytes  +6 how long after its end one is kept, ms
--      +7 how the request ended by what is durable ('': as Redis has it)
-- Reply: OK | KEPT   the record is another outcome: nothing changed
-- Invariant: what is deleted is durable. It frees before it writes.

local rec = redis.call('HMGET', REC, 'status', 'ticket', 'fence', 'finished')
local status, ended = rec[1], tonumber(rec[4] or 0)
if not status or status == 'open' or tonumber(rec[2]) ~= narg(1) or tonumber(rec[3] or 0) ~= narg(2) then return reply('KEPT') end
local soon = int(ended + math.min(retention, narg(6)))
if arg(3) == '0' or redis.call('STRLEN', KEYS[7]) > narg(5) then
  redis.call('DEL', KEYS[7])
else
  redis.call('PEXPIREAT', KEYS[7], soon)
end
redis.call('ZREMRANGEBYSCORE', F, int(narg(1)), int(narg(1)))
passWhenFull()
redis.call('HSET', REC, 'durable', '1', 'status', arg(7) ~= '' and arg(7) or status)
if arg(4) == '0' then redis.call('PEXPIREAT', REC, soon) end
return reply('OK')
