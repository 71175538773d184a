"""The checks once more, in a sandbox on this machine, and compared.

Commands come from the evidence alone, the environment from the base commit that it names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from app.domain.check import Check, CheckResult, Tier
from app.domain.errors import Halt, Park, Refused, Unavailable
from app.domain.evidence import Finding, Holds
from app.domain.ports.objects import Objects
from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig
from worker.attest import examine
from worker.attest.examine import Signed
from worker.config_file import config_of, placed
from worker.local import table
from worker.local.evidence import Evidence
from worker.local.hold import MemoryHold
from worker.local.repository import NotFound, Repository
from worker.local.sandbox import sandbox
from worker.runner.boxes import SandboxClient
from worker.runner.checks.environment import InEnvironment, set_up
from worker.runner.checks.run import Certifier
from worker.runner.repository.mirror import Store
from worker.settings.person import LocalSettings

CLAIM = "The checks, run again here, say the same"


@dataclass(frozen=True)
class Again:
    """One check of the evidence: its definition, and what was signed of its results."""

    check: Check
    after: Mapping[str, Any]
    before: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Kit:
    """What set-up and certifying need here."""

    hold: MemoryHold
    objects: Objects
    sandbox: SandboxClient


@dataclass(frozen=True)
class Ground:
    """Where the checks run again: `certify` and the image that the base's set-up made, from the
    base tree's own configuration."""

    certify: Callable[..., CheckResult]
    image: str
    base_tree: str


def rerun(
    signed: Signed,
    shown: Evidence,
    repository: Repository | None,
    held: LocalSettings,
    environment: Mapping[str, str],
    console: Console,
) -> Finding:
    """Set up as the base says, and run every check that has a result on the tree again. Where no
    such environment can be had here nothing is said against the evidence. Raises what the store
    raises."""
    wanted, missing = again(signed, shown)
    if not wanted:
        return Finding(CLAIM, Holds.UNKNOWN, missing or ("No check has a result to repeat.",))
    with tempfile.TemporaryDirectory(prefix="pw-") as place:
        objects, base_tree = _objects(Path(place) / "objects.git", signed, shown, repository)
        try:
            config = _config(objects, base_tree)  # before a sandbox is asked
            with sandbox(held, environment, lambda words: console.print(f"  {words}")) as client:
                kit = Kit(MemoryHold(0), objects, client)
                ground = _ground(kit, config, base_tree, console)
                return _compared(signed, wanted, missing, ground, console)
        except (Halt, Park, Refused, Unavailable, ConfigError) as why:
            return Finding(CLAIM, Holds.UNKNOWN, (f"They cannot be run here: {_words(why)}",))


def _config(objects: Objects, base_tree: str) -> RepoConfig:
    """What the base says. Raises `ConfigError` that names the file."""
    there = any(entry.path == CONFIG_PATH for entry in objects.entries(base_tree))
    try:
        return config_of(objects.read(base_tree, CONFIG_PATH)) if there else RepoConfig()
    except ConfigError as wrong:
        raise ConfigError(placed(wrong, f"{CONFIG_PATH} at the base commit")) from None


def _ground(kit: Kit, config: RepoConfig, base_tree: str, console: Console) -> Ground:
    """The same set-up as in prepare. Raises what that raises."""
    entries = kit.objects.entries(base_tree)
    image, _ = kit.sandbox.image(config.image)
    with console.status("again: set-up"):
        image, _ = set_up(kit, "rerun", config, base_tree, entries, image)
    certifier = Certifier(kit.hold, kit.objects, kit.sandbox)
    certify = InEnvironment(kit.hold, kit.objects, kit.sandbox, config, certifier)
    return Ground(certify, image, base_tree)


