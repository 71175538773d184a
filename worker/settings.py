"""Each role's settings, read once at its door; secrets by file, without a repr.

All missing names are reported together, each with where to get it.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.domain import env_file
from worker.setup_settings import DAY, MIBS, SetupSettings, setup

API_URL = "https://api.github.com"
SERVER_URL = "https://github.com"
MODEL_URL = "https://api.anthropic.com"
MODEL = "claude-sonnet-5-5"
REDIS_URL = "redis://127.0.0.1:6379/0"
SANDBOX_SOCKET = "/run/patchwarrant/sandbox.sock"
STATE_FOLDER = "/var/lib/patchwarrant"
KEY_WHERE = "the .pem file from the App's page, under Private keys"
INTAKES = ("webhook", "poll", "both")  # how events come in
FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
SOCKET_BYTES = 107  # of a unix socket's path
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_WHOLE = re.compile(r"[0-9]{1,15}")
PLACES = 4096  # containers at the same time at most
AHEAD = 64
LARGE_SHARE = 0.6  # of the day's dollars: beyond it no run of class large spends anything
WORKERS = 256  # processes of one role at most
CAPS = {"issue": 5, "user": 20, "repository": 30, "installation": 60}  # runs an hour


class SettingsError(Exception):
    """Settings are missing or wrong; the text names all of them and where each comes from."""


@dataclass(frozen=True)
class Secret:
    """A value that is never shown."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "(secret)"


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
class SandboxSettings:
    """What the sandbox holds: the engine's address, and the way in for runners elsewhere.

    `memory` and `seconds` are ceilings of one check, `total` bytes for all together (0: four fifths
    of the machine), `concurrency` 0 is two a core. `certs` and `tls` are folders with ca.pem,
    cert.pem and key.pem: the engine's, and the sandbox's own door's."""

    socket: str
    docker_host: str
    concurrency: int
    images: tuple[str, ...]
    memory: int
    seconds: int
    certs: str = ""
    runtime: str = "runc"
    strict: bool = False
    total: int = 0
    per_run: int = 0
    per_tenant: int = 0
    ahead: int = 0
    floor: int = 0
    image_days: float = 14
    image_bytes: int = 20 << 30
    listen: str = ""
    tls: str = ""
    setup: SetupSettings = field(default_factory=SetupSettings)


@dataclass(frozen=True)
class OperatorSettings:
    """What the operator's commands need: the ledger alone."""

    redis_url: str = field(repr=False)


@dataclass(frozen=True)
class ReplaySettings:
    """What a replay needs: the ledger, and the runner's object stores."""

    redis_url: str = field(repr=False)
    stores: Path


@dataclass(frozen=True)
class DoctorSettings:
    """What the doctor looks with; `owners` None where they are not set here."""

    app_id: str
    app_key: Secret
    api_url: str
    owners: tuple[str, ...] | None
    intake: str
    signing_key: Path


@dataclass(frozen=True)
class LocalSettings:
    """What a person's own commands need: a running sandbox's socket, if there is one, and whether
    the person named it; GitHub's address and, for what is not public, a token that can read."""

    sandbox: str
    named: bool
    api_url: str
    token: Secret


