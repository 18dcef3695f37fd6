-- inspect: what the lane, and one of its requests, look like. Reads only, constant work however long the lane.
--
-- KEYS[6]   record of the request   KEYS[7]  its response
-- ARGV +1 request id ('': the lane only)  +2 greatest number of running requests to list
-- Reply: LANE(lane scalars, head, 'running', 'ticket id started ...', request fields, 'rec.'.. the record's fields)

local r = arg(1)
local list = {}
if not absent then
  for i, t in ipairs(redis.call('ZRANGEBYSCORE', L, '(' .. int(now), '+inf', 'LIMIT', 0, narg(2))) do
    local e = entry(tonumber(t))
    if e then list[#list + 1] = t .. ' ' .. e.r .. ' ' .. int(e.started) end
  end
end
local h, e = headEntry()
local waiting = absent and 0 or rank(s.nxt)
local out = reply('LANE', 'absent', absent and '1' or '0', 'depth', int(absent and 0 or depth()), 'waiting', int(waiting),
  'u', int(s.u), 'nxt', int(s.nxt), 'paused', int(s.paused), 'gate', int(gate()),
  'quarantine', int(math.max(quarantine, h and h >= s.inc and s.reach or 0)), 'hold', int(s.hold), 'fails', int(s.fails), 'resolved', int(s.resolved),
  'kickset', int(s.kickset), 'kickat', int(s.kickat), 'miss', int(s.miss), 'runningcount', int(running()),
  'last', int(waiting > 0 and slot(waiting - 1, s.nxt) or 0), 'running', table.concat(list, ' '))
if h and e then
  append(out, { 'headnb', int(e.nb), 'headatt', int(e.att), 'headrun', int(runAt(h, e)), 'stands', stands(h, e) or '',
    'headtarget', e.target })
end
append(out, nextHead())
if r ~= '' then
  local rec = redis.call('HGETALL', REC)
  local t = 0
  append(out, { 'rec.resp', redis.call('GET', KEYS[7]) or '' })
  for i = 1, #rec, 2 do
    append(out, { 'rec.' .. rec[i], rec[i + 1] })
    if rec[i] == 'ticket' then t = tonumber(rec[i + 1]) end
  end
  local own = not absent and t > 0 and open(t)
  if own and own.r == r then
    local before = rank(t)
    append(out, { 'open', '1', 'live', live(t) and '1' or '0', 'rank', int(before), 'slot', int(slot(before, t)),
      'attempts', int(own.att), 'parked', int(own.parked), 'unknown', unknown(t, own) and '1' or '0' })
  elseif not absent and t > 0 and t < s.mark and not voided(t) then
    -- Purged: the mark says it, the record does not know yet.
    for i = 1, #rec, 2 do
      if rec[i] == 'status' and rec[i + 1] == 'open' then append(out, { 'rec.status', 'cancelled' }) end
    end
  end
end
return out
