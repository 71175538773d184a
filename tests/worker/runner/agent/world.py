"""A small repository and a run on it, with a real object store: where every test here starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pygit2

from app.domain.budget import Limits
from app.domain.check import Check, CheckResult, Counts, Failure, Standing
from app.domain.contract import Contract, Criterion, Request
from app.domain.edit import EXECUTABLE, FILE, LINK
from app.domain.errors import Halt
from app.domain.event import Person, Repository
from app.domain.ports.model import Model
from app.domain.repo_config import PathRules, RepoConfig
from app.domain.run import Attempt, Run, Snapshot
from app.domain.state import Kind, State
from tests.fakes.hold import FakeHold
from tests.fakes.sandbox import IMAGE, PROFILE, FakeSandbox
from worker.runner.agent.kit import Kit
from worker.runner.model.pricing import CARD_ID, card
from worker.runner.repository.mirror import Store
from worker.runner.repository.search import Searcher

CALC = b"def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"
TEST = b"from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
FILES: dict[str, bytes | tuple[int, bytes]] = {
    "calc.py": CALC,
    "tests/test_calc.py": TEST,
    "README.md": b"# calc\n",
    ".env": b"TOKEN=very-secret\n",
    "logo.png": b"\x89PNG\0\0",
    "latin.txt": "caf\xe9\n".encode("latin-1"),
    "dos.txt": b"one\r\ntwo\r\n",
    "empty.txt": b"",
    "run.sh": (EXECUTABLE, b"#!/bin/sh\nexit 0\n"),
    "way.txt": (LINK, b"calc.py"),
}
UNIT = Check(
    "unit",
    ("python3", "-m", "pytest"),
    selector=("python3", "-m", "pytest", "{tests}"),
    report="report.xml",
)
LINT = Check("lint", ("sh", "-euc", "true"))
FIXED = "    return a + b\n"
BROKEN = "    return a - b\n"


@dataclass
class Tests:
    """Stands where the wiring hands in `run_selected`; `said` is what it answers."""

    said: str = "1 passed"
    error: Exception | None = None
    asked: list[tuple[str, tuple[str, ...], str, int]] = field(default_factory=list)
    log: str = ""

    def run_selected(
        self, check: Check, selectors: Sequence[str], tree: str, seconds: int
    ) -> tuple[CheckResult, str]:
        self.asked.append((check.name, tuple(selectors), tree, seconds))
        if self.error is not None:
            raise self.error
        return passed(check.name, tree, log=self.log), self.said


@dataclass
class World:
    """Everything that a stage works with; `kit` is made anew for each held lease."""

    store: Store
    base: str
    hold: FakeHold = field(default_factory=FakeHold)
    sandbox: FakeSandbox = field(default_factory=FakeSandbox)
    tests: Tests = field(default_factory=Tests)
    now: int = 1_700_000_000_000
    model_name: str = "claude-sonnet-5-5"

    def kit(self, model: Model, **changes: Any) -> Kit:
        searcher = Searcher(self.store)
        kit = Kit(
            hold=self.hold,
            model=model,
            rate=card(self.model_name),
            card=CARD_ID,
            objects=self.store,
            sandbox=self.sandbox,
            search=lambda *asked: searcher.lines(*asked, look=self.hold.look),
            run_selected=self.tests.run_selected,
            delimiter="f00dfeedf00dfeed",
            clock=lambda: self.now,
        )
        return replace(kit, **changes)

    def run(self, limits: Limits | None = None, **config: Any) -> Run:
        contract = Contract(
            request=Request("add() subtracts", "`add(2, 3)` gives -1.", "d", 0, "ann", "ann", ""),
            criteria=(Criterion("add(2, 3) == 5", "checklist"),),
            base_branch="main",
            base_commit="c" * 40,
            config=RepoConfig(checks=(), **{"paths": PathRules(), **config}),
            config_source="",
            limits=limits or Limits(),
        )
        return Run(
            id="r1",
            kind=Kind.FIX,
            change="r1",
            event="e1",
            installation=5,
            repository=Repository(7, "ann", "calc"),
            issue=3,
            requester=Person(1, "ann"),
            created=self.now,
            state=State.LOCATE,
            contract=contract,
            snapshot=Snapshot(self.base, IMAGE, PROFILE, (UNIT, LINT), ("pytest was recognised",)),
            baseline=(failed("unit", self.base),),
        )

    def read(self, tree: str, path: str) -> bytes:
        return self.store.read(tree, path)


def world(folder: Path, files: Mapping[str, bytes | tuple[int, bytes]] = FILES) -> World:
    """A world with `files` as its base tree."""
    store = Store(folder / "store.git")
    return World(store, tree_of(folder / "store.git", files))


def tree_of(path: Path, files: Mapping[str, bytes | tuple[int, bytes]]) -> str:
    """Write a tree into the repository at `path`; its id."""
    repo = pygit2.Repository(str(path))
    index = pygit2.Index()
    for name, value in files.items():
        mode, data = value if isinstance(value, tuple) else (FILE, value)
        index.add(pygit2.IndexEntry(name, repo.create_blob(data), pygit2.enums.FileMode(mode)))
    return str(index.write_tree(repo))


def passed(check: str, tree: str, log: str = "") -> CheckResult:
    return CheckResult(
        check, "d", tree, IMAGE, Standing.PASSED, "", 0, 10, Counts(1, 0, 0), (), log, "1 passed"
    )


def failed(check: str, tree: str, log: str = "") -> CheckResult:
    failure = Failure(
        "tests/test_calc.py::test_add",
        "AssertionError",
        "assert -1 == 5",
        "tests/test_calc.py",
        5,
        0,
        ("tests/test_calc.py:5: AssertionError", "calc.py:2: in add"),
    )
    counts = Counts(0, 1, 0)
    return CheckResult(
        check, "d", tree, IMAGE, Standing.FAILED, "exit 1", 1, 10, counts, (failure,), log, "tail"
    )


def tried(run: Run, log: str = "") -> Run:
    """The run after the required checks failed on its candidate, back in plan."""
    assert run.candidate is not None
    tree = run.candidate.tree
    results = (failed("unit", tree, log), passed("lint", tree))
    attempts = (*run.attempts, Attempt(tree, results, "s"))
    return replace(run, attempts=attempts, state=State.PLAN)


def plan_of(*files: tuple[str, str, int], **changes: Any) -> dict[str, Any]:
    """Arguments of submit_plan for (path, action, lines)."""
    return {
        "summary": "add adds",
        "files": [
            {"path": path, "action": action, "why": "it is wrong", "lines": lines}
            for path, action, lines in files
        ],
        "tests_must_pass": ["tests/test_calc.py::test_add"],
        "tests_to_write": [],
        "steps": [{"id": "1", "what": "mend add", "needs": []}],
        "turns": 4,
        **changes,
    }


def edit_of(path: str, sha256: str, old: str, new: str) -> dict[str, Any]:
    return {"edits": [{"path": path, "sha256": sha256, "old": old, "new": new}]}


def halted_by(error: BaseException) -> str:
    """The reason of a Halt."""
    assert isinstance(error, Halt)
    return error.record.reason.value
