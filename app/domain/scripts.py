"""All Lua that the ledger runs, as text: few scripts, each one atomic step.

Time is Redis's own. A script that writes for a run compares the run's fence first, so that a
worker whose lease was taken over cannot write; it remembers the operation's id and answer, so that
a call whose answer was lost may be sent again. Lua does not roll back: what may fail is done first
or through `redis.pcall`. Numbers are compared as numbers; text in JSON is never parsed here.
"""

from __future__ import annotations

import hashlib
from functools import cache

_NOW = """
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function text(n) return string.format('%.0f', n) end
"""

# KEYS[1] the run's row, ARGV[1] the fence of the lease, ARGV[2] the operation's id.
_FENCED = (
    _NOW
    + """
local held = redis.call('HMGET', KEYS[1], 'fence', 'op', 'said', 'lease')
if held[1] ~= ARGV[1] then return {'fenced', held[1] or 'none'} end
if held[2] == ARGV[2] then return {'ok', held[3]} end
if held[4] == '0' then return {'fenced', 'released'} end
local function said(answer)
  redis.call('HSET', KEYS[1], 'op', ARGV[2], 'said', answer)
  return {'ok', answer}
end
"""
)

# An entry of the journal, chained to the one before it (see app.domain.chain). The row's `chain`
# is the newest stamp, so that an entry taken from the end shows as well.
_CHAINED = """
local function chained(row, journal, kind, data)
  local before = redis.call('HGET', row, 'chain') or ''
  local stamp = redis.sha1hex(before .. '\\n' .. kind .. '\\n' .. data)
  redis.call('HSET', row, 'chain', stamp)
  return redis.call('XADD', journal, '*', 'kind', kind, 'data', data, 'chain', stamp)
end
"""

# Genuine events, any number in one call. KEYS: inbox, open events; ARGV: schema, prefix of event
# rows, then key and JSON of each entry. Answer: a letter an entry (n new, k known, e error), then
# the errors' texts. An entry that fails leaves nothing behind and fails alone.
RECEIVE = (
    _NOW
    + """
local function bad(r) return type(r) == 'table' and r.err end
local at, letters, out = text(now()), {}, {''}
for i = 3, #ARGV, 2 do
  local key, row = ARGV[i], ARGV[2] .. ARGV[i]
  local made = redis.pcall('HSETNX', row, 'v', ARGV[1])
  local why, letter = bad(made), 'n'
  if made == 0 then
    letter = 'k'
  elseif not why then
    why = bad(redis.pcall('HSET', row, 'rev', '1', 'at', at, 'data', ARGV[i + 1]))
      or bad(redis.pcall('ZADD', KEYS[2], at, key))
      or bad(redis.pcall('RPUSH', KEYS[1], key))
    if why then
      redis.pcall('DEL', row)
      redis.pcall('ZREM', KEYS[2], key)
    end
  end
  if why then
    letter = 'e'
    out[#out + 1] = why
  end
  letters[#letters + 1] = letter
end
out[1] = table.concat(letters)
return out
"""
)

# KEYS: event row, open events; ARGV: event key, outcome, seconds that it is kept. The outcome that
# is already there stays. An event that opened a run goes with its run.
EVENT_DONE = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
if not redis.call('HGET', KEYS[1], 'run') then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
return redis.call('HSETNX', KEYS[1], 'outcome', ARGV[2])
"""

# There was a first sign to the person behind an event. KEYS: event row.
GREET = """
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'greeted', '1') end
return 1
"""

# One open Change an issue, one active run a Change. KEYS: event row, run row, issue, due, runs,
# open events; ARGV: run id, JSON, schema, role, state, event key, expected Change ("" = none),
# prefix of Change rows, prefix of run rows, repository, issue, branch, the Change that the run goes
# on with although it has a pull request ("" = none; gone where it is not the open one).
OPEN_RUN = (
    _NOW
    + """
local run, wanted, at = ARGV[1], ARGV[7], text(now())
if redis.call('EXISTS', KEYS[1]) == 0 then return {'missing'} end
local opened = redis.call('HGET', KEYS[1], 'run')
if opened then
  return {'known', opened, redis.call('HGET', ARGV[9] .. opened, 'change') or '', '0', ''}
