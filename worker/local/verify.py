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
from worker.attest import examine
from worker.attest.bundle import NotABundle
from worker.attest.canonical import builtins
from worker.attest.examine import Signed
from worker.local import evidence, table, trust
from worker.local.evidence import Evidence, Place
from worker.local.files import Unreadable
from worker.local.github import Away, GitHub
from worker.local.outcome import STYLES, WORDS, Outcome, code_of, outcome
from worker.local.repository import NotFound, Repository
from worker.local.rerun import rerun
from worker.local.told import told
from worker.local.words import FILE, option, parser
from worker.settings.door import Door
from worker.settings.person import LocalSettings, local_settings

_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
EPILOG = """
The key to trust is --key, else the line `evidence: {key: …}` in .github/agent.yml at the
base commit. Without an argument what `patchwarrant check` left in the repository here is
examined.

examples
  patchwarrant verify https://github.com/acme/calc/pull/12
  patchwarrant verify run.bundle.json --repo path/to/clone --key public.txt
  patchwarrant verify --repo . --key public.txt --rerun

Exit code: 0 genuine, fresh and passed; 1 genuine, and stale or not passed; 2 not genuine,
not signed, or it could not be found out."""
Rerun = Callable[[Signed, Evidence], Finding]


def main(door: Door, arguments: list[str]) -> int:
    """Exit code: 0 genuine, fresh and passed, 1 genuine, and stale or not passed, 2 not genuine, or
    it could not be found out."""
    asked = _asked(arguments)
    # A machine reads standard output as one object: what people may watch goes elsewhere then.
    console = Console(stderr=True) if asked.json else table.console()
    held = local_settings(door)
    try:
        with ExitStack() as exits:
            repository = Repository(Path(asked.repo)) if asked.repo else None
            shown = _shown(asked, held, repository, exits)
            root = _root(asked.key, shown)

            def again(signed: Signed, found: Evidence) -> Finding:
                return rerun(signed, found, repository, held, door.environment, console)

            findings, signed = examined(shown, root, again if asked.rerun else None)
    except NotABundle as wrong:
        return _ended(console, asked.json, _no_bundle(asked, wrong), Outcome.UNUSABLE)
    except Unreadable as wrong:
        return _ended(console, asked.json, str(wrong), Outcome.UNUSABLE)
    except (trust.NoKey, NotFound, Away, OSError, Fault, Halt, Park) as problem:
        return _ended(console, asked.json, _words(problem), Outcome.UNKNOWN)
    came = outcome(findings)
    if asked.json:
        told_all = {"code": code_of(came), "outcome": came, "findings": builtins(findings)}
        sys.stdout.write(json.dumps(told_all) + "\n")
    else:
        _print(console, shown, findings, signed, came)
    return code_of(came)


def _no_bundle(asked: argparse.Namespace, wrong: NotABundle) -> str:
    file = asked.bundle or asked.what
    if not file or "://" in file:  # beside the repository, or attached on GitHub
        return f"This is no evidence, or not as it was written: {wrong}"
    return (
        f"{file} is no bundle, or not as it was written: {wrong} Name one that `patchwarrant "
        "check --bundle FILE` or `patchwarrant evidence RUN FILE` wrote."
    )


def _words(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename or 'A file'} cannot be used: {problem.strerror}."
    return str(problem)


def examined(
    shown: Evidence, root: trust.Root, again: Rerun | None = None
) -> tuple[tuple[Finding, ...], Signed | None]:
    """Every claim about the evidence, and what it says where its signatures are good."""
    bare = examine.unsigned(shown.envelopes)
    if bare is not None:  # whatever key is trusted
        return (bare,), None
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


def _asked(arguments: list[str]) -> argparse.Namespace:
    known = _parser()
    asked = known.parse_args(arguments)
    if asked.bundle and not asked.what:
        asked.what, asked.bundle = asked.bundle, ""
    if asked.bundle and "://" not in asked.what:
        known.error("two bundles are named; --bundle goes with a pull request's address")
    return asked


def _parser() -> argparse.ArgumentParser:
    made = parser(
        "verify",
        "Examines evidence about a change without trusting who made it.",
        EPILOG,
        "PULL-REQUEST | BUNDLE | --repo PATH [options]",
    )
    what = "a pull request's address or a bundle's file"
    made.add_argument("what", nargs="?", default="", help=what)
    option(made, "repo", "PATH", "the repository, for its commits")
    option(made, "key", FILE, "file with the public key to trust")
    option(made, "bundle", FILE, "bundle to examine with a pull request")
    option(made, "base", "BRANCH", "where changes go (with --repo)")
    made.add_argument("--rerun", action="store_true", help="run the checks again, and compare")
    made.add_argument("--json", action="store_true", help="findings as one JSON object")
    return made


def _root(key: str, shown: Evidence) -> trust.Root:
    return trust.of_file(Path(key)) if key else trust.of_base(shown)


def _shown(
    asked: argparse.Namespace,
    held: LocalSettings,
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


def _ended(console: Console, as_json: bool, words: str, came: Outcome) -> int:
    if as_json:
        said = {"code": code_of(came), "outcome": came, "error": words}
        sys.stdout.write(json.dumps(said) + "\n")
    else:
        console.print(table.plain(words, "red", 2_000), soft_wrap=True)
    return code_of(came)


def _print(
    console: Console,
    shown: Evidence,
    findings: Sequence[Finding],
    signed: Signed | None,
    came: Outcome,
) -> None:
    console.print(table.plain(shown.shown, "bold"), soft_wrap=True)
    for line in table.findings(findings):
        console.print(line)
    if signed is not None:
        console.print()
        for line in told(signed):
            console.print(line)
    console.print(table.plain(WORDS[came], STYLES.get(came, "bold red")))
