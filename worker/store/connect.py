"""The connection to Redis, and what Redis must promise before we call anything durable."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, RedisError
from redis.retry import Retry

from app.domain import redis_settings
from app.domain.errors import Halt, Reason, Unavailable
from app.domain.redis_faults import told
from worker.store.calls import unavailable

SECONDS = 5  # of a read or a connect; a script takes milliseconds


def connect(url: str) -> Redis:
    """A client for `redis://`, `rediss://` or `unix://`; opens nothing yet. Raises `Halt` for an
    address that is none.

    The client itself never sends a command twice: only the ledger knows which may be.
    """
    try:
        return Redis.from_url(
            url,
            socket_timeout=SECONDS,
            socket_connect_timeout=SECONDS,
            retry=Retry(NoBackoff(), 0),
            health_check_interval=0,
        )
    except ValueError as error:  # the address may hold a password: it is not repeated
        raise Halt(
            Reason.NEEDS_OPERATOR,
            f"PATCHWARRANT_REDIS_URL is no address of a Redis: {type(error).__name__}.",
            "It looks like redis://HOST:6379/0, rediss://… or unix:///path/to/socket?db=0.",
        ) from None


def check_server(redis: Redis) -> None:
    """Raise `Halt(NEEDS_OPERATOR)` naming every setting of the server that would lose runs.

    Raises `Unavailable` when the server does not answer.
    """
    try:
        found = {name: _setting(redis, name) for name in redis_settings.NAMES}
        version = str(redis.info("server").get("redis_version", "0"))
        written = str(redis.info("persistence").get("aof_last_write_status", "ok"))
    except NoPermissionError as denied:
        raise Halt(
            Reason.NEEDS_OPERATOR, f"Redis refused a question: {denied}.", redis_settings.GRANT
        ) from denied
    except RedisError as error:
        raise (unavailable(error) or Unavailable(told(error))) from error
    problems = redis_settings.problems(found, version)
    if written != "ok":
        problems.append("its append-only file could not be written: look at its disk")
    if problems:
        raise Halt(
            Reason.NEEDS_OPERATOR,
            "This Redis could lose what was acknowledged: " + "; ".join(problems) + ".",
            redis_settings.CHANGE,
        )


def _setting(redis: Redis, name: str) -> str:
    answer = redis.config_get(name)
    value = answer.get(name, "") if isinstance(answer, dict) else ""
    return value.decode() if isinstance(value, bytes) else str(value)