end
local id = redis.call('GET', KEYS[3]) or ''
if ARGV[13] ~= '' and id ~= ARGV[13] then return {'gone', '', ARGV[13], '0', ''} end
local change = ARGV[8] .. (id == '' and run or id)
if id ~= '' then
  local c = redis.call('HMGET', change, 'active', 'pull', 'v')
  if c[3] and tonumber(c[3]) > tonumber(ARGV[3]) then return {'newer', c[3]} end
  if c[1] and c[1] ~= '' then
    return {'active', c[1], id, c[2], redis.call('HGET', ARGV[9] .. c[1], 'waiting') or ''}
  end
  if ARGV[13] == '' and c[2] and c[2] ~= '0' then return {'pull', '', id, c[2], ''} end
end
if id ~= wanted then return {'again', id} end
redis.call('HSET', KEYS[2], 'v', ARGV[3], 'rev', '1', 'fence', '0', 'data', ARGV[2],
  'state', ARGV[5], 'role', ARGV[4], 'waiting', '', 'change', id == '' and run or id,
  'event', ARGV[6], 'lease', '0', 'owner', '', 'crashes', '0', 'wakes', '0', 'unclaimed', '0')
if id == '' then
  redis.call('SET', KEYS[3], run)
  redis.call('HSET', change, 'v', ARGV[3], 'rev', '1', 'id', run, 'repository', ARGV[10],
    'issue', ARGV[11], 'branch', ARGV[12], 'active', run, 'runs', run, 'pull', '0', 'open', '1')
else
  local runs = redis.call('HGET', change, 'runs')
  redis.call('HSET', change, 'active', run, 'runs', runs .. ',' .. run)
  redis.call('HINCRBY', change, 'rev', 1)
end
redis.call('ZADD', KEYS[4], at, run)
redis.call('ZADD', KEYS[5], at, run)
redis.call('HSET', KEYS[1], 'run', run)
redis.call('PERSIST', KEYS[1])  -- one that waited for its turn had its outcome before
redis.call('PERSIST', KEYS[1])
redis.call('HSETNX', KEYS[1], 'outcome', 'run ' .. run)
redis.call('ZREM', KEYS[6], ARGV[6])
return {'new', run, id == '' and run or id, '0', ''}
"""
)

# KEYS: run row, due; ARGV: owner, lease in ms, grace in ms, newest schema, operation, run id, the
# role that claims ("" = any): a wake-up that came late takes no run out of another role's hands.
# A lease that ran out counts as a crash of its run, and `lapses` remembers whose it was (see
# EXCUSE), unless the server was started again since: then it was the server that was away.
CLAIM = (
    _NOW
    + """
local names = {'v', 'lease', 'op', 'fence', 'crashes', 'rev', 'data', 'answer', 'cancel', 'owner',
  'life', 'lapses', 'role'}
local r = redis.call('HMGET', KEYS[1], unpack(names))
if not r[1] then return {'missing'} end
if tonumber(r[1]) > tonumber(ARGV[4]) then return {'newer', r[1]} end
local at, lease = now(), tonumber(r[2])
if r[3] ~= ARGV[5] then
  if not redis.call('ZSCORE', KEYS[2], ARGV[6]) then return {'over'} end
  if lease > at then return {'held'} end
  if ARGV[7] ~= '' and r[13] and r[13] ~= ARGV[7] then return {'other', r[13]} end
  local life = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
  local lapses = r[12] or ''
  if lease > 0 and (not r[11] or r[11] == life) then
    r[5] = text(r[5] + 1)
    lapses = lapses .. '[' .. r[10] .. ']'
  end
  r[4] = text(r[4] + 1)
  lease = at + tonumber(ARGV[2])
  redis.call('HSET', KEYS[1], 'fence', r[4], 'owner', ARGV[1], 'lease', text(lease),
    'crashes', r[5], 'lapses', lapses, 'life', life, 'unclaimed', '0', 'op', ARGV[5], 'said', '')
  redis.call('ZADD', KEYS[2], text(lease + tonumber(ARGV[3])), ARGV[6])