def _compared(
    signed: Signed, wanted: list[Again], missing: tuple[str, ...], ground: Ground, console: Console
) -> Finding:
    """A check that says something else here is run on the base, too: where that does not say what
    was signed either, it is this machine's environment that differs, and nothing was shown."""
    other = str(signed.evidence.get("configuration", {}).get("image"))
    notes = [f"The image here is {ground.image}, there it was {other}."]
    notes = [] if ground.image == other else notes
    faults, odd = list[str](), list(missing)
    for one in wanted:
        with console.status(f"again: {table.plain(one.check.name, most=60).plain}"):
            result = ground.certify("rerun", "again", one.check, signed.tree, ground.image)
        console.print(table.done("again", result))
        fault = _difference(one.check, one.after, result)
        if not fault:
            continue
        alike = ground.image == other or _alike(one, ground)
        (faults if alike and result.exit_code is not None else odd).append(fault)
        if not alike:
            odd.append(f"`{one.check.name}` differs on the base, too: another environment.")
    if faults:
        return Finding(CLAIM, Holds.FAILS, (*faults, *odd, *notes))
    standing = Holds.UNKNOWN if odd else Holds.HOLDS
    return Finding(CLAIM, standing, (f"Checks run again: {len(wanted)}.", *odd, *notes))


def _alike(one: Again, ground: Ground) -> bool:
    """Whether the base says here what was signed of it: the environments are alike."""
    if one.before is None or one.before.get("exitCode") is None:
        return False
    result = ground.certify("rerun", "again-base", one.check, ground.base_tree, ground.image)
    return not _difference(one.check, one.before, result)


def _words(why: Exception) -> str:
    if isinstance(why, Halt):
        return f"{why.record.message} {' '.join(why.record.details)}".strip()
    return why.note if isinstance(why, Park) else str(why)


def again(signed: Signed, shown: Evidence) -> tuple[list[Again], tuple[str, ...]]:
    """(checks that can be repeated, sentences about those that cannot). A definition comes from
    the statement, else from the bundle; it counts only where its digest is the signed one."""
    listed = shown.bundle.parts.get("checks") if shown.bundle else None
    bundled = {one.get("name"): one for one in _records(listed)}
    found: list[Again] = []
    missing: list[str] = []
    for one in _records(signed.evidence.get("checks")):
        name, command, after = str(one.get("name")), one.get("command"), one.get("after")
        if not isinstance(command, Mapping) or not isinstance(after, Mapping):
            continue
        if after.get("exitCode") is None:
            continue
        check = _check(name, command, bundled.get(name))
        if check is None or check.digest() != command.get("digest"):
            missing.append(f"`{name}`: its command is not in the evidence; --bundle has it.")
        else:
            before = one.get("baseline")
            found.append(Again(check, after, before if isinstance(before, Mapping) else None))
    return found, tuple(missing)


def _records(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _check(name: str, command: Mapping[str, Any], bundled: Any) -> Check | None:
    try:
        if "argv" not in command:
            return msgspec.convert(bundled, Check) if bundled else None
        return Check(
            name=name,
            argv=tuple(map(str, command["argv"])),
            env={str(key): str(value) for key, value in command["env"].items()},
            workdir=str(command["workdir"]),
            report=str(command["report"]),
            tier=Tier(command["tier"]),
            timeout=int(command["timeout"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _objects(
    place: Path,
    signed: Signed,
    shown: Evidence,
    repository: Repository | None,
) -> tuple[Objects, str]:
    """(a store that has commit and base: borrowed from the repository here, else fetched; the
    base's tree). Raises `NotFound`."""
    base = str(examine.at(signed.evidence, "base", "gitCommit"))
    if repository is not None:
        for name in (signed.commit, base):
            if not repository.tree_of(name):
                raise NotFound(f"The commit {name[:64]} is not in {repository.name}: fetch it.")
        return repository.store(place), repository.tree_of(base)
    if not shown.url:
        raise NotFound("To run the checks again, name the repository with --repo PATH.")
    store = Store(place)
    store.fetch(shown.url, shown.token, signed.commit)
    return store, store.fetch(shown.url, shown.token, base)


def _difference(check: Check, was: Mapping[str, Any], result: CheckResult) -> str:
    """What came out otherwise than it was signed. Without a baseline here, a test that is gone or
    newly skipped cannot be seen, so exit code and tests are compared, not the standing."""
    counts = None if result.counts is None else msgspec.to_builtins(result.counts)
    here, there = (result.exit_code, counts), (was.get("exitCode"), was.get("counts"))
    if here == there:
        return ""
    return f"`{check.name}`: here {_ended(*here)}; signed was {_ended(*there)}."


def _ended(code: Any, counts: Any) -> str:
    tests = ", ".join(f"{number} {name}" for name, number in counts.items()) if counts else ""
    return f"exit {code}, {tests or 'tests not counted'}"
