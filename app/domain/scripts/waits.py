"""Scripts for what waits for its turn: comments, events of one issue, answers."""

from __future__ import annotations

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
