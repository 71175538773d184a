"""Scripts for a run's row: opened, saved, cancelled, answered, woken."""

from __future__ import annotations

from app.domain.scripts.pieces import CHAINED, FENCED, NOW

# One open Change an issue, one active run a Change. KEYS: event row, run row, issue, due, runs,
# open events; ARGV: run id, JSON, schema, role, state, event key, expected Change ("" = none),
# prefix of Change rows, prefix of run rows, repository, issue, branch, the Change that the run goes
# on with although it has a pull request ("" = none; gone where it is not the open one).
OPEN_RUN = (
    NOW
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
redis.call('HSETNX', KEYS[1], 'outcome', 'run ' .. run)
redis.call('ZREM', KEYS[6], ARGV[6])
return {'new', run, id == '' and run or id, '0', ''}
"""
)

# Compare-and-set on fence and rev. KEYS: run row, due, Change row; ARGV after fence and operation:
# rev, JSON, state, role, waiting, pull, over (0|1), release (0|1), due ("" = by the rules), grace,
# run id, prefix of spend rows, ending (0|1), schema, class (see record), branch ("" where the run
# has no contract yet: as long as there is no pull request, a contract settles how the Change's
# branch is called). A run that is over is always released; one that ends is no longer asked to end,
# or nobody could tell its ending.
SAVE = (
    FENCED
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

# A person wants the run to end. KEYS: run row, due; ARGV: run id, then the states that are ends.
CANCEL = (
    NOW
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
    NOW
    + CHAINED
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

# Counts a wake-up and says when to ring again if nobody claims: KEYS: run row, due, the queue, that
# of class large; ARGV: run id, first pause in ms (doubled with each one that nobody answered,
# 32-fold at most). Answer: its number, -1 where the one before waits in that queue still, 0 where
# there is no such run; and the run's class.
WAKE = (
    NOW
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
    NOW
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
