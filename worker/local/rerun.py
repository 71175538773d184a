"""The checks once more, in a sandbox on this machine, from the evidence alone, and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from app.domain.check import Check, CheckResult, Tier
from app.domain.evidence import Finding, Holds
from app.domain.ports import Objects
from worker import settings
from worker.attest.examine import Signed
from worker.local import table
from worker.local.evidence import Evidence
from worker.local.hold import MemoryHold
from worker.local.repository import NotFound, Repository
from worker.local.sandbox import sandbox
from worker.runner.checks.run import Certifier
from worker.runner.repository.mirror import Store

CLAIM = "The checks, run again here, say the same"


@dataclass(frozen=True)
class Again:
    """One check of the evidence: its definition, and what was signed of its result."""

    check: Check
    after: Mapping[str, Any]


def rerun(
    signed: Signed,
    shown: Evidence,
    repository: Repository | None,
    held: settings.LocalSettings,
    environment: Mapping[str, str],
    console: Console,
) -> Finding:
    """Run every check that has a result on the tree again. Raises what sandbox and store raise."""
    wanted, missing = again(signed, shown)
    if not wanted:
        return Finding(CLAIM, Holds.UNKNOWN, missing or ("No check has a result to repeat.",))
    with (
        tempfile.TemporaryDirectory(prefix="pw-") as place,
        sandbox(held.sandbox, environment, lambda words: console.print(f"  {words}")) as client,
    ):
        objects = _objects(Path(place) / "objects.git", signed, shown, repository)
        hold = MemoryHold(0)
        certify = Certifier(hold, objects, client)
        image, _ = client.image(_image(shown))
        results = []
        for one in wanted:
            with console.status(f"again: {table.plain(one.check.name, most=60).plain}"):
                result = certify("rerun", "again", one.check, signed.tree, image)
            console.print(table.done("again", result))
            results.append((one, result))
    faults = [fault for one, result in results if (fault := _difference(one, result))]
    other = str(signed.evidence.get("configuration", {}).get("image"))
    notes = [] if image == other else [f"The image here is {image}, there it was {other}."]
    if faults:
        return Finding(CLAIM, Holds.FAILS, (*faults, *notes))
    standing = Holds.UNKNOWN if missing else Holds.HOLDS
    return Finding(CLAIM, standing, (f"Checks run again: {len(results)}.", *missing, *notes))


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
            found.append(Again(check, after))
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


def _image(shown: Evidence) -> str:
    """The image's name in the configuration, as far as the bundle tells; "" is the default one."""
    contract = shown.bundle.parts.get("contract") if shown.bundle else None
    config = contract.get("config") if isinstance(contract, Mapping) else None
    return str(config.get("image", "")) if isinstance(config, Mapping) else ""


def _objects(
    place: Path,
    signed: Signed,
    shown: Evidence,
    repository: Repository | None,
) -> Objects:
    """A store that has the commit: borrowed from the repository here, else fetched."""
    if repository is not None:
        if not repository.tree_of(signed.commit):
            raise NotFound(f"The commit {signed.commit} is not in {repository.name}: fetch it.")
        return repository.store(place)
    if not shown.url:
        raise NotFound("To run the checks again, name the repository with --repo PATH.")
    store = Store(place)
    store.fetch(shown.url, shown.token, signed.commit)
    return store


def _difference(one: Again, result: CheckResult) -> str:
    """What came out otherwise than it was signed. Without a baseline here, a test that is gone or
    newly skipped cannot be seen, so exit code and tests are compared, not the standing."""
    counts = None if result.counts is None else msgspec.to_builtins(result.counts)
    here, there = (result.exit_code, counts), (one.after.get("exitCode"), one.after.get("counts"))
    if here == there:
        return ""
    return f"`{one.check.name}`: here {_words(*here)}; signed was {_words(*there)}."


def _words(code: Any, counts: Any) -> str:
    tests = ", ".join(f"{number} {name}" for name, number in counts.items()) if counts else ""
    return f"exit {code}, {tests or 'tests not counted'}"
