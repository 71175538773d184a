"""What people's own commands need: the operator's, and those that run without the service."""

from __future__ import annotations

from dataclasses import dataclass, field

from worker.settings.door import Door, Secret, redis_url
from worker.settings.usual import SANDBOX_SOCKET


@dataclass(frozen=True)
class OperatorSettings:
    """What the operator's commands need: the ledger alone."""

    redis_url: str = field(repr=False)


@dataclass(frozen=True)
class LocalSettings:
    """What a person's own commands need: a running sandbox's socket, if there is one, and whether
    the person named it; GitHub's address and, for what is not public, a token that can read."""

    sandbox: str
    named: bool
    api_url: str
    token: Secret


def operator_settings(door: Door) -> OperatorSettings:
    made = OperatorSettings(redis_url(door))
    door.close()
    return made


def local_settings(door: Door) -> LocalSettings:
    given = door.text("PATCHWARRANT_GITHUB_TOKEN_FILE", "") or door.text(
        "PATCHWARRANT_GITHUB_TOKEN", ""
    )
    made = LocalSettings(
        sandbox=door.socket("PATCHWARRANT_SANDBOX", SANDBOX_SOCKET),
        named=bool(door.text("PATCHWARRANT_SANDBOX", "")),
        api_url=door.url("GITHUB_API_URL", ""),
        token=door.secret("PATCHWARRANT_GITHUB_TOKEN", "a token") if given else Secret(""),
    )
    door.close()
    return made
