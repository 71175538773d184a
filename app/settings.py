"""The receiver's settings, read once at the door; the secret comes by file and has no repr.

Everything that is missing or wrong is reported together, each with where to get it.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.domain import env_file

REDIS_URL = "redis://127.0.0.1:6379/0"
SECRET = "PATCHWARRANT_WEBHOOK_SECRET"  # noqa: S105 - the setting's name
LEAST = 16  # bytes: who can guess the secret can make this app do what it does
SHORT = f"{LEAST} characters at least are wanted"
WHERE = (
    "the webhook secret that you typed into the GitHub App's page (under Webhook). Make one with "
    "`python3 -c 'import secrets; print(secrets.token_hex(32))'`, put it into a file that only "
    "this process's user can read, and name the file here"
)


class SettingsError(Exception):
    """Settings are missing or wrong; the text names all of them and what to do."""


@dataclass(frozen=True)
class Secret:
    """A value that is never shown."""

    value: bytes = field(repr=False)


@dataclass(frozen=True)
class Settings:
    """`durable` is False only for benchmarks: then a Redis that may forget is taken, too."""

    secret: Secret
    redis_url: str = field(default=REDIS_URL, repr=False)  # may hold a password
    host: str = "127.0.0.1"
    port: int = 8000
    durable: bool = True
    bots: frozenset[int] = frozenset()  # ids of bots that may trigger
    warnings: tuple[str, ...] = ()


def environment() -> MutableMapping[str, str]:
    """The process's environment, the only place that touches it; what it does not say comes from
    the file that PATCHWARRANT_ENV_FILE names. Raises `SettingsError`."""
    file = os.environ.get("PATCHWARRANT_ENV_FILE", "").strip()
    if file:
        try:
            more = env_file.parsed(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(
                f"PATCHWARRANT_ENV_FILE: {file} cannot be read: {error.strerror}"
            ) from None
        except ValueError as error:
            raise SettingsError(f"PATCHWARRANT_ENV_FILE: {file}: {error}") from None
        for name, value in more.items():
            os.environ.setdefault(name, value)
    return os.environ


def read(names: MutableMapping[str, str]) -> Settings:
    """Settings from an environment. Raises `SettingsError` naming all that is missing or wrong.

    A secret given as a value leaves `names`, so that no child inherits it.
    """
    wrong: list[str] = []
    warnings: list[str] = []
    secret = _secret(names, wrong, warnings)
    url = _redis_url(names, wrong)
    if not _address(url):
        wrong.append(
            "PATCHWARRANT_REDIS_URL: redis://, rediss:// or unix:// is wanted, the address of the "
            "Redis that desk and runner use"
        )
    port = names.get("PATCHWARRANT_PORT", "").strip() or "8000"
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        wrong.append("PATCHWARRANT_PORT: a port from 0 (any free one) to 65535 is wanted")
    check = names.get("PATCHWARRANT_REDIS_CHECK", "").strip() or "on"
    if check not in ("on", "off"):
        wrong.append("PATCHWARRANT_REDIS_CHECK: on (the default) or off (benchmarks only)")
    bots = names.get("PATCHWARRANT_BOTS", "")
    if not _ids(bots):
        wrong.append("PATCHWARRANT_BOTS: account ids by commas are wanted (numbers, no names)")
    if wrong:
        raise SettingsError("These settings are missing or wrong:\n  " + "\n  ".join(wrong))
    if check == "off":
        warnings.append(
            "PATCHWARRANT_REDIS_CHECK is off: a Redis that forgets what it acknowledged is taken"
        )
    return Settings(
        secret=Secret(secret),
        redis_url=url,
        host=names.get("PATCHWARRANT_HOST", "").strip() or "127.0.0.1",
        port=int(port),
        durable=check == "on",
        bots=frozenset(map(int, _parts(bots))),
        warnings=tuple(warnings),
    )


def _redis_url(names: MutableMapping[str, str], wrong: list[str]) -> str:
    """The address, from a file where one is named: it may hold a password."""
    file = names.get("PATCHWARRANT_REDIS_URL_FILE", "").strip()
    if not file:
        return names.get("PATCHWARRANT_REDIS_URL", "").strip() or REDIS_URL
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        wrong.append(f"PATCHWARRANT_REDIS_URL_FILE: {file} cannot be read: {type(error).__name__}")
        return REDIS_URL


def known(
    names: MutableMapping[str, str],
) -> tuple[frozenset[str] | None, frozenset[int], str]:
    """(the allowed owners in lower case or None where they are not set here, bots' ids, what is
    wrong): for the operator's look at a payload."""
    owners, bots = names.get("PATCHWARRANT_OWNERS"), names.get("PATCHWARRANT_BOTS", "")
    if not _ids(bots):
        return None, frozenset(), "PATCHWARRANT_BOTS: account ids by commas are wanted"
    listed = None if owners is None else frozenset(_parts(owners.lower()))
    return listed, frozenset(map(int, _parts(bots))), ""


def _parts(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _ids(text: str) -> bool:
    return all(one.isascii() and one.isdecimal() for one in _parts(text))


def _address(url: str) -> bool:
    """Whether the client can read this address of a Redis."""
    if not url.startswith(("redis://", "rediss://", "unix://")):
        return False
    try:
        _ = urlsplit(url).port
    except ValueError:  # a port that is no number
        return False
    return True


def _secret(names: MutableMapping[str, str], wrong: list[str], warnings: list[str]) -> bytes:
    file = names.get(f"{SECRET}_FILE", "").strip()
    value = names.pop(SECRET, "").strip().encode()
    if file:
        try:
            value = Path(file).read_bytes().strip()
        except OSError as error:
            wrong.append(f"{SECRET}_FILE: {file} cannot be read: {error.strerror}")
            return b""
        if not value:
            wrong.append(f"{SECRET}_FILE: {file} is empty; it should hold {WHERE}")
        elif len(value) < LEAST:
            wrong.append(f"{SECRET}_FILE: {file} is too short ({SHORT}); it should hold {WHERE}")
        return value
    if not value:
        wrong.append(f"{SECRET}_FILE: {WHERE}")
    elif len(value) < LEAST:
        wrong.append(f"{SECRET}: it is too short ({SHORT}); it is {WHERE}")
    else:
        warnings.append(
            f"{SECRET} is set as a value; a file named by {SECRET}_FILE is safer, since other "
            "processes of this user can read an environment"
        )
    return value
