"""Scripts for events: written, told to the desk, done."""

from __future__ import annotations

from app.domain.scripts.pieces import NOW

# Genuine events, any number in one call. KEYS: inbox, open events; ARGV: schema, prefix of event
# rows, then key and JSON of each entry. Answer: a letter an entry (n new, k known, e error), then
# the errors' texts. An entry that fails leaves nothing behind and fails alone.
RECEIVE = (
    NOW
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

# Counts a wake-up for an event, for the job's id; 0 when the row is gone. KEYS: event row.
RING = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HINCRBY', KEYS[1], 'wakes', 1)
"""

# Counts a wake-up for an event that has no outcome yet. KEYS: event row, the queue; ARGV: how the
# ids of its jobs begin, ms between two of them. 0 where the one before waits in the queue still, or
# was rung just now, or where there is no such event.
RING_AGAIN = (
    NOW
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
