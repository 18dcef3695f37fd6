-- list: requests of the lane in ticket order: open ones, and ended ones whose record is in Redis alone. Reads only; the work grows with
-- the page and the concurrency, not with the lane.
--
-- ARGV +1 ticket behind which the page begins  +2 how many at most
--      +3 only those that are queued, running, unknown, done, dead or cancelled; '': all
-- Reply: LIST(upto, open, ended)   open: 'ticket id state attempts position slot ...', state: queued, parked, running, unknown
--                                  ended: 'ticket id ...'   upto: the lists are whole up to this ticket, 0: whole
-- Invariant: what ends moves from one list to the other within one script, so that no reader misses it.

local after, size, only = narg(1), narg(2), arg(3)
local upto, looked, before = 0, 0, nil
local list, ended = {}, {}
local function wanted(...)
  for _, status in ipairs({ '', ... }) do
    if only == status then return true end
  end
  return false
end
local function whole(t)
  if upto == 0 or t < upto then upto = t end
end

if wanted('done', 'dead', 'cancelled') then
  local members = redis.call('ZRANGEBYSCORE', F, '(' .. int(after), '+inf', 'LIMIT', 0, size)
  for _, member in ipairs(members) do
    local t, id, status = string.match(member, '^(%d+) (%S+) (%S+)')
    if wanted(status) then append(ended, { t, id }) end
    looked = looked + 1
    if looked == size then whole(tonumber(t)) end
  end
end

local function tell(t, e)
  local state, position, at = live(t) and 'running' or unknown(t, e) and 'unknown' or 'queued', 0, 0
  if state ~= 'running' then
    before = before and before + 1 or rank(t)
    position, at = before + 1, slot(before, t)
  end
  if not wanted(state) then return end
  if state == 'queued' and e.parked == 1 then state = 'parked' end
  append(list, { int(t), e.r, state, int(e.att), int(position), int(at) })
end
-- All that has started or is of an earlier life lies below u, all else above.
looked = 0
if wanted('queued', 'running', 'unknown') then
  local started = append(redis.call('ZRANGE', L, 0, -1), redis.call('ZRANGEBYSCORE', O, '(' .. int(after), '(' .. int(s.u), 'LIMIT', 0, size))
  for i, t in ipairs(started) do started[i] = tonumber(t) end
  table.sort(started)
  for _, t in ipairs(started) do
    local e = t > after and looked < size and open(t)
    if e then
      tell(t, e)
      looked = looked + 1
      if looked == size then whole(t) end
    end
  end
end
local t = math.max(after + 1, s.u)
while wanted('queued') and t < s.nxt and looked < size do
  local past = inGap(t)
  if past then
    for _, x in ipairs(redis.call('ZRANGEBYSCORE', O, int(t), '(' .. int(past), 'LIMIT', 0, size - looked)) do
      tell(tonumber(x), open(tonumber(x)))
      looked = looked + 1
      if looked == size then whole(tonumber(x)) end
    end
    t = past
  else
    local e = open(t)
    if e then tell(t, e) end
    looked = looked + 1
    if looked == size then whole(t) end
    t = t + 1
  end
end
return reply('LIST', 'upto', int(upto), 'open', table.concat(list, ' '), 'ended', table.concat(ended, ' '))
