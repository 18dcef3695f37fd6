-- lane.lua: what every script of a lane begins with. Go puts this file before each script.
--
-- KEYS[1] :s  hash    scalars of the lane (NUMBERS below, and three texts)
-- KEYS[2] :q  hash    ticket -> entry of an open ticket, the fields of ENTRY joined by '|'; gone once resolved
-- KEYS[3] :l  zset    started and unresolved tickets, score = lease expiry in ms (0: lapsed by a retry)
-- KEYS[4] :d  zset    tickets above u that are resolved without having started, score = ticket
-- KEYS[5] :v  zset    voided tickets, score = ticket
-- KEYS[6] :i:<id> hash the record of the request that the call is about (scripts that take one)
-- KEYS[7] :b:<id> text the response of that request, once it has one (scripts that write or read it)
-- KEYS[#KEYS-2] :j list  journal: the last transitions, in the text of package journal
-- KEYS[#KEYS-1] :o zset adopted tickets that have not started: numbers of an earlier life, or of a gap; score = ticket
-- KEYS[#KEYS] :f zset   requests that have ended and whose record is in Redis alone: 'ticket id status end', score = ticket
--
-- ARGV[1]  'number|quarantine|restore|emptied': the generation that the caller knows, the end of its quarantine in ms (0: none),
--          until when (ms, 0: never) a lane that is absent or older may have been lost, and the generation that found Redis empty
--          last (0: none)
-- ARGV[2]  what must outlive Redis of the lane, 'paused|purged|reach|ticket,ticket,': whether it is paused, below which ticket all
--          was purged, until when its tasks may still come, on which tickets it was parked; '' where the caller has not asked, '-' of
--          a script that only reads
-- ARGV[3]  concurrency   ARGV[4] burst   ARGV[5] spacing ms   ARGV[6] lease ms   ARGV[7] confirm deadline D, ms
-- ARGV[8]  interval guess ms (the policy's, for a lane that has learned none)   ARGV[9] inline wait W ms
-- ARGV[10] retention ms   ARGV[11] wake-up channel   ARGV[12] 1: a lost lease leaves its request unknown (ambiguous: hold)
-- ARGV[13] paused targets, '|name|name|'   ARGV[14] channel of ended requests   ARGV[15..] the script's own
--
-- Reply: {verdict, name, value, name, value, ...}, all strings; RESTORE where ARGV[2] is wanted, and nothing has changed.
-- A reply with a 'new' that is not '' tells the generation in which the lane has just begun a life: the caller makes sure that it
-- is still that of Redis.
-- Instants are Redis milliseconds, made monotone per lane. Tickets, fences and generations are numbers that begin at Redis
-- microseconds: no lane takes a thousand tickets in a millisecond, so the clock outruns them, and what begins later has higher ones
-- whoever begins it and however little that knows of what was before.
-- Invariant: no write before the generation and the format have been checked; every key written has an expiry.

local FORMAT = 1
local DAY = 86400000
local HOUR = 3600000
local LIFE = 32 * DAY -- a task lives at most 31 days after its creation
local SLACK = 3600000 -- the end of a lane moves in steps, not with every call
local REPAIR = 30000 -- how far a repair skips tickets and fences: three seconds of a lane at its fastest, and less than APART of marker.lua
local SPREAD = 25000 -- within which lives of a generation that is ahead of the clock have numbers of their own; with REPAIR, less than APART
local LONGEST = 3600000 -- no function instance works on a request longer than this
local KEPT, SPARE = 100, 20 -- how many transitions a journal keeps, and by how many more it grows before it is cut
local LISTED = 100000 -- how many ended requests a lane lists
local VOIDED = 10000 -- how many voided tickets a lane remembers; whose record is gone too was never acknowledged
local GRACE, AWAY, CLAIM = 1000, 50, 2000
local FRESH = 10000 -- longer than a call takes with all that is sent again, and than an instance looks away from Redis
local ARGS = 14
local LAST = 3 -- keys that stand last, whatever the script
local READS = '-' -- marks of a script that only reads: it repairs for its answer alone

local S, Q, L, D, V, REC = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local J, O, F = KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]
local generation, quarantine, restore, emptied = string.match(ARGV[1], '^(%d+)|(%d+)|(%d+)|(%d+)$')
generation, quarantine, restore, emptied = tonumber(generation), tonumber(quarantine), tonumber(restore), tonumber(emptied)
local marks = ARGV[2]
local n, burst, spacing, lease = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local confirmWithin, guess, inline = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local retention, channel, holds, blocked, endings = tonumber(ARGV[10]), ARGV[11], ARGV[12] == '1', ARGV[13], ARGV[14]

local NUMBERS = { 'format', 'gen', 'inc', 'nxt', 'u', 'mark', 'tat', 'fence', 'last', 'since', 'isi', 'prior', 'prev', 'granted',
  'hold', 'fails', 'paused', 'kickseq', 'kickat', 'kickset', 'claim', 'claimend', 'miss', 'missk',
  'missat', 'end', 'resolved', 'lost', 'reach', 'horizon' }
local ENTRY = { 'r', 'k', 'due', 'p', 'here', 'owner', 'fence', 'nb', 'started', 'lastfin', 'first', 'att', 'spared', 'parked',
  'deadline', 'slip', 'target' }
local TEXT = { r = true, owner = true, target = true }

local function int(x) return string.format('%.0f', x) end
local function arg(i) return ARGV[ARGS + i] end
local function narg(i) return tonumber(ARGV[ARGS + i]) end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local tick = clock[1] * 1000000 + clock[2]

local s, dirty, grown, entries = { gaps = '', kickby = '', claimby = '', parked = '' }, {}, {}, {}
for _, f in ipairs(NUMBERS) do s[f] = 0 end
do -- all at once: in a small hash Redis looks for every single field from the start
  local stored = redis.call('HGETALL', S)
  for i = 1, #stored, 2 do
    local f, v = stored[i], stored[i + 1]
    s[f] = s[f] == '' and v or tonumber(v)
  end
end
local absent = s.format == 0
if s.last > now then now, tick = s.last, s.last * 1000 end

local function set(field, value)
  if s[field] ~= value then s[field], dirty[field] = value, true end
end

-- A write that frees or grows nothing: after it Redis lets the rest of the script pass, also when it is full.
local function passWhenFull() redis.call('HDEL', S, '-') end

local function extend(to)
  if to > s['end'] then set('end', to) end
end
local function extendForTask()
  if now + LIFE > s['end'] + SLACK then set('end', now + LIFE) end
end

-- note has save append a transition to the journal: of ticket t of request id, for a reason, then letters with their numbers. Zeros
-- and empty texts are left out.
local notes = {}
local function note(event, t, id, reason, ...)
  local parts = { int(now), event }
  if t > 0 then parts[3] = 't' .. int(t) end
  if id ~= '' then parts[#parts + 1] = 'i' .. id end
  local more = { ... }
  for i = 1, #more, 2 do
    if more[i + 1] ~= 0 then parts[#parts + 1] = more[i] .. int(more[i + 1]) end
  end
  if reason ~= '' then parts[#parts + 1] = 'r' .. reason end
  notes[#notes + 1] = table.concat(parts, '|')
end
local function write()
  if #notes == 0 then return end
  if redis.call('RPUSH', J, unpack(notes)) > KEPT + SPARE then redis.call('LTRIM', J, -KEPT, -1) end
  redis.call('PEXPIREAT', J, int(math.min(now + HOUR, s['end']))) -- never longer than the lane: no journal tells of two lives
  notes = {}
end

local function save()
  set('last', now)
  local fields = {}
  for f in pairs(dirty) do
    fields[#fields + 1] = f
    fields[#fields + 1] = type(s[f]) == 'number' and int(s[f]) or s[f]
  end
  if #fields > 0 then redis.call('HSET', S, unpack(fields)) end
  if dirty['end'] then
    for _, key in ipairs({ S, Q, L, D, V, O }) do redis.call('PEXPIREAT', key, int(s['end'])) end
  else
    for key in pairs(grown) do redis.call('PEXPIREAT', key, int(s['end'])) end
  end
  write()
end

local function reply(verdict, ...)
  return { verdict, 'now', int(now), 'inc', int(s.inc), 'isi', int(s.isi), 'horizon', int(s.horizon), 'reach', int(s.reach),
    'lost', int(s.lost), ... }
end

-- Entries of open tickets.
local function entry(t)
  if entries[t] ~= nil then return entries[t] end
  local packed = redis.call('HGET', Q, int(t))
  if not packed then entries[t] = false return false end
  local e, i = {}, 0
  for part in string.gmatch(packed .. '|', '([^|]*)|') do
    i = i + 1
    local f = ENTRY[i]
    if f then e[f] = TEXT[f] and part or tonumber(part) or 0 end
  end
  entries[t] = e
  return e
end

local function put(t, e)
  local parts = {}
  for i, f in ipairs(ENTRY) do
    local v = e[f]
    parts[i] = TEXT[f] and (v or '') or int(v or 0)
  end
  entries[t] = e
  redis.call('HSET', Q, int(t), table.concat(parts, '|'))
  grown[Q] = true
end

-- Gaps are ticket ranges that a repair skipped: 'from-to;', to exclusive.
local function gaps()
  local list = {}
  for from, to in string.gmatch(s.gaps, '(%d+)-(%d+);') do list[#list + 1] = { tonumber(from), tonumber(to) } end
  return list
end
local function inGap(t)
  if s.gaps == '' then return false end
  for _, g in ipairs(gaps()) do
    if t >= g[1] and t < g[2] then return g[2] end
  end
  return false
end
local function skipped(from, to)
  local count = 0
  if s.gaps == '' then return 0 end
  for _, g in ipairs(gaps()) do
    local low, high = math.max(g[1], from), math.min(g[2], to)
    if high > low then count = count + high - low end
  end
  return count
end

-- What the caller has read of the lane outside Redis.
local function restored()
  local paused, purged, reach, parked = string.match(marks, '^(%d)|(%d+)|(%d+)|([%d,]*)$')
  return tonumber(paused or 0), tonumber(purged or 0), tonumber(reach or 0), parked or ''
end
local restoring = now < restore
-- unrestored: the lane may have had an earlier life, and the caller has not said what must be kept of it.
local function unrestored() return absent and restoring and marks == '' end

-- begin starts a life of the lane; where Redis was lost, with what is to be kept of the last one.
local function begin()
  if not absent then return end
  set('format', FORMAT)
  set('gen', generation)
  -- A generation that follows another within APART is ahead of the clock; its numbers begin above all of the one before. A lane may
  -- begin twice in one generation, as who does not know yet that Redis was flushed begins it under the old one: no two lives have the
  -- same number, else tasks of the first would be taken for those of tickets that have long ended.
  local base = generation > tick and generation + tick % SPREAD or tick
  set('inc', base)
  set('nxt', base)
  set('u', base)
  set('fence', base)
  if restoring then
    -- What ran last before Redis was lost has taken its pace when the loss was noticed, at the latest.
    local noticed = restore - LIFE
    if noticed + burst * spacing > now then
      set('granted', noticed)
      set('tat', noticed + burst * spacing)
    end
    local paused, purged, reach, parked = restored()
    set('lost', now)
    set('paused', paused)
    set('mark', purged)
    set('reach', reach)
    set('horizon', reach)
    set('parked', parked)
  end
  note('begin', base, '', '', 'f', base, 'b', quarantine, 'h', s.reach, 'g', generation)
  if s.paused == 1 then note('pause', 0, '', '') end
end

-- A lane may be new because Redis was emptied this moment, as long as nobody can have noticed; also to a call that is sent again.
local function fresh()
  local began = math.floor(s.inc / 1000)
  return now < math.min(began, s.lost > 0 and s.lost or began) + FRESH and int(s.gen) or ''
end

-- u is the lowest ticket that never started and is not resolved.
local function advance()
  while s.u < s.nxt do
    local past = inGap(s.u)
    if past then set('u', past)
    elseif redis.call('ZREM', D, int(s.u)) == 1 then set('u', s.u + 1)
    else return end
  end
end

local function expiry(t) return tonumber(redis.call('ZSCORE', L, int(t)) or nil) end
local function live(t)
  local e = expiry(t)
  return e ~= nil and e > now
end
-- adopted: of an earlier life or a gap, and not started since.
local function adopted(t) return redis.call('ZSCORE', O, int(t)) ~= false end
-- open: a ticket that has neither been resolved nor purged.
local function open(t)
  local e = entry(t)
  if e and (t >= s.u or expiry(t) or adopted(t)) then return e end
  return false
end
local function voided(t) return redis.call('ZSCORE', V, int(t)) ~= false end

local leases = {} -- what has been read of L; emptied by every write to it
local function lapsed()
  if not leases.lapsed then
    leases.lapsed = redis.call('ZRANGEBYSCORE', L, '-inf', int(now))
    for i, t in ipairs(leases.lapsed) do leases.lapsed[i] = tonumber(t) end
  end
  return leases.lapsed
end
local function running()
  leases.running = leases.running or redis.call('ZCOUNT', L, '(' .. int(now), '+inf')
  return leases.running
end

local function head()
  local h = tonumber(redis.call('ZRANGE', O, 0, 0)[1] or nil)
  for _, t in ipairs(lapsed()) do
    if not h or t < h then h = t end
  end
  if s.u < s.nxt and not (h and h < s.u) then return s.u end
  return h
end

-- How many requests wait before t.
local function rank(t)
  local before = 0
  for _, x in ipairs(lapsed()) do
    if x < t then before = before + 1 end
  end
  before = before + redis.call('ZCOUNT', O, '-inf', '(' .. int(t))
  if t > s.u then
    before = before + (t - s.u) - redis.call('ZCOUNT', D, '-inf', '(' .. int(t)) - skipped(s.u, t)
  end
  return before
end
local function depth()
  return redis.call('ZCARD', L) + redis.call('ZCARD', O) + (s.nxt - s.u) - redis.call('ZCARD', D) - skipped(s.u, s.nxt)
end

-- Pace: GCRA. tat is bound to what the policy of this call could have made of the last grant, so that a changed
-- spacing holds from the next start on.
local function arrival()
  if s.granted == 0 then return s.tat end
  return math.min(math.max(s.tat, s.granted + spacing), s.granted + burst * spacing)
end
local function gate() return arrival() - (burst - 1) * spacing end
-- What was accepted before Redis was lost runs before what came after: up to reach it may still return.
local function notBefore(t, e)
  return math.max(s.hold, quarantine, t and t < s.inc and 0 or s.reach, e and e.nb or 0)
end
local function runAt(t, e) return math.max(gate(), s.since, notBefore(t, e)) end

local function learned() return s.isi / 1000 end
-- What schedules are made with errs long: one short run or two are not yet what is usual here, so the guess wears off.
local function interval() if s.isi > 0 then return math.max(s.isi, s.prior) / 1000 end return guess end
local function lead() return math.min(3000, 16 * math.max(spacing, interval())) end
local function headEntry()
  local h = head()
  return h, h and entry(h) or false
end

-- The slot told to clients: the earliest start of ticket t at this rank.
local function slot(at, t)
  local from = math.max(now, notBefore(headEntry()), t < s.inc and 0 or s.reach)
  return math.ceil(math.max(from, math.max(from, arrival()) + (at - burst + 1) * spacing, from + at * learned()))
end
-- The schedule of a task: a safety net, distinct for every rank, erring late. Who snoozes behind an unconfirmed head has seen
-- it stand, so it may be a hole until its deadline; to an arrival it is new, and its task on the way.
local function backstop(t, at, snoozing)
  local h, e = headEntry()
  local base = math.max(now, gate(), notBefore(h, e), t < s.inc and 0 or s.reach)
  if snoozing and e and e.p > 0 and h ~= t then base = math.max(base, e.p) end
  if running() >= n then
    local first = redis.call('ZRANGEBYSCORE', L, '(' .. int(now), '+inf', 'LIMIT', 0, 1)[1]
    local run = first and entry(tonumber(first))
    if run then base = math.max(base, now + math.min(now - run.started, 60000)) end
  end
  -- A lane that keeps its pace, nearly, has no reason to plan for twice as long. With burst 1 every late start moves all later
  -- ones, so tasks lie 2 % further apart than starts do; a burst catches up.
  local keeps = s.isi > 0 and learned() <= spacing + math.min(spacing / 2, 0.05 * spacing + AWAY)
  local slow = keeps and 0.02 * spacing or 2 * interval()
  local step = burst > 1 and spacing or 1.02 * math.max(spacing, keeps and learned() or 0)
  return math.floor(math.max(base + at * slow, math.max(base, arrival()) + (at - burst + 1) * step) - lead())
end

-- An unknown request lost its lease without an end, where the policy wants somebody to say what became of it.
local function unknown(t, e)
  local at = holds and e.fence > 0 and expiry(t)
  return at and at <= now
end
-- stands says why the head may not start however long it waits; nil where only time and leases hold it.
local function stands(h, e)
  if s.paused == 1 then return 'paused' end
  if not e then return nil end
  if e.parked == 1 then return 'parked' end
  if unknown(h, e) then return 'unknown' end
  if blocked ~= '' and string.find(blocked, '|' .. e.target .. '|', 1, true) then return 'target-paused' end
end
-- standingUntil is when the task of a request on a lane that stands comes again to keep it durable; k is its snooze count. At most
-- about an hour: if Redis is lost meanwhile, that is how long the lane waits for it once it goes on.
local function standingUntil(k, jitter)
  return math.floor(now + math.min(600000 * 2 ^ math.max(0, math.min(k, 10)), HOUR) * jitter)
end
local function free(h, e) return running() < n and not stands(h, e) end

-- What a caller needs to know to go on with the head.
local function nextHead()
  local h, e = headEntry()
  if not h or not e then return {} end
  local at = ''
  if free(h, e) then at = int(math.max(now, runAt(h, e))) end
  return { 'h', int(h), 'hr', e.r, 'hk', int(e.k), 'hdue', int(e.due), 'hhere', e.here > now and '1' or '0',
    'hp', int(e.p), 'hat', at, 'hseen', int(now) }
end
local function append(list, more)
  for _, v in ipairs(more) do list[#list + 1] = v end
  return list
end
-- All that is known of the request, for who asks how it ended.
local function fields()
  local stored = redis.call('HGETALL', REC)
  for i = 1, #stored, 2 do stored[i] = 'rec.' .. stored[i] end
  return stored
end
-- A wake-up names the one ticket that may start next; nobody else need look.
local function wake()
  local h, e = headEntry()
  if h and e and e.here > now and free(h, e) then
    redis.call('PUBLISH', channel, int(h) .. ' ' .. int(math.max(now, runAt(h, e))))
  end
end

-- grant gives ticket x its lease. Every grant takes pace. record is the record's key.
local function grant(x, e, owner, record)
  local beside = running()
  local possible = math.max(gate(), s.since)
  if s.prev > 0 and e.att == 0 and possible > s.prev then
    -- How late starts are on the way is part of what is usual here; a longer delay is the schedule's own doing.
    local sample = (math.min(now, possible + AWAY) - s.prev) * 1000
    set('isi', math.max(1, math.floor(s.isi == 0 and sample or s.isi * 0.8 + sample * 0.2)))
    set('prior', math.max(1, math.floor((s.prior > 0 and s.prior or guess * 1000) * 0.8)))
  end
  e.slip = now - math.min(now, runAt(x, e))
  set('tat', math.max(arrival(), now) + spacing)
  extend(s.tat + 60000)
  set('granted', now)
  set('prev', now)
  set('fence', s.fence + 1)
  e.owner, e.fence, e.started, e.here, e.nb = owner, s.fence, now, 0, 0
  e.att = e.att + 1
  if e.first == 0 then e.first = now end
  put(x, e)
  redis.call('ZADD', L, int(now + lease), int(x))
  grown[L], leases = true, {}
  redis.call('HSET', record, 'fence', int(e.fence), 'started', int(e.first), 'attempts', int(e.att))
  if x == s.u then
    set('u', s.u + 1)
    advance()
  elseif x < s.u then
    redis.call('ZREM', O, int(x))
  end
  note('grant', x, e.r, '', 'f', e.fence, 'a', e.att, 'k', e.k, 'x', now + lease, 'l', beside, 'n', n, 's', spacing, 'u', burst)
end

-- resolve takes an open ticket out of the lane for good.
local function resolve(t)
  redis.call('HDEL', Q, int(t))
  entries[t], leases = false, {}
  if redis.call('ZREM', L, int(t)) + redis.call('ZREM', O, int(t)) == 0 then
    if t == s.u then set('u', s.u + 1)
    elseif t > s.u then
      redis.call('ZADD', D, int(t), int(t))
      grown[D] = true
    end
  end
  advance()
  set('resolved', s.resolved + 1)
  set('since', now)
  if not head() and redis.call('ZCARD', L) == 0 then set('prev', 0) end
end

-- afresh restarts what the lane learns after it stood: that time tells nothing about its interval, and nobody was late.
local function afresh()
  set('since', now)
  set('prev', 0)
end

-- purgeTo cancels all that waits below a ticket. Constant work: the mark says it of every ticket; entries and records go when
-- their tasks come, or expire.
local function purgeTo(mark)
  for _, t in ipairs(lapsed()) do
    if t < mark then
      redis.call('HDEL', Q, int(t))
      entries[t] = false
      redis.call('ZREM', L, int(t))
    end
  end
  redis.call('ZREMRANGEBYSCORE', O, '-inf', '(' .. int(mark))
  redis.call('ZREMRANGEBYSCORE', D, '-inf', '(' .. int(mark))
  leases = {}
  set('mark', math.max(s.mark, mark))
  if s.u < mark then
    set('u', mark)
    advance()
  end
  afresh()
end

-- list keeps a request that has ended in the lane's list, from which a few go whose time is over.
local function list(t, id, status)
  for _, member in ipairs(redis.call('ZRANGE', F, 0, 2)) do
    if tonumber(string.match(member, '%d+$')) + retention <= now then redis.call('ZREM', F, member) end
  end
  redis.call('ZADD', F, int(t), table.concat({ int(t), id, status, int(now) }, ' '))
  redis.call('ZREMRANGEBYRANK', F, 0, -LISTED - 1)
  redis.call('PEXPIREAT', F, int(now + retention))
end

-- finished makes a record terminal, and lists it as that of ticket t; a nil t says that it is durable.
local function finished(record, id, t, status, fields)
  redis.call('HSET', record, 'status', status, 'finished', int(now), unpack(fields))
  redis.call('PEXPIREAT', record, int(now + retention))
  if t then list(t, id, status) end
  redis.call('PUBLISH', endings, id .. ' 0') -- in the form of a wake-up: look at once
end

-- exhausted says why a request is not tried again, if it is not.
local function exhausted(e, spared, attempts, age)
  if e.att - e.spared - spared >= attempts then return 'attempts' end
  if now - e.first >= age then return 'max-age' end
end

-- expired says that a request has waited past its deadline without a start; it is dead then.
local function expired(t, e, record)
  if e.deadline == 0 or now <= e.deadline or e.first > 0 then return false end
  finished(record, e.r, t, 'dead', { 'reason', 'deadline', 'detail', 'it waited past its deadline', 'durable', '0' })
  note('expire', t, e.r, '')
  resolve(t)
  extend(now + retention + 60000)
  wake()
  return true
end

-- voidTicket gives the place of t up: if its task ever comes it takes a new ticket. fence is that of a lease that nobody used, or 0.
local function voidTicket(t, e, fence)
  note('void', t, e.r, '', 'f', fence)
  resolve(t)
  set('prev', 0) -- how long the lane stood at a hole tells nothing about its interval
  redis.call('ZADD', V, int(t), int(t))
  redis.call('ZREMRANGEBYRANK', V, 0, -VOIDED - 1)
  grown[V] = true
  wake()
end

-- forget takes a lane for absent that somebody began in an emptied Redis before he noticed. It knows neither the quarantine nor how
-- long what was accepted before may take to return, and nobody who verified it has used what it gave.
local function forget()
  redis.call('DEL', S, Q, L, D, V, O, J)
  for f, v in pairs(s) do s[f] = type(v) == 'number' and 0 or '' end
  absent = true
end

-- Checks before anything else: a newer format, an older caller, an older lane.
local refusal
if s.format > FORMAT then refusal = reply('FORMAT', 'format', int(s.format))
elseif not absent and s.gen > generation then refusal = reply('GENERATION', 'gen', int(s.gen))
elseif not absent and s.gen < generation and restoring and marks == '' then refusal = reply('RESTORE')
elseif not absent and s.gen < emptied and marks ~= READS then forget()
elseif not absent and s.gen < generation then
  -- Repair: what the lost milliseconds may have issued is skipped, what they may have granted has taken its pace. What an
  -- operator said in them is known from outside Redis.
  -- All that was lost lies below the generation's number. Not now: the lane may be touched long after the loss, and must not be
  -- ahead of the clock at the next one.
  local from = s.nxt
  set('nxt', math.max(s.nxt, generation) + REPAIR)
  set('fence', math.max(s.fence, generation) + REPAIR)
  set('gaps', s.gaps .. int(from) .. '-' .. int(s.nxt) .. ';')
  set('granted', now)
  set('tat', now + burst * spacing)
  set('gen', generation)
  set('prev', 0)
  set('lost', now)
  extendForTask()
  note('repair', s.nxt, '', '', 'f', s.fence, 'b', quarantine, 's', spacing, 'u', burst, 'g', generation)
  advance()
  if restoring and marks ~= READS then
    local paused, purged, reach, parked = restored()
    passWhenFull()
    if s.paused ~= paused then note(paused == 1 and 'pause' or 'resume', 0, '', '') end
    set('paused', paused)
    set('horizon', math.max(s.horizon, reach))
    set('parked', parked)
    if purged > s.mark then
      note('purge', purged, '', '')
      purgeTo(purged)
    end
    for t in string.gmatch(parked, '%d+') do
      local e = open(tonumber(t))
      if e and not live(tonumber(t)) then
        if e.parked == 0 then note('park', tonumber(t), e.r, '') end
        e.parked = 1
        put(tonumber(t), e)
      end
    end
  end
end
if refusal then return refusal end
