-- join: get the answer of a flight key, or the right to fetch it, or who to wait for.
--
-- ARGV[1] nonce of the caller   ARGV[2] lease, ms   ARGV[3] stamp
-- ARGV[4] since: the began of the first flight that the caller was told to wait for; 0 if none
-- ARGV[5] most bytes of the origin
-- Reply: {verdict, bytes, integer...}, times in ms, one of
--   {HIT, value, age, ttl}    ttl <= 0: too old for others, but it is what the caller waited for
--   {STALE, value, age, ttl}  the origin fails, or another caller is fetching
--   {LEAD, ''}                fetch, then settle under the nonce
--   {LEAD, value, age, ttl, swr, sie}  the same with the value that was there; how long it may still be served to others
--                             meanwhile, and to all if the origin fails; 0: not at all
--   {WAIT, '', left, began}   another caller fetches; its lease ends in left ms
--   {PASS, ''}                each caller fetches on its own
--   {LOCAL, why}              fetch without Redis: large | full | stamp
--   {FAILED, bytes} {ERROR, text}  the origin's failure
-- Invariant: at most one live lease; a lapsed one is given to exactly one caller. A value is answered only to an equal stamp.
-- Sent again: the nonce that holds the lease is told LEAD again.

local nonce, lease, stamp, since, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local usable = stored and e.stamp == stamp
local awaited = since > 0 and e.led >= since
local age, ttl = now - e.fetched, e.fresh - now

local function lead()
  if not stored then return { 'LEAD', '' } end
  local swr, sie = 0, 0
  if usable then swr, sie = math.max(e.swr - now, 0), math.max(e.sie - now, 0) end
  return { 'LEAD', value(), age, ttl, swr, sie }
end

if usable and ttl > 0 then return { 'HIT', value(), age, ttl } end
if e.mark ~= '' and (now < e.markend or awaited) then
  if e.mark == 'pass' then return { 'PASS', '' } end
  if e.mark == 'large' or e.mark == 'full' then return { 'LOCAL', e.mark } end
  if usable and now < math.max(e.swr, e.sie) then return { 'STALE', value(), age, ttl } end
  return { string.upper(e.mark), redis.call('HGET', ENTRY, 'note') }
end
if usable and awaited and e.mark == '' then return { 'HIT', value(), age, ttl } end

if now < e.lease then
  if e.owner == nonce then return lead() end
  if e.ostamp ~= stamp then return { 'LOCAL', 'stamp' } end
  if usable and now < e.swr then return { 'STALE', value(), age, ttl } end
  return { 'WAIT', '', e.lease - now, e.began }
end

if e.charged == 0 and not room(OVERHEAD, max) then return { 'LOCAL', 'full' } end
if epoch == '' then
  epoch = nonce .. clock[1] .. clock[2] -- with the time: a nonce that is sent again must not bring an old epoch back
  redis.call('SET', EPOCH, epoch)
end
redis.call('HSET', ENTRY, 'epoch', epoch, 'owner', nonce, 'lease', int(now + lease), 'began', int(now), 'ostamp', stamp)
refund()
keep(math.max(e.charged, OVERHEAD), math.max(e.kept, now + 2 * lease))
return lead()
