-- records: the records of several requests. Reads only.
--
-- KEYS[6..]  records, then the lane's last keys
-- Reply: RECORDS(the fields of the first under 1., of the second under 2., ...)

local out = reply('RECORDS')
for i = 6, #KEYS - LAST do
  local stored = redis.call('HGETALL', KEYS[i])
  for j = 1, #stored, 2 do append(out, { int(i - 5) .. '.' .. stored[j], stored[j + 1] }) end
end
return out
