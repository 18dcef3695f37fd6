-- entry.lua: what every script begins with. Go puts this file before each.
--
-- KEYS[1] entry   hash of one flight key
--   epoch                        of the read, under which it was made
--   fetched fresh swr sie kept   instants of the value: asked for, fresh until, may be served stale until (twice), kept until
--   stamp size value             what it was fetched under; its length; the bytes ('' is a value: fetched tells whether there is one)
--   mark note markend            instead of a value: pass | large | full | failed | error; the failure's bytes; valid until
--   owner lease began ostamp     nonce of the leader; its end; when it was granted; the stamp it fetches under
--   filler led                   nonce of the last settled flight, and its began
--   charged bucket               what the budget holds for this entry, and in which bucket
-- KEYS[2] budget  hash of one origin
--   total                        bytes charged now
--   <instant>                    bytes of the entries that will have expired by then
--   next until                   earliest bucket; when the last one ends
-- KEYS[3] epoch   string, one for all variants of a read; its name is the channel on which followers are woken. To invalidate is to
--                 delete it: an entry of another epoch is void, and forgotten by the next script that meets it
--
-- Instants are Redis milliseconds; all numbers are integers. Numbers are written with int(): Lua's own text of a large one is
-- not exact.
-- Invariant: total >= OVERHEAD per entry + the lengths of its value and note, for all entries alive; all keys expire.

local ENTRY, BUDGET, EPOCH = KEYS[1], KEYS[2], KEYS[3]
local OVERHEAD = 1024 -- key, field names, instants, nonces, and this entry's share of the budget and the epoch
local HANDOFF = 2000 -- a settled entry stays as long, whatever its life: followers that only poll must find it

local function int(x) return string.format('%.0f', x) end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local NUMBERS = { 'fetched', 'fresh', 'swr', 'sie', 'kept', 'size', 'markend', 'lease', 'began', 'led', 'charged', 'bucket' }
local STRINGS = { 'epoch', 'stamp', 'mark', 'owner', 'ostamp', 'filler' }
local e = {}
local function read()
  local values = redis.call('HMGET', ENTRY, unpack(NUMBERS))
  for i, field in ipairs(NUMBERS) do e[field] = tonumber(values[i] or 0) end
  values = redis.call('HMGET', ENTRY, unpack(STRINGS))
  for i, field in ipairs(STRINGS) do e[field] = values[i] or '' end
end

local function value() return redis.call('HGET', ENTRY, 'value') end

-- sweep takes out the buckets whose entries have all expired.
local function sweep()
  local next = tonumber(redis.call('HGET', BUDGET, 'next') or 0)
  if next == 0 or now < next then return end
  local all, gone, earliest = redis.call('HGETALL', BUDGET), 0, 0
  for i = 1, #all, 2 do
    local bucket = tonumber(all[i])
    if bucket and bucket <= now then
      gone = gone + tonumber(all[i + 1])
      redis.call('HDEL', BUDGET, all[i])
    elseif bucket and (earliest == 0 or bucket < earliest) then
      earliest = bucket
    end
  end
  redis.call('HINCRBY', BUDGET, 'total', int(0 - gone))
  redis.call('HSET', BUDGET, 'next', int(earliest))
end

-- room tells whether size more bytes fit under max.
local function room(size, max)
  sweep()
  return tonumber(redis.call('HGET', BUDGET, 'total') or 0) + size <= max
end

-- refund takes this entry's charge back, unless its bucket was swept or the budget lost.
local function refund()
  if e.charged == 0 or redis.call('HEXISTS', BUDGET, int(e.bucket)) == 0 then return end
  redis.call('HINCRBY', BUDGET, int(e.bucket), int(-e.charged))
  redis.call('HINCRBY', BUDGET, 'total', int(-e.charged))
end

-- keep has the entry expire at an instant, not before it would have, and charges size bytes until then: the epoch lasts as long
-- as any entry made under it, and so is paid for. The bucket's width is between 1/16 and 1/8 of that time: few buckets, whatever
-- the times, and a charge is late by at most 1/8.
local function keep(size, expiry)
  expiry = math.max(expiry, now + redis.call('PTTL', ENTRY))
  local width = 1
  while width * 16 < expiry - now do width = width * 2 end
  local bucket = math.ceil(expiry / width) * width
  redis.call('HINCRBY', BUDGET, int(bucket), int(size))
  redis.call('HINCRBY', BUDGET, 'total', int(size))
  local ends = redis.call('HMGET', BUDGET, 'next', 'until')
  local next, last = tonumber(ends[1] or 0), tonumber(ends[2] or 0)
  if next == 0 or bucket < next then redis.call('HSET', BUDGET, 'next', int(bucket)) end
  if bucket > last then redis.call('HSET', BUDGET, 'until', int(bucket)) end
  redis.call('PEXPIREAT', BUDGET, int(math.max(bucket, last)))
  redis.call('HSET', ENTRY, 'charged', int(size), 'bucket', int(bucket))
  if redis.call('PTTL', EPOCH) < expiry - now then redis.call('PEXPIREAT', EPOCH, int(expiry)) end
  redis.call('PEXPIREAT', ENTRY, int(expiry))
end

read()
local epoch = redis.call('GET', EPOCH) or ''
if e.epoch ~= epoch and e.epoch ~= '' then
  redis.call('DEL', ENTRY)
  refund()
  read()
end
local stored = e.fetched > 0
