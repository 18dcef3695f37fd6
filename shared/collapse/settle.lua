-- settle: end a flight: store what was fetched, let the lease go, wake the followers.
--
-- ARGV[1] nonce of the leader   ARGV[2] kind: value | failed | error | pass | large | none (the leader gives up)
-- ARGV[3] bytes of a value or failure   ARGV[4] stamp that the value was fetched under
-- ARGV[5] age of the value   ARGV[6] fresh   ARGV[7] swr, ARGV[8] sie, ARGV[9] kept, each past fresh   ARGV[10] life of a
-- mark; all ms   ARGV[11] most bytes of the origin
-- Reply: OK | FULL (does not fit: marked full instead) | LOST (the lease is another's, or the key was invalidated)
-- Invariant: nothing is written but under the owner's nonce. A failure leaves the last value in place, for stale-if-error.
-- Sent again: nothing is written; OK or FULL as before, or LOST when another flight has settled since.

local nonce, kind, body, stamp = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local age, fresh, swr, sie, kept = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local mark, max = tonumber(ARGV[10]), tonumber(ARGV[11])

if e.owner == '' or e.owner ~= nonce then
  if nonce == '' or e.filler ~= nonce then return 'LOST' end
  if e.mark == 'full' then return 'FULL' end
  return 'OK'
end

local failed = kind == 'failed' or kind == 'error'
local size = OVERHEAD + #body
if stored and (failed or kind == 'none') then size = size + e.size end

refund()
local verdict = 'OK'
if not room(size, max) then
  kind, body, size, failed, verdict = 'full', '', OVERHEAD, false, 'FULL'
end

redis.call('HDEL', ENTRY, 'owner', 'lease', 'ostamp', 'began')
redis.call('HSET', ENTRY, 'filler', nonce, 'led', int(e.began))
local expiry = now + HANDOFF
if kind == 'value' then
  local asked = now - age
  fresh = asked + fresh
  kept = fresh + math.max(swr, sie, kept)
  redis.call('HDEL', ENTRY, 'mark', 'note', 'markend')
  redis.call('HSET', ENTRY, 'value', body, 'size', int(#body), 'stamp', stamp, 'fetched', int(asked), 'fresh', int(fresh),
    'swr', int(fresh + swr), 'sie', int(fresh + sie), 'kept', int(kept))
  expiry = math.max(expiry, kept)
elseif kind ~= 'none' then
  if not failed then
    redis.call('HDEL', ENTRY, 'value', 'size', 'stamp', 'fetched', 'fresh', 'swr', 'sie', 'kept')
    e.kept = 0
  end
  redis.call('HSET', ENTRY, 'mark', kind, 'note', body, 'markend', int(now + mark))
  expiry = math.max(expiry, e.kept, now + mark)
else
  -- Given up: nobody may take an older answer for this flight's.
  redis.call('HDEL', ENTRY, 'led', 'mark', 'note', 'markend')
  expiry = math.max(expiry, e.kept)
end
keep(size, expiry)
redis.call('PUBLISH', EPOCH, ENTRY)
return verdict
