"""Scripts for who has a run, or a role's leadership, in hand."""

from __future__ import annotations

from app.domain.scripts.pieces import NOW

# KEYS: run row, due; ARGV: owner, lease in ms, grace in ms, newest schema, operation, run id, the
# role that claims ("" = any): a wake-up that came late takes no run out of another role's hands.
# A lease that ran out counts as a crash of its run, and `lapses` remembers whose it was (see
# EXCUSE), unless the server was started again since: then it was the server that was away.
CLAIM = (
    NOW
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
    NOW
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

# Keeps a lease alive; writes only when a third of it is used. KEYS: run row, due; ARGV: fence,
# lease in ms, grace in ms, run id. Answer: lease end and the cancel flag.
BEAT = (
    NOW
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
