"""The runner's settings, and those of a replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from worker.settings.door import Door, Secret, redis_url
from worker.settings.usual import DAY, SANDBOX_SOCKET, SERVER_URL, STATE_FOLDER, WORKERS

MODEL = "claude-sonnet-5-5"
MODEL_URL = "https://api.anthropic.com"
LARGE_SHARE = 0.6  # of the day's dollars: beyond it no run of class large spends anything


@dataclass(frozen=True)
class RunnerSettings:
    """What the runner holds: the model key, object stores, the sandbox's socket."""

    redis_url: str = field(repr=False)
    model: str
    model_url: str
    model_key: Secret
    server_url: str
    sandbox: str
    sandbox_tls: str
    stores: Path
    daily: int
    workers: int
    lease_ms: int
    keep_days: int = 90  # that an unused object store is kept
    large_workers: int = 1  # beside `workers`, for runs of class large
    large_daily: int = 15_000_000  # of `daily`, what runs of class large may use


@dataclass(frozen=True)
class ReplaySettings:
    """What a replay needs: the ledger, and the runner's object stores."""

    redis_url: str = field(repr=False)
    stores: Path


def runner_settings(door: Door) -> RunnerSettings:
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    daily = door.number("PATCHWARRANT_DAILY_DOLLARS", 25, least=0)
    made = RunnerSettings(
        redis_url=redis_url(door),
        model=door.text("PATCHWARRANT_MODEL", MODEL),
        model_url=door.url("PATCHWARRANT_MODEL_URL", MODEL_URL),
        model_key=door.secret("ANTHROPIC_API_KEY", "a file with the key from Anthropic's console"),
        server_url=door.url("GITHUB_SERVER_URL", SERVER_URL),
        sandbox=door.socket("PATCHWARRANT_SANDBOX", SANDBOX_SOCKET),
        sandbox_tls=door.text("PATCHWARRANT_SANDBOX_TLS", ""),
        stores=state / "stores",
        daily=round(daily * 1_000_000),
        workers=door.whole("PATCHWARRANT_RUNNER_WORKERS", 2, most=WORKERS),
        lease_ms=int(door.number("PATCHWARRANT_LEASE_SECONDS", 30, most=DAY) * 1000),
        keep_days=door.whole("PATCHWARRANT_KEEP_DAYS", 90, most=36_500),
        large_workers=door.whole("PATCHWARRANT_LARGE_WORKERS", 1, most=WORKERS),
        large_daily=round(1_000_000 * _large_share(door, daily)),
    )
    door.forget("ANTHROPIC_")  # its SDK would take an address or headers from there
    door.close()
    return made


def _large_share(door: Door, daily: float) -> float:
    """Dollars of the day's cap that runs of class large may use; never more than all of it."""
    share = round(daily * LARGE_SHARE, 2)
    return min(daily, door.number("PATCHWARRANT_LARGE_DAILY_DOLLARS", share, least=0))


def replay_settings(door: Door) -> ReplaySettings:
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    made = ReplaySettings(redis_url(door), state / "stores")
    door.close()
    return made
