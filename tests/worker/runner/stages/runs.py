"""A run with a contract, and a kit over fakes, for the tests of the stages that run checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from app.domain.budget import Limits
from app.domain.check import CheckResult, Outcome
from app.domain.contract import Contract, Criterion, Request
from app.domain.edit import FILE, Candidate, Change
from app.domain.event import Person, Repository
from app.domain.plan import Action, Plan, PlannedFile
from app.domain.ports.sandbox import Job
from app.domain.repo_config import CONFIG_PATH, RepoConfig, checks_of
from app.domain.run import Run, Snapshot
from app.domain.state import Kind, State
from tests.fakes.hold import FakeHold
from tests.fakes.objects import File, MemoryObjects, git_id
from tests.fakes.sandbox import IMAGE, PROFILE, FakeSandbox
from worker.config_file import config_of, workflow_of
from worker.runner.checks.run import Certifier
from worker.runner.stages.check_kit import CheckKit

CONFIG = b"""version: 1
checks:
  - name: tests
    run: python3 -m pytest
    report: r.xml
"""
FILES: dict[str, File] = {
    CONFIG_PATH: CONFIG,
    "pkg/a.py": b"one\n",
    "tests/test_a.py": b"def test_a(): pass\n",
}
DRAWN = "0123456789abcdef0123456789abcdef"  # its last digit is odd: the first name fails
OWN_SECRET = "our-own-model-key"
_SENTINEL = re.compile(
    r"def (test_[0-9a-f]{8})\(\):\n    found = (\d+)\n    assert found == (\d+)\n"
)
Acts = Callable[[Job, Mapping[str, bytes]], Outcome]


@dataclass
class World:
    """Fakes of every seam; `acts` decides what the sandbox says."""

    files: dict[str, File] = field(default_factory=lambda: dict(FILES))
    hold: FakeHold = field(default_factory=FakeHold)
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    sandbox: FakeSandbox = field(default_factory=FakeSandbox)
    open_fetches: int = 0

    def __post_init__(self) -> None:
        self.commit = self.objects.commit(self.files)
        self.base = self.objects.remote[self.commit]

    @contextmanager
    def fetch(self, run: Run) -> Iterator[tuple[str, str]]:
        self.open_fetches += 1
        try:
            yield f"https://git.example/{run.repository.full_name}", "token"
        finally:
            self.open_fetches -= 1

    def kit(self) -> CheckKit:
        certify = Certifier(self.hold, self.objects, self.sandbox)
        return CheckKit(
            hold=self.hold,
            objects=self.objects,
            sandbox=self.sandbox,
            certify=certify,
            fetch=self.fetch,
            config_of=config_of,
            workflow_of=workflow_of,
            draw=lambda: DRAWN,
            knows=lambda text: OWN_SECRET in text,
        )

    def says(self, by: Callable[[Mapping[str, bytes]], Outcome]) -> None:
        self.sandbox.acts = lambda _job, files: by(files)

    def contract(self, limits: Limits | None = None) -> Contract:
        data = self.files.get(CONFIG_PATH)
        source = git_id("blob", data) if isinstance(data, bytes) else ""
        config = config_of(data) if isinstance(data, bytes) else RepoConfig()
        return Contract(
            request=Request("title", "body", "d", 0, "ann", "ann", "now"),
            criteria=(Criterion("works", "checklist"),),
            base_branch="main",
            base_commit=self.commit,
            config=config,
            config_source=source,
            limits=limits or Limits(),
        )

    def run(self, state: State = State.PREPARE, limits: Limits | None = None) -> Run:
        return Run(
            id="r1",
            kind=Kind.FIX,
            change="r1",
            event="e",
            installation=1,
            repository=Repository(7, "o", "n"),
            issue=3,
            requester=Person(1, "ann"),
            created=0,
            state=state,
            contract=self.contract(limits),
        )

    def prepared(
        self,
        state: State = State.VERIFY,
        limits: Limits | None = None,
        baseline: tuple[CheckResult, ...] = (),
    ) -> Run:
        """A run after its preparation, by the stage itself unless a baseline is given."""
        run = self.run(state, limits)
        assert run.contract is not None
        snapshot = Snapshot(self.base, IMAGE, PROFILE, checks_of(run.contract.config))
        if not baseline:
            kit = self.kit()
            baseline = tuple(
                kit.certify(run.id, "baseline", check, self.base, IMAGE)
                for check in snapshot.checks
            )
        return replace(run, snapshot=snapshot, baseline=baseline)

    def changed(self, run: Run, **files: bytes | None) -> Run:
        """The run with a candidate; `pkg__a_py` is `pkg/a.py`."""
        changes = []
        for name, data in files.items():
            path = path_of(name)
            digest = "" if data is None else self.hold.put(data)
            changes.append(Change(path, FILE if digest else 0, digest))
        changes.sort(key=lambda change: change.path)
        tree = self.objects.build(self.base, changes, self.hold.get)
        return replace(run, candidate=Candidate(tree, tuple(changes)))

    def planned(self, run: Run, *paths: str, must_pass: tuple[str, ...] = ()) -> Run:
        known = {entry.path for entry in self.objects.entries(self.base)}
        files = tuple(
            PlannedFile(path, Action.EDIT if path in known else Action.CREATE, "why", 5)
            for path in paths
        )
        return replace(run, plan=Plan("plan", files, must_pass, (), (), 5))


def with_sentinels(files: Mapping[str, bytes], cases: Mapping[str, str]) -> dict[str, str]:
    """The cases, and those of the sentinels that lie among the files, as an honest tool ends."""
    found = dict(cases)
    for path, data in files.items():
        for name, left, right in _SENTINEL.findall(data.decode("utf-8", "replace")):
            found[f"{path}::{name}"] = "" if left == right else "AssertionError"
    return found


def path_of(name: str) -> str:
    folder, _, file = name.rpartition("__")
    stem, _, ending = file.rpartition("_")
    return "/".join(part for part in (folder.replace("__", "/"), f"{stem}.{ending}") if part)