end
return {'ok', r[4], r[6], r[5], r[7], text(lease), r[9] or '0', r[8] or ''}
"""
)

# A worker that lost Redis lives and says so: what it holds is given back and due at once, and where
# its lapse was counted as a crash already, it is one no more. KEYS: run row, due; ARGV: owner,
# newest schema, run id. Safe to send twice.
EXCUSE = (
    _NOW
    + """
local r = redis.call('HMGET', KEYS[1], 'v', 'owner', 'lease', 'lapses', 'crashes')
if not r[1] or tonumber(r[1]) > tonumber(ARGV[2]) then return 0 end
if r[2] == ARGV[1] and tonumber(r[3]) > 0 then
  redis.call('HSET', KEYS[1], 'lease', '0', 'owner', '')
  if redis.call('ZSCORE', KEYS[2], ARGV[3]) then
    redis.call('ZADD', KEYS[2], text(now()), ARGV[3])
  end
  return 1
end
local first, last = string.find(r[4] or '', '[' .. ARGV[1] .. ']', 1, true)
if not first then return 0 end
redis.call('HSET', KEYS[1], 'crashes', text(r[5] - 1),
  'lapses', string.sub(r[4], 1, first - 1) .. string.sub(r[4], last + 1))
return 1
"""
)

# Compare-and-set on fence and rev. KEYS: run row, due, Change row; ARGV after fence and operation:
# rev, JSON, state, role, waiting, pull, over (0|1), release (0|1), due ("" = by the rules), grace,
# run id, prefix of spend rows, ending (0|1), schema, class (see record), branch ("" where the run
# has no contract yet: as long as there is no pull request, a contract settles how the Change's
# branch is called). A run that is over is always released; one that ends is no longer asked to end,
# or nobody could tell its ending.
SAVE = (
    _FENCED
    + """
local row = redis.call('HMGET', KEYS[1], 'rev', 'state', 'spend_day')
if row[1] ~= ARGV[3] then return {'stale', row[1]} end
local rev, at = text(row[1] + 1), now()
redis.call('HSET', KEYS[1], 'v', ARGV[16], 'rev', rev, 'data', ARGV[4], 'state', ARGV[5],
  'role', ARGV[6], 'waiting', ARGV[7], 'class', ARGV[17])
if row[2] ~= ARGV[5] then redis.call('HSET', KEYS[1], 'crashes', '0', 'lapses', '') end
if ARGV[7] == '' then redis.call('HDEL', KEYS[1], 'answer') end
if ARGV[15] == '1' then redis.call('HDEL', KEYS[1], 'cancel', 'cancel_why') end
local c = redis.call('HMGET', KEYS[3], 'pull', 'branch')
if ARGV[18] ~= '' and c[1] == '0' and c[2] ~= ARGV[18] then
  redis.call('HSET', KEYS[3], 'branch', ARGV[18])
  redis.call('HINCRBY', KEYS[3], 'rev', 1)
end
if ARGV[8] ~= '0' and c[1] == '0' then
  redis.call('HSET', KEYS[3], 'pull', ARGV[8])
  redis.call('HINCRBY', KEYS[3], 'rev', 1)
end
if ARGV[9] == '1' then
  if redis.call('HGET', KEYS[3], 'active') == ARGV[13] then
    redis.call('HSET', KEYS[3], 'active', '')
    redis.call('HINCRBY', KEYS[3], 'rev', 1)
  end
  -- A reservation that nobody settled is charged in full: unsuccessful work costs, too.
  if row[3] then
    local day, field = ARGV[14] .. row[3], 'reserved:' .. ARGV[13]
    local left = redis.call('HGET', day, field)
    if left then
      redis.call('HINCRBY', day, 'spent', left)
      redis.call('HDEL', day, field)
    end
  end
  redis.call('ZREM', KEYS[2], ARGV[13])
  redis.call('HSET', KEYS[1], 'lease', '0', 'owner', '')
else
  local due = ARGV[11]
  if due == '' then
    due = text((ARGV[10] == '1' and at or tonumber(held[4])) + tonumber(ARGV[12]))
  end
  redis.call('ZADD', KEYS[2], due, ARGV[13])
