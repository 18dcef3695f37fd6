-- purge: cancel all that waits. Constant work.
--
-- Reply: OK(purged, mark)   how many requests were cancelled; those of tickets below the mark, the ones that a lost Redis has forgotten too
-- Invariant: what holds a live lease goes on; no ticket below the mark starts any more.

if unrestored() then return reply('RESTORE') end
if absent then
  if not restoring then return reply('OK', 'purged', '0', 'mark', '0') end
  begin() -- what was accepted before Redis was lost is still to come
else
  passWhenFull()
end
local purged = depth() - running()
if purged > 0 or s.mark ~= s.nxt then note('purge', s.nxt, '', '') end
purgeTo(s.nxt)
set('resolved', s.resolved + purged)
extendForTask()
save()
return reply('OK', 'purged', int(purged), 'mark', int(s.mark), 'new', fresh())
