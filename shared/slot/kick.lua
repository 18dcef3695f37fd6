-- kick: ask for the right to create the lane's one kick, a task that only drives.
--
-- ARGV +1 incarnation  +2 instant ms at which it should run  +3 owner (nonce of the caller)
-- Reply: CREATE(seq, at)   create the task of kick seq for at
--        NONE              one that comes early enough is under way
-- Invariant: at most one kick is under way per lane, unless it is 30 s late or a nearer instant is asked for.

local inc, at, owner = narg(1), math.max(narg(2), now), arg(3)
if absent or inc ~= s.inc then return reply('NONE') end
if s.kickset == 1 and s.kickat <= at then
  if s.kickby == owner then return reply('CREATE', 'seq', int(s.kickseq), 'at', int(s.kickat)) end
  if now < s.kickat + 30000 then return reply('NONE') end
end
passWhenFull()
set('kickset', 1)
set('kickseq', s.kickseq + 1)
set('kickat', at)
set('kickby', owner)
extendForTask()
save()
return reply('CREATE', 'seq', int(s.kickseq), 'at', int(s.kickat))
