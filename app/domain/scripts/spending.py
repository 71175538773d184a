"""Scripts for money: reserved, settled and counted by the day."""

from __future__ import annotations

from app.domain.scripts.pieces import CHAINED, DAY, FENCED

# Reserve micro-dollars of the day's cap. KEYS: run row; ARGV after fence and operation: amount,
# cap, run id, prefix of spend rows, seconds that a day's row is kept. A reservation that was not
# settled is charged in full first: nobody knows what became of that call. Answer: '' or what is
# left of the cap.
RESERVE = (
    FENCED
    + DAY
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

SETTLE = FENCED + DAY + _SETTLED + "return said('')\n"

# A paid call's journal entry and its settling in one, so that no crash comes in between. KEYS: run
# row, journal; ARGV as for SETTLE, then kind and JSON of the entry. Answer: the entry's id.
PAID = (
    FENCED
    + DAY
    + CHAINED
    + _SETTLED
    + """
return said(chained(KEYS[1], KEYS[2], ARGV[7], ARGV[8]))
"""
)

# What was spent and is reserved today, micro-dollars. KEYS: none; ARGV: prefix of spend rows.
SPENT = (
    DAY
    + """
local used = 0
local all = redis.call('HGETALL', ARGV[1] .. today())
for i = 2, #all, 2 do used = used + tonumber(all[i]) end
return string.format('%.0f', used)
"""
)
