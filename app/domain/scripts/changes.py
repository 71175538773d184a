"""Scripts for a Change: its pull request, its branch's head, the looks at its approval."""

from __future__ import annotations

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

# The next look at an approval, unless something happened since the last was begun. KEYS: looks;
# ARGV: Change id, the time that was set then, the next time.
SETTLE_LOOK = """
local was = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not was then return 1 end
if tonumber(was) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
"""