end
if ARGV[10] == '1' then redis.call('HSET', KEYS[1], 'lease', '0', 'owner', '') end
return said(rev)
"""
)

# Keeps a lease alive; writes only when a third of it is used. KEYS: run row, due; ARGV: fence,
# lease in ms, grace in ms, run id. Answer: lease end and the cancel flag.
BEAT = (
    _NOW
    + """
local r = redis.call('HMGET', KEYS[1], 'fence', 'lease', 'cancel')
if r[1] ~= ARGV[1] then return {'fenced', r[1] or 'none'} end
if r[2] == '0' then return {'released'} end
local at, lease = now(), tonumber(ARGV[2])
local ends = tonumber(r[2])
if ends - at < lease * 2 / 3 then
  ends = at + lease
  redis.call('HSET', KEYS[1], 'lease', text(ends))
  redis.call('ZADD', KEYS[2], text(ends + tonumber(ARGV[3])), ARGV[4])
end
return {'ok', text(ends), r[3] or '0'}
"""
)

# A person wants the run to end. KEYS: run row, due; ARGV: run id, then the states that are ends.
CANCEL = (
    _NOW
    + """
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local state = redis.call('HGET', KEYS[1], 'state')
for i = 3, #ARGV do
  if state == ARGV[i] then return 1 end
end
if redis.call('HSETNX', KEYS[1], 'cancel', '1') == 1 then
  redis.call('HSET', KEYS[1], 'cancel_why', ARGV[2])
end
local at = now()
if tonumber(redis.call('HGET', KEYS[1], 'lease')) <= at then
  redis.call('ZADD', KEYS[2], text(at), ARGV[1])
end
return 1
"""
)

# An answer for a run that waits for one. KEYS: run row, due, journal; ARGV: run id, event key,
# the waiting that fits, kind and JSON of the journal entry.
ANSWER = (
    _NOW
    + _CHAINED
    + """
local r = redis.call('HMGET', KEYS[1], 'waiting', 'lease', 'answer')
if r[3] == ARGV[2] then return 1 end
local at = now()
if r[1] ~= ARGV[3] or r[3] or tonumber(r[2]) > at then return 0 end
redis.call('HSET', KEYS[1], 'answer', ARGV[2])
chained(KEYS[1], KEYS[3], ARGV[4], ARGV[5])
redis.call('ZADD', KEYS[2], text(at), ARGV[1])
return 1
"""
)

# A review comment waits for its turn, once, in the order in which comments were written. KEYS:
# waiting, taken, Changes with waiting ones; ARGV: event key, when it was written, Change. Answer:
# how many wait, 0 where a run took this one up already.
WAIT_TURN = """
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return 0 end
redis.call('ZADD', KEYS[1], 'NX', ARGV[2], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[3])
return redis.call('ZCARD', KEYS[1])
"""

# A run took review comments up: they wait no longer. KEYS as above; ARGV: Change, seconds that it
# is remembered, then the event keys.
TAKEN = """
for i = 3, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[i])
  redis.call('SADD', KEYS[2], ARGV[i])
end
redis.call('EXPIRE', KEYS[2], ARGV[2])
if redis.call('ZCARD', KEYS[1]) == 0 then redis.call('SREM', KEYS[3], ARGV[1]) end
return 1
"""

# Counts a wake-up and says when to ring again if nobody claims: KEYS: run row, due, the queue, that
# of class large; ARGV: run id, first pause in ms (doubled with each one that nobody answered,
# 32-fold at most). Answer: its number, -1 where the one before waits in that queue still, 0 where
# there is no such run; and the run's class.
WAKE = (
    _NOW
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return {0, ''} end
local at, r = now(), redis.call('HMGET', KEYS[1], 'lease', 'unclaimed', 'wakes', 'class')
local class = r[4] or ''
local queue = class == 'large' and KEYS[4] or KEYS[3]
local queued = redis.call('LPOS', queue, ARGV[1] .. '-' .. (r[3] or '0'))
if tonumber(r[1]) <= at and redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  local pause = tonumber(ARGV[2])
  if not queued then
    pause = pause * 2 ^ math.min(tonumber(r[2] or '0'), 5)
    redis.call('HINCRBY', KEYS[1], 'unclaimed', 1)
  end
  redis.call('ZADD', KEYS[2], text(at + pause), ARGV[1])
end
if queued then return {-1, class} end
return {redis.call('HINCRBY', KEYS[1], 'wakes', 1), class}
"""
)

