-- horizon: it is known outside Redis that tasks of the lane may come until then.
--
-- ARGV +1 instant ms
-- Reply: OK

if absent then return reply('OK') end
passWhenFull()
set('horizon', math.max(s.horizon, narg(1)))
save()
return reply('OK')
