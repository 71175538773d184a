"""Scripts for how much at a time: runs in a window, writes to GitHub."""

from __future__ import annotations

from app.domain.scripts.pieces import NOW

# Runs within a window, in every scope at once. KEYS: one sorted set a scope; ARGV: member, window
# in ms, then a limit for each scope. Answer: 0, or the number of the first scope that is full.
CAP = (
    NOW
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

# How many runs of one scope were counted within the window before this event, or in all where it
# was not counted itself. KEYS: the scope; ARGV: event key, window in ms.
COUNTED = (
    NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now() - tonumber(ARGV[2])))
return redis.call('ZRANK', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1])
"""
)

# The next turn to write for one installation. KEYS: pace row; ARGV: gap in ms, the longest wait in
# ms, writes an hour (0: any number), the place in the line ('' for none yet), 1 for a first sign.
# Turns are given in the order of asking; a first sign goes before those who have not waited three
# gaps. A place that nobody asks for at its time, for two gaps more (2 s at least), is a dead one's.
# Answer: '' where the turn is taken and is now; `wait`, the ms until it is worth asking again, and
# the place; or why there is none and until when: `limited` (GitHub said so, with its words), `full`
# (the hour's writes are used), `queue` (too many others are ahead).
PACE = (
    NOW
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
order = tonumber(order or at + (ARGV[5] == '1' and 0 or 3 * gap))
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
local row = text(order) .. ' ' .. text(asked) .. ' ' .. text(turn + math.max(2 * gap, 2000))
redis.call('HSET', KEYS[1], 'w:' .. mine, row)
return {'wait', text(turn - at), mine}
"""
)

# GitHub limits an installation. KEYS: pace row; ARGV: ms, 1 where GitHub said how long, why. What
# it did not say is doubled with each time in a row, up to a quarter of an hour. Answer: until when.
LIMIT = (
    NOW
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
