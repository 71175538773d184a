"""What several scripts begin with: the time, the fence, the journal's chain, the day."""

from __future__ import annotations

import hashlib
from functools import cache

NOW = """
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function text(n) return string.format('%.0f', n) end
"""

# KEYS[1] the run's row, ARGV[1] the fence of the lease, ARGV[2] the operation's id.
FENCED = (
    NOW
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
CHAINED = """
local function chained(row, journal, kind, data)
  local before = redis.call('HGET', row, 'chain') or ''
  local stamp = redis.sha1hex(before .. '\\n' .. kind .. '\\n' .. data)
  redis.call('HSET', row, 'chain', stamp)
  return redis.call('XADD', journal, '*', 'kind', kind, 'data', data, 'chain', stamp)
end
"""

# Gregorian date of a day number since 1970-01-01, as YYYYMMDD; exact for all years from 1970 on.
DAY = """
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


@cache
def digest(lua: str) -> str:
    """The name under which a server knows a script."""
    return hashlib.sha1(lua.encode(), usedforsecurity=False).hexdigest()
