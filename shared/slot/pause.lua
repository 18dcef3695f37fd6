-- pause: hold a lane, or let it go on. Constant work.
--
-- ARGV +1 1: hold, 0: go on
-- Reply: OK(next head)
-- Invariant: nothing starts while the lane is held, immediate requests included; what runs goes on to its end.

if unrestored() then return reply('RESTORE') end
if absent then
  if arg(1) == '0' and not restoring then return reply('OK') end
  begin() -- a lane that has seen nothing yet is held as well: what arrives must find it so
else
  passWhenFull()
end
if s.paused == 1 and arg(1) == '0' then afresh() end
if s.paused ~= narg(1) then note(arg(1) == '1' and 'pause' or 'resume', 0, '', '') end
set('paused', narg(1))
extendForTask()
wake()
save()
return append(reply('OK', 'new', fresh()), nextHead())
