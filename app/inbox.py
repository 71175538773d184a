"""Events into the ledger: what waits in one turn of the loop goes in one durable call."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from redis.asyncio import Redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    ConnectionError,
    NoPermissionError,
    NoScriptError,
    RedisError,
)
from redis.retry import Retry

from app.domain import record, redis_settings
from app.domain.event import Event
from app.domain.redis_faults import REACH, told
from app.domain.scripts.events import RECEIVE
from app.domain.scripts.pieces import digest

SECONDS = 4.0  # until a delivery is answered with 503: GitHub waits for ten
BATCH = 256
ROWS = record.event_key("")
log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class Written(StrEnum):
    """A row that is durable: written now, or before."""

    NEW = "accepted"
    KNOWN = "known"


class Away(Exception):
    """Nothing was promised: Redis is away, slow, full, or would forget what it acknowledges."""


@dataclass(frozen=True)
class Waiting:
    """A delivery that waits for its row."""

    key: str
    data: bytes
    done: asyncio.Future[Written]


class Inbox:
    """One script call in flight; it takes everything that waits when it starts.

    Entries fail alone; a failed call fails what waits, at once, since nobody can wait long.
    """

    def __init__(self, redis: Redis, *, durable: bool = True) -> None:
        self.redis = redis
        self.durable = durable
        self.checked = False
        self.waiting: list[Waiting] = []
        self.task: asyncio.Task[None] | None = None
        self.digest = digest(RECEIVE)

    async def put(self, event: Event) -> Written:
        """Durable when it returns. Raises `Away` within `SECONDS`."""
        entry = Waiting(event.key, _encode(event), asyncio.get_running_loop().create_future())
        self.waiting.append(entry)
        if self.task is None:
            self.task = asyncio.create_task(self._flush())
        return await entry.done

    async def check(self) -> None:
        """Raise `Away` unless Redis can write and keeps what it acknowledges."""
        try:
            async with asyncio.timeout(SECONDS):
                state = await self.redis.info("persistence")
                if self.durable:
                    await self._durable(state)
                await self.redis.set(record.PROBE, "1", px=1000)
        except (RedisError, OSError, TimeoutError) as error:
            raise Away(_say(error)) from error

    async def _durable(self, state: dict[str, object]) -> None:
        if state.get("aof_last_write_status", "ok") != "ok":
            raise Away("Redis could not write its append-only file: look at its disk")
        try:
            found = await self.redis.config_get(*redis_settings.NAMES)
            server = await self.redis.info("server")
        except NoPermissionError as denied:
            raise Away(f"Redis refused a question ({denied}). {redis_settings.GRANT}") from denied
        named = {_text(name): _text(value) for name, value in found.items()}
        wrong = redis_settings.problems(named, str(server.get("redis_version", "")))
        if wrong:
            raise Away("Redis could lose what it acknowledges: " + "; ".join(wrong))

    async def _flush(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting[:BATCH], self.waiting[BATCH:]
                try:
                    await self._write(batch)
                except Away as error:
                    self.checked = False
                    _fail([*batch, *self.waiting], error)
                    self.waiting = []
                except BaseException:  # a bug, or the end of the loop: nobody may wait for ever
                    _fail([*batch, *self.waiting], Away("the receiver failed or stops"))
                    self.waiting = []
                    raise
        finally:
            self.task = None

    async def _write(self, batch: list[Waiting]) -> None:
        words: list[str | bytes | int] = [2, record.INBOX, record.EVENTS_OPEN, record.SCHEMA, ROWS]
        for entry in batch:
            words += (entry.key, entry.data)
        try:
            async with asyncio.timeout(SECONDS):
                if not self.checked:
                    await self.check()
                    self.checked = True
                letters, *errors = await self._script(words)
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("%d deliveries are answered with 503: %s", len(batch), _say(error))
            raise Away(_say(error)) from error
        reasons = iter(errors)
        for entry, letter in zip(batch, letters.decode(), strict=True):
            if letter == "e":
                _fail([entry], Away(next(reasons).decode(errors="replace")))
            elif not entry.done.done():
                entry.done.set_result(Written.NEW if letter == "n" else Written.KNOWN)

    async def _script(self, words: list[str | bytes | int]) -> list[bytes]:
        try:
            return await self._send("EVALSHA", self.digest, *words)
        except NoScriptError:  # a server that was started again has forgotten it
            return await self._send("EVAL", RECEIVE, *words)

    async def _send(self, *words: str | bytes | int) -> list[bytes]:
        answer: list[bytes] = await self.redis.execute_command(*words)  # type: ignore[no-untyped-call]
        return answer


def client(url: str) -> Redis:
    """The receiver's connection. One retry, for a connection that died while it was idle: the
    script may be sent twice."""
    return Redis.from_url(
        url,
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
        retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
        max_connections=4,
    )


def _fail(entries: list[Waiting], error: Away) -> None:
    for entry in entries:
        if not entry.done.done():
            entry.done.set_exception(error)


def _text(value: bytes | str | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""


def _say(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"Redis is away: no answer in {SECONDS:.0f} s. {REACH}"
    return told(error)