# Runs past their wake time and without a live lease. KEYS: due; ARGV: time in ms, limit, prefix of
# run rows. Answer: run id, role, state, and so on.
DUE = (
    _NOW
    + """
local at, out = now(), {}
for _, run in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
  local r = redis.call('HMGET', ARGV[3] .. run, 'lease', 'role', 'state')
  if r[1] and tonumber(r[1]) <= at then
    out[#out + 1] = run
    out[#out + 1] = r[2]
    out[#out + 1] = r[3]
  end
end
return out
"""
)

# KEYS: run row, journal; ARGV after fence and operation: kind, JSON. Answer: the entry's id.
NOTE = (
    _FENCED
    + _CHAINED
    + """
return said(chained(KEYS[1], KEYS[2], ARGV[3], ARGV[4]))
"""
)

# KEYS: run row, blob, what the run holds, who holds the blob; ARGV after fence and operation:
# bytes, digest, run id. Content is named by its hash, so what is there already is the same.
PUT = (
    _FENCED
    + """
redis.call('SETNX', KEYS[2], ARGV[3])
redis.call('SADD', KEYS[3], 'b:' .. ARGV[4])
redis.call('SADD', KEYS[4], ARGV[5])
return {'ok', ''}
"""
)

# A measurement for other runs. KEYS: run row, memory, what the run holds; ARGV after fence and
# operation: JSON, seconds, name.
REMEMBER = (
    _FENCED
    + """
redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4])
redis.call('SADD', KEYS[3], 'm:' .. ARGV[5])
return {'ok', ''}
"""
)

# A run that is over and all that is its own goes. KEYS: run row, due, runs, open events, what the
# run holds, Change row, journal, event row, then further rows of the run; ARGV: run id, ms that it
# is kept after its last entry, 1 to erase an installation's (its open pull request and what it left
# for others count no longer), Change, event key, newest schema, prefixes of blobs, holders,
# memories, runs and issues, the lists of Changes whose approval is looked at, that have comments
# waiting, and by repository (a prefix), then the rows of the Change. Answer: 1 when it is gone.
FORGET = (
    _NOW
    + """
local run, erase = ARGV[1], ARGV[3] == '1'
local v = redis.call('HGET', KEYS[1], 'v')
if not v then
  redis.call('ZREM', KEYS[3], run)
  return 1
end
if redis.call('ZSCORE', KEYS[2], run) then return 0 end
if tonumber(v) > tonumber(ARGV[6]) and not erase then return 0 end
local c = redis.call('HMGET', KEYS[6], 'active', 'pull', 'open', 'runs', 'issue', 'repository')
if c[3] == '1' and c[2] ~= '0' and not erase then return 0 end
local last = redis.call('XREVRANGE', KEYS[7], '+', '-', 'COUNT', 1)
local at = tonumber(redis.call('ZSCORE', KEYS[3], run) or '0')
if last[1] then at = math.max(at, tonumber(string.match(last[1][1], '^%d+'))) end
if now() - at < tonumber(ARGV[2]) then return 0 end
for _, held in ipairs(redis.call('SMEMBERS', KEYS[5])) do
  local kind, name = string.sub(held, 1, 2), string.sub(held, 3)
  if kind == 'b:' then
    redis.call('SREM', ARGV[8] .. name, run)
    if redis.call('EXISTS', ARGV[8] .. name) == 0 then redis.call('DEL', ARGV[7] .. name) end
  elseif erase then
    redis.call('DEL', ARGV[9] .. name)
  end
end
redis.call('DEL', KEYS[1], KEYS[5], KEYS[7], KEYS[8])
for i = 9, #KEYS do redis.call('DEL', KEYS[i]) end
redis.call('ZREM', KEYS[3], run)
redis.call('ZREM', KEYS[4], ARGV[5])
if not c[4] or (c[1] ~= '' and c[1] ~= run) then return 1 end
for other in string.gmatch(c[4], '[^,]+') do
  if redis.call('EXISTS', ARGV[10] .. other) == 1 then return 1 end
end
local issue = ARGV[11] .. c[6] .. ':' .. c[5]
if redis.call('GET', issue) == ARGV[4] then redis.call('DEL', issue) end
redis.call('ZREM', ARGV[12], ARGV[4])
redis.call('SREM', ARGV[13], ARGV[4])
redis.call('SREM', ARGV[14] .. c[6], ARGV[4])
for i = 15, #ARGV do redis.call('DEL', ARGV[i]) end
return 1
"""
)

