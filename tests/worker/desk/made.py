"""Runs as the desk meets them, and a kit over the fakes or over the stand-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.domain.budget import LARGE, Limits
from app.domain.check import CheckResult, Counts, Standing
from app.domain.contract import Contract, Criterion, Request
from app.domain.edit import Candidate, Change
from app.domain.errors import HaltRecord, Reason
from app.domain.event import Event, EventKind, Person, Repository
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.repo_config import RepoConfig
from app.domain.run import Attempt, Run
from app.domain.state import Kind, State
from tests.fakes.github import FakeGitHub, Files, tree_id
from tests.fakes.hold import FakeHold
from worker.attest.attestation import statements
from worker.attest.bundle import make, packed
from worker.attest.signing import Signer
from worker.config_file import config_of
from worker.desk.kit import DeskKit, Read, Write

LARGE_CEILING = replace(LARGE, dollars=7_000_000)
SIGNER = Signer(Ed25519PrivateKey.generate())
BODY = "add(1, 2) gives -1\n\n## Acceptance criteria\n- [ ] add(1, 2) gives 3\n"
BEFORE = b"def add(a, b):\n    return a - b\n"
AFTER = b"def add(a, b):\n    return a + b\n"
FILES: Files = {"README.md": (0o100644, b"# Widgets\n"), "src/widgets.py": (0o100644, BEFORE)}


def event(
    repository: Repository | None = None, issue: int = 1, title: str = "add is wrong",
    body: str = BODY, sender: Person | None = None, key: str = "issue:5:1:9:now",
) -> Event:  # fmt: skip
    return Event(
        key=key,
        kind=EventKind.ISSUE_LABELED,
        installation=1,
        repository=repository or Repository(5, "acme", "widgets"),
        issue=issue,
        sender=sender or Person(1, "alice"),
        label="agent:fix",
        title=title,
        body=body,
        author=Person(3, "bob"),
        updated_at="2026-11-30T10:00:00Z",
    )


def new_run(
    repository: Repository | None = None, installation: int = 1, issue: int = 1, run_id: str = "abc"
) -> Run:
    return Run(
        id=run_id,
        kind=Kind.FIX,
        change=run_id,
        event="issue:5:1:9:now",
        installation=installation,
        repository=repository or Repository(5, "acme", "widgets"),
        issue=issue,
        requester=Person(0, "alice"),
        created=1_000,
    )


def contract(base: str, config: RepoConfig | None = None, branch: str = "main") -> Contract:
    request = Request("add is wrong", BODY, "d" * 64, 0, "bob", "alice", "2026-11-30T10:00:00Z")
    return Contract(
        request,
        (Criterion("add(1, 2) gives 3", "checklist"),),
        branch,
        base,
        config or RepoConfig(),
        "",
        Limits(),
    )


def result(tree: str, standing: Standing = Standing.PASSED) -> CheckResult:
    failed = standing is not Standing.PASSED
    return CheckResult(
        check="tests",
        digest="c" * 64,
        tree=tree,
        image="sha256:" + "e" * 64,
        standing=standing,
        reason="exit 1" if failed else "",
        exit_code=1 if failed else 0,
        ms=900,
        counts=Counts(0, 1, 0) if failed else Counts(1, 0, 0),
        failures=(),
        log="f" * 64,
        tail="1 passed",
    )


def ready(
    run: Run, base: str, base_files: Files, hold: FakeHold,
    verdict: Result = Result.PASSED, config: RepoConfig | None = None,
) -> Run:  # fmt: skip
    """A run as the gate leaves it: a candidate on `base` whose bytes lie in `hold`."""
    blob = hold.put(AFTER)
    path = "src/widgets.py"
    tree = tree_id({**base_files, path: (0o100644, AFTER)})
    passed = verdict is Result.PASSED
    wall = "" if passed else "The required check `tests` failed."
    halt = None if passed else HaltRecord(Reason.BUDGET_TURNS, "12 of 12 turns are used", "Narrow")
    claim = Finding("Every required check passed", Holds.HOLDS if passed else Holds.FAILS)
    standing = Standing.PASSED if passed else Standing.FAILED
    return replace(
        run,
        state=State.PUBLISH,
        contract=contract(base, config),
        candidate=Candidate(tree, (Change(path, 0o100644, blob),)),
        attempts=(Attempt(tree, (result(tree, standing),), "s"),),
        verdict=Verdict(tree, base, verdict, wall, (claim,)),
        halt=halt,
    )


@dataclass
class Office:
    """A desk with its fakes; tests change the parts and ask for a `kit()`."""

    hub: FakeGitHub = field(default_factory=FakeGitHub)
    hold: FakeHold = field(default_factory=FakeHold)
    events: dict[str, Event] = field(default_factory=dict)
    owners: frozenset[str] = frozenset({"acme"})
    paused: bool = False
    ms: int = 5_000
    journal_fault: str = ""
    read: Read | None = None
    write: Write | None = None
    bots: frozenset[int] = frozenset()
    over_cap: Callable[[Run, Mapping[str, int]], str] = lambda _run, _caps: ""
    settings_of: Callable[[Run], Mapping[str, Any]] = lambda _run: {}
    history: tuple[Run, ...] = ()
    large: Limits | None = LARGE_CEILING

    def kit(self) -> DeskKit:
        return DeskKit(
            hold=self.hold,
            read=self.read or self.hub.read,
            write=self.write or self.hub.write,
            event=self.events.get,
            config_of=config_of,
            statements=statements,
            sign=SIGNER.sign,
            bundle=make,
            attach=packed,
            journal_fault=lambda _run: self.journal_fault,
            paused=lambda: self.paused,
            now=lambda: self.ms,
            owners=self.owners,
            ceiling=Limits(turns=40, dollars=20_000_000),
            large=self.large,
            bots=self.bots,
            over_cap=self.over_cap,
            settings_of=self.settings_of,
            history=lambda _run: self.history,
        )


def office() -> Office:
    """A repository with FILES, an open labelled issue 1, alice as a writer."""
    made = Office()
    made.hub.roles.update(alice="write", bob="triage", carol="maintain", dave="read")
    made.hub.commit_files("main", FILES)
    made.hub.open_issue(1, "add is wrong", BODY, "agent:fix", "bug")
    made.events["issue:5:1:9:now"] = event()
    return made
