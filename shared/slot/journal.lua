-- journal: the last transitions of the lane, oldest first. Reads only.
--
-- Reply: JOURNAL(each entry under its number, from 1)

local out = reply('JOURNAL')
for i, text in ipairs(redis.call('LRANGE', J, 0, -1)) do append(out, { int(i), text }) end
return out