# Intents: '0' or '1' (done) before the JSON. KEYS: run row, intents; ARGV after fence and
# operation: key, JSON, done (0|1). What is done stays done.
INTENT = (
    _FENCED
    + """
local there = redis.call('HGET', KEYS[2], ARGV[3])
if ARGV[5] == '1' or not there or string.sub(there, 1, 1) == '0' then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[5] .. ARGV[4])
end
return said('')
"""
)

# Gregorian date of a day number since 1970-01-01, as YYYYMMDD; exact for all years from 1970 on.
_DAY = """
local function today()
  local days = math.floor(redis.call('TIME')[1] / 86400)
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524)
    - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local d = doy - math.floor((153 * mp + 2) / 5) + 1
  local m = mp < 10 and mp + 3 or mp - 9
  return string.format('%04d%02d%02d', yoe + era * 400 + (m <= 2 and 1 or 0), m, d)
end
"""

# Reserve micro-dollars of the day's cap. KEYS: run row; ARGV after fence and operation: amount,
# cap, run id, prefix of spend rows, seconds that a day's row is kept. A reservation that was not
# settled is charged in full first: nobody knows what became of that call. Answer: '' or what is
# left of the cap.
RESERVE = (
    _FENCED
    + _DAY
    + """
local field, day = 'reserved:' .. ARGV[5], today()
local before = redis.call('HGET', KEYS[1], 'spend_day')
if before then
  local left = redis.call('HGET', ARGV[6] .. before, field)
  if left then
    redis.call('HINCRBY', ARGV[6] .. before, 'spent', left)
    redis.call('HDEL', ARGV[6] .. before, field)
  end
end
local row, used = ARGV[6] .. day, 0
local all = redis.call('HGETALL', row)
for i = 2, #all, 2 do used = used + tonumber(all[i]) end
if used + tonumber(ARGV[3]) > tonumber(ARGV[4]) then
  return said(text(math.max(0, tonumber(ARGV[4]) - used)))
end
redis.call('HSET', row, field, ARGV[3])
redis.call('EXPIRE', row, ARGV[7])
redis.call('HSET', KEYS[1], 'spend_day', day)
return said('')
"""
)

# What was really spent replaces the reservation, on the day that it was made. KEYS: run row; ARGV
# after fence and operation: amount, run id, prefix of spend rows, seconds that a row is kept.
_SETTLED = """
local day = redis.call('HGET', KEYS[1], 'spend_day') or today()
redis.call('HDEL', ARGV[5] .. day, 'reserved:' .. ARGV[4])
redis.call('HINCRBY', ARGV[5] .. day, 'spent', ARGV[3])
redis.call('EXPIRE', ARGV[5] .. day, ARGV[6])
redis.call('HDEL', KEYS[1], 'spend_day')
"""
SETTLE = _FENCED + _DAY + _SETTLED + "return said('')\n"

# A paid call's journal entry and its settling in one, so that no crash comes in between. KEYS: run
# row, journal; ARGV as for SETTLE, then kind and JSON of the entry. Answer: the entry's id.
PAID = (
    _FENCED
    + _DAY
    + _CHAINED
    + _SETTLED
    + """
return said(chained(KEYS[1], KEYS[2], ARGV[7], ARGV[8]))
"""
)

# What was spent and is reserved today, micro-dollars. KEYS: none; ARGV: prefix of spend rows.
SPENT = (
    _DAY
    + """
local used = 0
local all = redis.call('HGETALL', ARGV[1] .. today())
for i = 2, #all, 2 do used = used + tonumber(all[i]) end
return string.format('%.0f', used)
"""
)

