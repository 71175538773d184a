"""`patchwarrant verify`: examines evidence without trusting the service that made it.

Every claim is told with its standing and, where it does not hold, the place; then what the
evidence itself says about the change.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from app.domain.errors import Fault, Halt, Park
from app.domain.evidence import Finding, Holds
from worker import settings
from worker.attest import examine
from worker.attest.bundle import NotABundle
from worker.attest.canonical import builtins
from worker.attest.examine import Signed
from worker.attest.verify import NotVerified
from worker.local import evidence, table, trust
from worker.local.evidence import Evidence, Place
from worker.local.github import Away, GitHub
from worker.local.repository import NotFound, Repository
from worker.local.rerun import rerun
from worker.local.told import told

HOLDS, FAILS, UNKNOWN = 0, 1, 2
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
Rerun = Callable[[Signed, Evidence], Finding]


def main(door: settings.Door, arguments: list[str]) -> int:
    """Exit code: 0 all of it holds and the verdict is passed, 1 something does not hold, 2 it
    could not be found out."""
    asked = _parser().parse_args(arguments)
    console = table.console()
    held = settings.local(door)
    try:
        with ExitStack() as exits:
            repository = Repository(Path(asked.repo)) if asked.repo else None
            shown = _shown(asked, held, repository, exits)
            root = _root(asked.key, shown)

            def again(signed: Signed, found: Evidence) -> Finding:
                return rerun(signed, found, repository, held, door.environment, console)

            findings, signed = examined(shown, root, again if asked.rerun else None)
    except (NotABundle, NotVerified) as wrong:
        return _ended(console, asked.json, str(wrong), FAILS)
    except (trust.NoKey, NotFound, Away, OSError, Fault, Halt, Park) as problem:
        return _ended(console, asked.json, str(problem), UNKNOWN)
    code = exit_code(findings)
    if asked.json:
        sys.stdout.write(json.dumps({"code": code, "findings": builtins(findings)}) + "\n")
    else:
        _print(console, shown, findings, signed, code)
    return code


def examined(
    shown: Evidence, root: trust.Root, again: Rerun | None = None
) -> tuple[tuple[Finding, ...], Signed | None]:
    """Every claim about the evidence, and what it says where its signatures are good."""
    found = [root.finding]
    if root.key is None:
        return tuple(found), None
    finding, signed = examine.signatures(shown.envelopes, root.key)
    found.append(finding)
    if signed is None:
        return (*found, *shown.body), None
    where = shown.place.name if shown.place else "no repository was named (--repo PATH)"
    found.append(_tree(shown, signed, where))
    found.append(examine.fresh(signed, shown.head, where))
    if examine.made_by_us(signed) and shown.place is not None:  # others build on what they want
        found.append(examine.based(signed, shown.place.parents(signed.commit)))
    if shown.place is not None:
        found += _ruled(shown, shown.place, signed)
    if examine.written_by_us(signed):  # somebody else's text is not ours to have written
        found += shown.body
        named = evidence.names(shown, signed.tree, signed.commit)
        if named is not None:
            found.append(named)
    if shown.bundle is not None:
        found.append(examine.whole(signed, shown.bundle))
    if again is not None:
        found.append(again(signed, shown))
    found.append(examine.verdict(signed))
    return tuple(found), signed


def _ruled(shown: Evidence, place: Place, signed: Signed) -> list[Finding]:
    """Whether the evidence belongs where the reader looks, under the rules of that branch."""
    base = str(examine.at(signed.evidence, "base", "gitCommit"))
    judged = examine.at(signed.evidence, "run", "kind") in examine.JUDGED
    found = []
    if shown.repository is not None:
        found.append(examine.belongs(signed, shown.repository, shown.branch))
    parted = place.parted(signed.commit, shown.tip or shown.branch) if judged else ""
    known = not judged and bool(_OBJECT.fullmatch(base)) and bool(shown.branch)
    inside = place.contains(base, shown.branch) if known else None
    return [*found, examine.ruled(signed, shown.branch, parted, inside)]


def _tree(shown: Evidence, signed: Signed, where: str) -> Finding:
    if shown.place is None:
        return examine.same_tree(signed, "", where)
    tree = shown.place.tree_of(signed.commit)
    found = examine.same_tree(signed, tree, where if tree else f"{where} does not have it")
    fault = shown.place.fault(signed.commit) if found.standing is Holds.HOLDS else ""
    return Finding(found.claim, Holds.FAILS, (fault,)) if fault else found


def exit_code(findings: Sequence[Finding]) -> int:
    """What does not hold weighs more than what is not known."""
    standings = {one.standing for one in findings}
    if Holds.FAILS in standings:
        return FAILS
    return UNKNOWN if Holds.UNKNOWN in standings else HOLDS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="patchwarrant verify",
        description="Examines evidence about a change without trusting who made it.",
        epilog="Exit code: 0 all holds and the verdict is passed, 1 something does not hold, "
        "2 it could not be found out. The key to trust is --key, else the line `evidence: "
        "{key: …}` in .github/agent.yml at the base commit.",
    )
    parser.add_argument("what", nargs="?", default="", help="a pull request's address or a bundle")
    parser.add_argument("--repo", default="", help="the repository, for its commits")
    parser.add_argument("--key", default="", help="file with the public key to trust")
    parser.add_argument("--bundle", default="", help="bundle to examine with a pull request")
    parser.add_argument("--base", default="", help="branch that changes go to (with --repo)")
    parser.add_argument("--rerun", action="store_true", help="run the checks again, and compare")
    parser.add_argument("--json", action="store_true", help="findings as one JSON object")
    return parser


def _root(key: str, shown: Evidence) -> trust.Root:
    if not key:
        return trust.of_base(shown)
    try:
        return trust.of_file(Path(key))
    except NotVerified as wrong:  # the reader's file, not the evidence
        raise trust.NoKey(f"{key}: {wrong}") from None


def _shown(
    asked: argparse.Namespace,
    held: settings.LocalSettings,
    repository: Repository | None,
    exits: ExitStack,
) -> Evidence:
    if "://" in asked.what:
        hub = GitHub(asked.what, held.api_url, held.token.value)
        exits.callback(hub.close)
        return evidence.of_pull(hub, Path(asked.bundle) if asked.bundle else None)
    if asked.what:
        return evidence.of_file(Path(asked.what), repository, asked.base)
    return evidence.of_repository(repository or Repository(Path()), asked.base)


def _ended(console: Console, as_json: bool, words: str, code: int) -> int:
    if as_json:
        sys.stdout.write(json.dumps({"code": code, "error": words}) + "\n")
    else:
        console.print(table.plain(words, "red", 2_000), soft_wrap=True)
    return code


def _print(
    console: Console,
    shown: Evidence,
    findings: Sequence[Finding],
    signed: Signed | None,
    code: int,
) -> None:
    console.print(table.plain(shown.shown, "bold"), soft_wrap=True)
    for line in table.findings(findings):
        console.print(line)
    if signed is not None:
        console.print()
        for line in told(signed):
            console.print(line)
    console.print(_last(code))


def _last(code: int) -> object:
    words = {
        HOLDS: ("Verified: the evidence is genuine, fresh, and says passed.", "bold green"),
        FAILS: ("NOT verified: something above does not hold.", "bold red"),
        UNKNOWN: ("Not found out: something above is unknown.", "bold yellow"),
    }
    said, style = words[code]
    return table.plain(said, style)
