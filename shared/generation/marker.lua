-- marker.lua gives this server a generation of its own, unless the marker fits by now.
--
-- KEYS[1] string  the marker: 'number|quarantineUntil|restoreUntil|identity|cause|previous number|emptied', instants in Redis ms,
--                  numbers from Redis microseconds on; emptied is the number of the generation that found no marker last, or a stale
--                  one, 0 for none. Its time to live tells when it was touched last: every process does, while there are requests.
--
-- ARGV[1] identity of this server   ARGV[2] lowest number that fits: the highest that the caller has seen
-- ARGV[3] quarantine ms (0: none)   ARGV[4] restoring time ms (0: none)   ARGV[5] life of the marker ms
-- ARGV[6] cause to write down ('': what the script finds)
--
-- Reply: 1 if it has changed the marker, else 0. Replay-safe: what it writes fits, so the same call once more changes nothing.

-- Lanes of a generation number their tickets from it on, and a repair skips 30,000 of them: numbers of two generations lie
-- further apart. Not further than the clock goes in 60 ms: a caller that missed a generation, or knows none, as its process has just
-- begun, would else make one of the same number, or a lower one.
local APART = 60000

-- A replica that takes over lacks what a moment has brought. Who brings an older marker brings old lanes: a snapshot. What they show as
-- waiting was done since, so they count as lost, where what outlives Redis can be restored.
local STALE = 180000

local function int(x) return string.format('%.0f', x) end

local number, quarantine, restore, cause, emptied = 0, 0, 0, 'absent', 0
local text = redis.call('GET', KEYS[1])
if text then
  local n, q, r, identity = string.match(text, '^(%d+)|(%d+)|(%d+)|([^|]*)|')
  if not n then return redis.error_reply('SERIATIM the generation marker cannot be read') end
  number, quarantine, restore = tonumber(n), tonumber(q), tonumber(r)
  emptied = tonumber(string.match(text, '^' .. string.rep('[^|]*|', 6) .. '(%d+)') or 0) -- older code wrote none
  cause = identity == ARGV[1] and 'rolled back' or 'another server'
  if identity == ARGV[1] and number >= tonumber(ARGV[2]) then return 0 end
  local left = redis.call('PTTL', KEYS[1])
  if left >= 0 and tonumber(ARGV[5]) - left > STALE and tonumber(ARGV[4]) > 0 then cause = 'snapshot' end
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local tick = clock[1] * 1000000 + clock[2]
-- What has been promised is not shortened by a caller with a shorter lease.
local function till(old, length)
  if length == 0 then return 0 end
  return math.max(old, now + length)
end

local mine = math.max(number + APART, tonumber(ARGV[2]) + APART, tick)
if ARGV[6] ~= '' then cause = ARGV[6] end
if cause == 'absent' or cause == 'snapshot' then emptied = mine end
redis.call('SET', KEYS[1], table.concat({
  int(mine), int(till(quarantine, tonumber(ARGV[3]))), int(till(restore, tonumber(ARGV[4]))), ARGV[1], cause, int(number), int(emptied),
}, '|'), 'PX', ARGV[5])
return 1