class Door:
    """Reads names from an environment, remembering what is missing and what deserves a warning."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self.environment = environment
        self.missing: list[str] = []
        self.warnings: list[str] = []

    def text(self, name: str, default: str) -> str:
        return self.environment.get(name, "").strip() or default

    def needed(self, name: str, where: str) -> str:
        value = self.environment.get(name, "").strip()
        if not value:
            self.missing.append(f"{name}: {where}")
        return value

    def url(self, name: str, default: str) -> str:
        """An `https://` or `http://` address without its last slash, "" where the default is."""
        value = self.text(name, default).rstrip("/")
        if value and not _web(value):
            self.missing.append(f"{name}: an address like https://HOST is wanted, not {value!r}")
            return default
        return value

    def whole(self, name: str, default: int, least: int = 1, most: int = 1 << 30) -> int:
        """A whole number from `least` to `most`; anything else is said, the default stands in."""
        value = self.text(name, str(default))
        if not (_WHOLE.fullmatch(value) and least <= int(value) <= most):
            self.missing.append(
                f"{name}: a whole number from {least} to {most} is wanted, not {value!r}"
            )
            return default
        return int(value)

    def number(
        self, name: str, default: float, least: float = 1, most: float = float(1 << 30)
    ) -> float:
        """A number from `least` to `most`; anything else is said and the default stands in."""
        value = self.text(name, str(default))
        number = float(value) if _NUMBER.fullmatch(value) else math.nan
        if not least <= number <= most:
            self.missing.append(
                f"{name}: a number from {least:.15g} to {most:.15g} is wanted, not {value!r}"
            )
            return default
        return number

    def flag(self, name: str, default: bool) -> bool:
        """`yes` or `no`; anything else is said: a word that is taken for the other is no choice."""
        value = self.text(name, "yes" if default else "no")
        if value not in FLAGS:
            self.missing.append(f"{name}: yes or no is wanted, not {value!r}")
            return default
        return FLAGS[value]

    def socket(self, name: str, default: str) -> str:
        """A unix socket's path that the kernel takes."""
        value = self.text(name, default)
        if len(os.fsencode(value)) > SOCKET_BYTES:
            self.missing.append(
                f"{name}: a socket's path has at most {SOCKET_BYTES} bytes, not "
                f"{len(os.fsencode(value))}; use a shorter folder"
            )
        return value

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in known:
            self.missing.append(f"{name}: one of {', '.join(known)} is wanted, not {value!r}")
            return default
        return value

    def ids(self, name: str) -> frozenset[int]:
        """Numbers by commas; anything else is said."""
        parts = [one.strip() for one in self.text(name, "").split(",") if one.strip()]
        if not all(one.isascii() and one.isdecimal() for one in parts):
            self.missing.append(f"{name}: account ids by commas are wanted (numbers, no names)")
            return frozenset()
        return frozenset(map(int, parts))

    def caps(self, name: str, default: Mapping[str, int]) -> dict[str, int]:
        """`scope=number` by commas over the defaults; an unknown scope or no number is said."""
        found = dict(default)
        for part in filter(None, (one.strip() for one in self.text(name, "").split(","))):
            scope, _, value = part.partition("=")
            if scope.strip() not in default or not value.strip().isdecimal():
                self.missing.append(
                    f"{name}: `scope=number` is wanted, not {part!r}; "
                    f"scopes are {', '.join(default)}"
                )
                continue
            found[scope.strip()] = int(value)
        return found

    def secret(self, name: str, where: str) -> Secret:
        """From the file that `<name>_FILE` names, else from `name` itself, with a warning.

        The value leaves the environment, so that no child inherits it.
        """
        file = self.text(f"{name}_FILE", "")
        if file:
            try:
                value = Path(file).read_text(encoding="utf-8").strip()
            except OSError as error:
                self.missing.append(f"{name}_FILE: {file} cannot be read: {error.strerror}")
                return Secret("")
            except UnicodeDecodeError:
                self.missing.append(f"{name}_FILE: {file} holds no text; it should hold {where}")
                return Secret("")
            if not value:
                self.missing.append(f"{name}_FILE: {file} is empty; it is {where}")
            return Secret(value)
        value = self.environment.pop(name, "").strip()
        if not value:
            self.missing.append(f"{name}_FILE: {where}")
        else:
            self.warnings.append(
                f"{name} is set as a value; a file named by {name}_FILE is safer, "
                "since other processes of this user can read an environment"
            )
        return Secret(value)

    def forget(self, prefix: str) -> None:
        """Take every name with this prefix out of the environment: a library would read it."""
        for name in [name for name in self.environment if name.startswith(prefix)]:
            del self.environment[name]

    def close(self) -> None:
        """Raise `SettingsError` if anything was missing or wrong."""
        if self.missing:
            raise SettingsError(
                "These settings are missing or wrong:\n  " + "\n  ".join(self.missing)
            )


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


def redis_url(door: Door) -> str:
    """The address, from a file where one is named; it is never repeated: it may hold a password."""
    file = door.text("PATCHWARRANT_REDIS_URL_FILE", "")
    value = door.text("PATCHWARRANT_REDIS_URL", REDIS_URL)
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            door.missing.append(
                f"PATCHWARRANT_REDIS_URL_FILE: {file} cannot be read: {type(error).__name__}"
            )
    if not _redis(value):
        door.missing.append(
            "PATCHWARRANT_REDIS_URL: redis://HOST:6379/0, rediss://… or unix:///path/to/socket "
            "is wanted"
        )
    return value


