"""The connection to Redis, and what Redis must promise before we call anything durable."""

from __future__ import annotations

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from app.domain.errors import Halt, Reason, Unavailable

SECONDS = 5  # of a read or a connect; a script takes milliseconds
OLDEST = (6, 2)


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
        found = {
            name: _setting(redis, name)
            for name in ("appendonly", "appendfsync", "maxmemory-policy")
        }
        version = str(redis.info("server").get("redis_version", "0"))
    except RedisError as error:
        raise Unavailable(f"Redis cannot be asked for its settings: {error}") from error
    problems = [
        f"`{name}` is {found[name] or 'unknown'}, set it to `{wanted}`"
        for name, wanted in (
            ("appendonly", "yes"),
            ("appendfsync", "always"),
            ("maxmemory-policy", "noeviction"),
        )
        if found[name] != wanted
    ]
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        problems.append(f"version {version} is too old, 6.2 or newer is needed")
    if problems:
        raise Halt(
            Reason.NEEDS_OPERATOR,
            "This Redis could lose what was acknowledged: " + "; ".join(problems) + ".",
            "Change it in redis.conf (or on its command line) and start Redis again. The user of "
            "this program needs `+config|get` and `+info`.",
        )


def _setting(redis: Redis, name: str) -> str:
    answer = redis.config_get(name)
    value = answer.get(name, "") if isinstance(answer, dict) else ""
    return value.decode() if isinstance(value, bytes) else str(value)
