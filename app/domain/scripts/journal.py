"""Scripts for what a run writes down under its lease: journal, bytes, memories, intents."""

from __future__ import annotations

from app.domain.scripts.pieces import CHAINED, FENCED

# KEYS: run row, journal; ARGV after fence and operation: kind, JSON. Answer: the entry's id.
NOTE = (
    FENCED
    + CHAINED
    + """
return said(chained(KEYS[1], KEYS[2], ARGV[3], ARGV[4]))
"""
)

# KEYS: run row, blob, what the run holds, who holds the blob; ARGV after fence and operation:
# bytes, digest, run id. Content is named by its hash, so what is there already is the same.
PUT = (
    FENCED
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
    FENCED
    + """
redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4])
redis.call('SADD', KEYS[3], 'm:' .. ARGV[5])
return {'ok', ''}
"""
)

# Intents: '0' or '1' (done) before the JSON. KEYS: run row, intents; ARGV after fence and
# operation: key, JSON, done (0|1). What is done stays done.
INTENT = (
    FENCED
    + """
local there = redis.call('HGET', KEYS[2], ARGV[3])
if ARGV[5] == '1' or not there or string.sub(there, 1, 1) == '0' then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[5] .. ARGV[4])
end
return said('')
"""
)
