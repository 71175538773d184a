"""The desk's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worker.settings.door import Door, Secret, listed, redis_url
from worker.settings.usual import API_URL, DAY, STATE_FOLDER, WORKERS

INTAKES = ("webhook", "poll", "both")  # how events come in
CAPS = {"issue": 5, "user": 20, "repository": 30, "installation": 60}  # runs an hour
KEY_WHERE = "the .pem file from the App's page, under Private keys"


@dataclass(frozen=True)
class DeskSettings:
    """What the desk holds: App key, sealing key, signing key. `daily` in micro-dollars."""

    redis_url: str = field(repr=False)
    app_id: str
    app_key: Secret
    seal: Secret
    signing_key: Path
    api_url: str
    owners: tuple[str, ...]
    daily: int
    workers: int
    lease_ms: int
    write_pause: float
    caps: Mapping[str, int]  # runs an hour by scope
    writes_an_hour: int = 500  # of one installation; 0 is no cap
    app_key_file: str = ""  # where the key is read anew, "" where it was given as a value
    keep_days: int = 90  # that finished runs are kept
    sweep_seconds: float = 60  # between two looks for what GitHub could not deliver
    survey_seconds: float = 3600  # between two looks for labelled issues that nobody told of
    intake: str = "webhook"
    poll_seconds: float = 5
    bots: frozenset[int] = frozenset()  # ids of bots that may trigger
    large_dollars: int = 20_000_000  # of one run of class large at most; 0: none is admitted


def desk_settings(door: Door) -> DeskSettings:
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    made = DeskSettings(
        redis_url=redis_url(door),
        app_id=app_id(door),
        app_key=door.secret("PATCHWARRANT_APP_KEY", KEY_WHERE),
        app_key_file=door.text("PATCHWARRANT_APP_KEY_FILE", ""),
        seal=door.secret("PATCHWARRANT_SEAL", "`patchwarrant key seal FILE` makes one"),
        signing_key=Path(
            door.text("PATCHWARRANT_SIGNING_KEY_FILE", str(state / "signing-key.pem"))
        ),
        api_url=door.url("GITHUB_API_URL", API_URL),
        owners=listed(door.text("PATCHWARRANT_OWNERS", "")),
        daily=round(door.number("PATCHWARRANT_DAILY_DOLLARS", 25, least=0) * 1_000_000),
        workers=door.whole("PATCHWARRANT_DESK_WORKERS", 2, most=WORKERS),
        lease_ms=int(door.number("PATCHWARRANT_LEASE_SECONDS", 30, most=DAY) * 1000),
        write_pause=door.number("PATCHWARRANT_WRITE_PAUSE_SECONDS", 1, least=0, most=3600),
        caps=door.caps("PATCHWARRANT_RUNS_PER_HOUR", CAPS),
        writes_an_hour=door.whole("PATCHWARRANT_WRITES_PER_HOUR", 500, least=0),
        survey_seconds=door.number("PATCHWARRANT_SURVEY_SECONDS", 3600),
        keep_days=door.whole("PATCHWARRANT_KEEP_DAYS", 90, most=36_500),
        sweep_seconds=door.number("PATCHWARRANT_SWEEP_SECONDS", 60),
        intake=door.one_of("PATCHWARRANT_INTAKE", "webhook", INTAKES),
        poll_seconds=door.number("PATCHWARRANT_POLL_SECONDS", 5),
        bots=door.ids("PATCHWARRANT_BOTS"),
        large_dollars=round(
            1_000_000 * door.number("PATCHWARRANT_LARGE_DOLLARS", 20, least=0, most=1_000)
        ),
    )
    door.close()
    return made


def app_id(door: Door) -> str:
    name, where = "PATCHWARRANT_APP_ID", "the App's page on GitHub, under About"
    value = door.needed(name, where)
    if value and not (value.isascii() and value.isdigit()):
        door.missing.append(f"{name}: the App's number is wanted ({where}), not {value!r}")
    return value
