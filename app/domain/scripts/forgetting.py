"""Scripts for the end of what is kept: a run that is over, an installation that left."""

from __future__ import annotations

from app.domain.scripts.pieces import NOW

# A run that is over and all that is its own goes. KEYS: run row, due, runs, open events, what the
# run holds, Change row, journal, event row, then further rows of the run; ARGV: run id, ms that it
# is kept after its last entry, 1 to erase an installation's (its open pull request and what it left
# for others count no longer), Change, event key, newest schema, prefixes of blobs, holders,
# memories, runs and issues, the lists of Changes whose approval is looked at, that have comments
# waiting, and by repository (a prefix), then the rows of the Change. Answer: 1 when it is gone.
FORGET = (
    NOW
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

# An installation is said to be removed. KEYS: leaving; ARGV: installation.
LEAVES = (
    NOW
    + """
return redis.call('ZADD', KEYS[1], 'NX', text(now()), ARGV[1])
"""
)
