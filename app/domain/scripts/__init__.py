"""All Lua that the ledger runs, as text: few scripts, each one atomic step.

Time is Redis's own. A script that writes for a run compares the run's fence first, so that a
worker whose lease was taken over cannot write; it remembers the operation's id and answer, so that
a call whose answer was lost may be sent again. Lua does not roll back: what may fail is done first
or through `redis.pcall`. Numbers are compared as numbers; text in JSON is never parsed here.
"""