# Runs within a window, in every scope at once. KEYS: one sorted set a scope; ARGV: member, window
# in ms, then a limit for each scope. Answer: 0, or the number of the first scope that is full.
CAP = (
    _NOW
    + """
local at = now()
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(at - tonumber(ARGV[2])))
  if not redis.call('ZSCORE', key, ARGV[1])
    and redis.call('ZCARD', key) >= tonumber(ARGV[2 + i]) then return i end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, 'NX', text(at), ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2])
end
return 0
"""
)

# The next turn to write for one installation. KEYS: pace row; ARGV: gap in ms, the longest wait in
# ms, writes an hour (0: any number), the place in the line ('' for none yet), 1 for a first sign.
# Turns are given in the order of asking; a first sign goes before those who have not asked for 3 s.
# A place that nobody asks for at its time, for 2 s more, is a dead one's. Answer: '' where the turn
# is taken and is now; `wait`, the ms until it is worth asking again, and the place; or why there is
# none and until when: `limited` (GitHub said so, with its words), `full` (the hour's writes are
# used), `queue` (too many others are ahead).
PACE = (
    _NOW
    + """
local at, gap, mine, r = now(), tonumber(ARGV[1]), ARGV[4], {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do r[flat[i]] = flat[i + 1] end
local function place(v) return string.match(v or '', '^(%d+) (%d+) (%d+)$') end
local function none(why, till, words)
  redis.call('HDEL', KEYS[1], 'w:' .. mine)
  return {why, till, words}
end
if tonumber(r['until'] or '0') > at then return none('limited', r['until'], r.why or '') end
local hour, count = text(math.floor(at / 3600000)), tonumber(r.count or '0')
if r.hour ~= hour then count = 0 end
if tonumber(ARGV[3]) > 0 and count >= tonumber(ARGV[3]) then
  return none('full', text((math.floor(at / 3600000) + 1) * 3600000), '')
end
local order, asked = place(r['w:' .. mine])
asked = tonumber(asked or at)
order = tonumber(order or at + (ARGV[5] == '1' and 0 or 3000))
local ahead, number = 0, tonumber(mine) or math.huge
for field, v in pairs(r) do
  local other = string.match(field, '^w:(%d+)$')
  if other and other ~= mine then
    local theirs, _, till = place(v)
    theirs = tonumber(theirs)
    if tonumber(till) < at then redis.call('HDEL', KEYS[1], field)
    elseif theirs < order or (theirs == order and tonumber(other) < number) then
      ahead = ahead + 1
    end
  end
end
local turn = math.max(tonumber(r.next or '0'), at) + ahead * gap
if turn - asked > tonumber(ARGV[2]) then return none('queue', text(turn), '') end
redis.call('PEXPIRE', KEYS[1], 7200000)
if turn <= at then
  redis.call('HSET', KEYS[1], 'next', text(at + gap), 'hour', hour, 'count', text(count + 1))
  return none('', '0', '')
end
if mine == '' then mine = text(redis.call('HINCRBY', KEYS[1], 'places', 1)) end
local row = text(order) .. ' ' .. text(asked) .. ' ' .. text(turn + 2000)
redis.call('HSET', KEYS[1], 'w:' .. mine, row)
return {'wait', text(turn - at), mine}
"""
)

# GitHub limits an installation. KEYS: pace row; ARGV: ms, 1 where GitHub said how long, why. What
# it did not say is doubled with each time in a row, up to a quarter of an hour. Answer: until when.
LIMIT = (
    _NOW
    + """
local at, pause = now(), tonumber(ARGV[1])
local r = redis.call('HMGET', KEYS[1], 'until', 'strikes', 'struck')
local till = tonumber(r[1] or '0')
if ARGV[2] == '0' and till <= at then
  local strikes = tonumber(r[2] or '0')
  if at - tonumber(r[3] or '0') > 3600000 then strikes = 0 end
  pause = math.min(pause * 2 ^ strikes, math.max(pause, 900000))
  redis.call('HSET', KEYS[1], 'strikes', text(strikes + 1), 'struck', text(at))
end
till = math.max(till, at + pause)
redis.call('HSET', KEYS[1], 'until', text(till), 'why', ARGV[3])
redis.call('PEXPIRE', KEYS[1], text(math.max(7200000, till - at + 3600000)))
return text(till)
"""
)

