"""Script calls that survive a short absence of Redis: what may be sent again is sent again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.exceptions import (
    BusyLoadingError,
    ConnectionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,
)

from app.domain.errors import Fenced, Unavailable, Unwelcome
from app.domain.redis_faults import refuses, told
from app.domain.scripts.pieces import digest

Text = bytes | str | int
AWAY = (BusyLoadingError, ConnectionError, TimeoutError)
CANNOT_WRITE = ("MISCONF", "NOREPLICAS", "MASTERDOWN")


class Calls:
    """Runs scripts by digest. `patience` is how many seconds an absent Redis is waited for.

    Every script is safe to send twice: reads, writes that end in the same state, or writes that
    carry an operation id (`operation()`), whose answer the row remembers.
    """

    def __init__(self, redis: Redis, patience: float) -> None:
        self.redis = redis
        self.patience = patience

    def script(self, lua: str, keys: Sequence[str], arguments: Sequence[Text] = ()) -> Any:
        """The script's answer. Raises `Unavailable` when Redis stays away or cannot write."""
        return self.command("EVALSHA", digest(lua), len(keys), *keys, *arguments, lua=lua)

    def fenced(self, lua: str, fence: int, keys: Sequence[str], arguments: Sequence[Text]) -> bytes:
        """A script of a lease: adds fence and operation id. Raises `Fenced` if the lease is over.

        The answer is `[b"ok", said]`; here it is `said`.
        """
        answer = self.script(lua, keys, (fence, operation(), *arguments))
        if answer[0] != b"ok":
            why = answer[1].decode()
            raise Fenced(
                f"the lease with fence {fence} on {keys[0]} is over ({answer[0].decode()}: {why}); "
                "another worker may be at work, so this one stops"
            )
        return bytes(answer[1])

    def command(self, *words: Text, lua: str = "") -> Any:
        """One command; `lua` is loaded where the server does not know it."""
        ends = time.monotonic() + self.patience
        pause = 0.02
        while True:
            try:
                return self._once(words, lua)
            except RedisError as error:
                known = unavailable(error)
                if known is None:
                    raise
                if (
                    not isinstance(error, AWAY)
                    or isinstance(known, Unwelcome)
                    or time.monotonic() + pause > ends
                ):
                    raise known from error
                time.sleep(pause)
                pause = min(pause * 2, 0.5)

    def fields(self, key: str, *names: str) -> list[Any]:
        """Fields of a row, None for each that it has not."""
        return list(self.command("HMGET", key, *names))

    def now(self) -> int:
        """Redis's time, milliseconds."""
        seconds, micro = self.command("TIME")
        return int(seconds) * 1000 + int(micro) // 1000

    def _once(self, words: Sequence[Text], lua: str) -> Any:
        try:
            return self._send(*words)
        except NoScriptError:  # the server was started again and forgot
            return self._send("EVAL", lua, *words[2:])

    def _send(self, *words: Text) -> Any:
        return self.redis.execute_command(*words)  # type: ignore[no-untyped-call]


def unavailable(error: RedisError) -> Unavailable | None:
    """What an error of the client's is to us; None for what only a bug can bring about."""
    if refuses(error):
        return Unwelcome(told(error))
    full = isinstance(error, (ReadOnlyError, OutOfMemoryError))
    if full or isinstance(error, AWAY) or str(error).startswith(CANNOT_WRITE):
        return Unavailable(told(error))
    return None


def operation() -> str:
    """An id for one write, so that the write may be sent again."""
    return secrets.token_hex(8)