def _redis(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("redis", "rediss", "unix") and (parts.port or 0) >= 0
    except ValueError:  # a port that is no number
        return False


def _web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def operator(door: Door) -> OperatorSettings:
    made = OperatorSettings(redis_url(door))
    door.close()
    return made


def replay(door: Door) -> ReplaySettings:
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    made = ReplaySettings(redis_url(door), state / "stores")
    door.close()
    return made


def local(door: Door) -> LocalSettings:
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


def desk(door: Door) -> DeskSettings:
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    owners = door.text("PATCHWARRANT_OWNERS", "")
    made = DeskSettings(
        redis_url=redis_url(door),
        app_id=_app_id(door),
        app_key=door.secret("PATCHWARRANT_APP_KEY", KEY_WHERE),
        app_key_file=door.text("PATCHWARRANT_APP_KEY_FILE", ""),
        seal=door.secret("PATCHWARRANT_SEAL", "`patchwarrant key seal FILE` makes one"),
        signing_key=Path(
            door.text("PATCHWARRANT_SIGNING_KEY_FILE", str(state / "signing-key.pem"))
        ),
        api_url=door.url("GITHUB_API_URL", API_URL),
        owners=tuple(part.strip() for part in owners.split(",") if part.strip()),
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


def doctor(door: Door, *, needed: bool) -> DoctorSettings:
    """`needed`: there is nothing else to look with than the App's key."""
    state = Path(door.text("PATCHWARRANT_STATE", STATE_FOLDER))
    key = "PATCHWARRANT_APP_KEY"
    given = needed or bool(door.text("PATCHWARRANT_APP_ID", ""))
    owners = door.environment.get("PATCHWARRANT_OWNERS")
    made = DoctorSettings(
        app_id=_app_id(door) if given else "",
        app_key=door.secret(key, KEY_WHERE) if given else Secret(""),
        api_url=door.url("GITHUB_API_URL", API_URL),
        owners=None
        if owners is None
        else tuple(one.strip() for one in owners.split(",") if one.strip()),
        intake=door.one_of("PATCHWARRANT_INTAKE", "webhook", INTAKES),
        signing_key=Path(
            door.text("PATCHWARRANT_SIGNING_KEY_FILE", str(state / "signing-key.pem"))
        ),
    )
    door.close()
    return made


def doctor_of(held: DeskSettings) -> DoctorSettings:
    """The desk's own look, with what it holds."""
    return DoctorSettings(
        app_id=held.app_id,
        app_key=held.app_key,
        api_url=held.api_url,
        owners=held.owners,
        intake=held.intake,
        signing_key=held.signing_key,
    )


def clock() -> float:
    """This host's clock, epoch seconds: for what runs without the ledger."""
    return time.time()


def _app_id(door: Door) -> str:
    name, where = "PATCHWARRANT_APP_ID", "the App's page on GitHub, under About"
    value = door.needed(name, where)
    if value and not (value.isascii() and value.isdigit()):
        door.missing.append(f"{name}: the App's number is wanted ({where}), not {value!r}")
    return value


def runner(door: Door) -> RunnerSettings:
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


def sandbox(door: Door) -> SandboxSettings:
    images = door.text("PATCHWARRANT_IMAGES", "")
    made = SandboxSettings(
        socket=door.socket("PATCHWARRANT_SANDBOX", SANDBOX_SOCKET),
        docker_host=door.text("DOCKER_HOST", "unix:///var/run/docker.sock"),
        concurrency=door.whole("PATCHWARRANT_SANDBOXES", 0, least=0, most=PLACES),
        images=tuple(part.strip() for part in images.split(",") if part.strip()),
        memory=door.whole("PATCHWARRANT_SANDBOX_MEMORY_MIB", 4096, least=64, most=MIBS) << 20,
        seconds=door.whole("PATCHWARRANT_SANDBOX_SECONDS", 1800, most=DAY),
        certs=door.text("DOCKER_CERT_PATH", ""),
        runtime=door.text("PATCHWARRANT_SANDBOX_RUNTIME", "runc"),
        strict=door.flag("PATCHWARRANT_SANDBOX_STRICT", default=False),
        total=door.whole("PATCHWARRANT_SANDBOX_TOTAL_MIB", 0, least=0, most=MIBS) << 20,
        per_run=door.whole("PATCHWARRANT_SANDBOXES_PER_RUN", 4, least=0, most=PLACES),
        per_tenant=door.whole("PATCHWARRANT_SANDBOXES_PER_INSTALLATION", 0, least=0, most=PLACES),
        ahead=door.whole("PATCHWARRANT_SANDBOXES_AHEAD", 2, least=0, most=AHEAD),
        floor=door.whole("PATCHWARRANT_SANDBOX_DISK_FLOOR_MIB", 2048, least=0, most=MIBS) << 20,
        image_days=door.number("PATCHWARRANT_IMAGE_DAYS", 14, most=36_500),
        image_bytes=door.whole("PATCHWARRANT_IMAGES_MIB", 20480, most=MIBS) << 20,
        setup=setup(door),
        listen=door.text("PATCHWARRANT_SANDBOX_LISTEN", ""),
        tls=door.text("PATCHWARRANT_SANDBOX_TLS", ""),
    )
    door.close()
    return made