# An installation is said to be removed. KEYS: leaving; ARGV: installation.
LEAVES = (
    _NOW
    + """
return redis.call('ZADD', KEYS[1], 'NX', text(now()), ARGV[1])
"""
)

# How many runs of one scope were counted within the window before this event, or in all where it
# was not counted itself. KEYS: the scope; ARGV: event key, window in ms.
COUNTED = (
    _NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now() - tonumber(ARGV[2])))
return redis.call('ZRANK', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1])
"""
)

# One leader a role. KEYS: leader; ARGV: owner, ms.
LEAD = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

# Gives a leadership back. KEYS: leader; ARGV: owner.
UNLOCK = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
"""

# The next look at an approval, unless something happened since the last was begun. KEYS: looks;
# ARGV: Change id, the time that was set then, the next time.
SETTLE_LOOK = """
local was = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not was then return 1 end
if tonumber(was) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
"""

# The turn at an issue: one event of it is handled at a time, the others wait in their order.
# KEYS: turn, those that wait; ARGV: token of this try, event key, ms. Answer: 1 for its turn.
TAKE_TURN = """
local at = redis.call('GET', KEYS[1])
if not at or at == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
  redis.call('LREM', KEYS[2], 0, ARGV[2])
  return 1
end
if not redis.call('LPOS', KEYS[2], ARGV[2]) then redis.call('RPUSH', KEYS[2], ARGV[2]) end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0
"""

# KEYS: turn, those that wait; ARGV: token of the try that is over. Answer: the next event's key.
NEXT_TURN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
return redis.call('LINDEX', KEYS[2], 0)
"""

# One answer to a request. KEYS: answer; ARGV: JSON, ms that it is kept.
REPLY = """
redis.call('DEL', KEYS[1])
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""

# The pull request was closed: the next label begins a new Change. KEYS: Change row, issue;
# ARGV: Change id.
CLOSE_CHANGE = """
if redis.call('HGET', KEYS[1], 'open') ~= '1' then return 0 end
redis.call('HSET', KEYS[1], 'open', '0')
redis.call('HINCRBY', KEYS[1], 'rev', 1)
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 1
"""

# The pull request was opened again: its Change is the open one, if there is no other.
# KEYS: Change row, issue; ARGV: Change id.
REOPEN_CHANGE = """
if redis.call('HGET', KEYS[1], 'open') ~= '0' then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'open', '1')
redis.call('HINCRBY', KEYS[1], 'rev', 1)
return 1
"""

# Of several events that tell of pushes to one Change's branch the first one waits for all. KEYS:
# push, open events; ARGV: event key, seconds. Answer: the key of the event that waits.
WAIT_FOR_HEAD = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and redis.call('ZSCORE', KEYS[2], held) then return held end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return ARGV[1]
"""

# The head is about to be looked at: what comes from now on waits for itself. KEYS: push; ARGV:
# event key.
LOOK_AT_HEAD = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""

# Counts a wake-up for an event, for the job's id; 0 when the row is gone. KEYS: event row.
RING = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HINCRBY', KEYS[1], 'wakes', 1)
"""

# Counts a wake-up for an event that has no outcome yet. KEYS: event row, the queue; ARGV: how the
# ids of its jobs begin, ms between two of them. 0 where the one before waits in the queue still, or
# was rung just now, or where there is no such event.
RING_AGAIN = (
    _NOW
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local at, r = now(), redis.call('HMGET', KEYS[1], 'wakes', 'rung')
if redis.call('LPOS', KEYS[2], ARGV[1] .. (r[1] or '0')) then return 0 end
if r[2] and at - r[2] < tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'rung', text(at))
return redis.call('HINCRBY', KEYS[1], 'wakes', 1)
"""
)

# After a start: what was in hand goes back to the head of the inbox. KEYS: inbox, busy.
GIVE_BACK = """
local n = 0
while redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') do n = n + 1 end
return n
"""


@cache
def digest(lua: str) -> str:
    """The name under which a server knows a script."""
    return hashlib.sha1(lua.encode(), usedforsecurity=False).hexdigest()
