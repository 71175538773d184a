"""The real way from a candidate to its verdict, with real containers, for changes of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from app.domain.budget import Limits
from app.domain.contract import Contract, Criterion, Request
from app.domain.edit import FILE, Candidate, Change
from app.domain.errors import Halt, HaltRecord
from app.domain.event import Person, Repository
from app.domain.evidence import Finding, Result, Verdict
from app.domain.plan import Action, Plan, PlannedFile
from app.domain.repo_config import CONFIG_PATH
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.fakes.hold import FakeHold
from tests.fakes.objects import File, MemoryObjects, git_id
from worker.config_file import config_of, workflow_of
from worker.runner.boxes import SandboxClient
from worker.runner.checks.run import Certifier
from worker.runner.stages.check_kit import CheckKit
from worker.runner.stages.foreign import candidate_of
from worker.runner.stages.gate import gate
from worker.runner.stages.prepare import prepare
from worker.runner.stages.verify import verify

Files = Mapping[str, File | None]  # None deletes


@dataclass(frozen=True)
class Judged:
    """How a candidate ended: its verdict, or the Halt that kept it from one."""

    run: Run
    verdict: Verdict | None
    halt: HaltRecord | None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.result is Result.PASSED

    @property
    def exit_codes(self) -> list[int | None]:
        """What a reader of exit codes alone would have seen on the candidate."""
        return [result.exit_code for result in self.run.results]

    @property
    def said(self) -> str:
        """All claims and exhibits of the verdict, one a line."""
        return "\n".join(_lines(self.verdict.findings)) if self.verdict else str(self.halt)


@dataclass
class Gatehouse:
    """One base; baselines are measured once and shared, as between real runs."""

    client: SandboxClient
    memory: FakeHold = field(default_factory=FakeHold)

    def judged(
        self, base: Mapping[str, bytes], changes: Files, drawn: str, *, foreign: bool = False
    ) -> Judged:
        """Prepare, verify and gate for `changes` over `base`; `drawn` are the gate's digits.
        Somebody else's (`foreign`) may hold links, too."""
        objects = MemoryObjects()
        hold = FakeHold(memory=self.memory.memory, blobs=self.memory.blobs)
        files: dict[str, File] = dict(base)
        commit = objects.commit(files)
        kit = CheckKit(
            hold=hold,
            objects=objects,
            sandbox=self.client,
            certify=Certifier(hold, objects, self.client),
            fetch=_fetch,
            config_of=config_of,
            workflow_of=workflow_of,
            draw=lambda: drawn,
            knows=lambda _text: False,
        )
        begun = _run(commit, base[CONFIG_PATH], drawn)
        begun = replace(begun, kind=Kind.VERIFY) if foreign else begun
        run = prepare(kit)(begun)
        assert run.snapshot is not None
        ground = run.snapshot.base_tree
        if foreign:
            whole = {path: file for path, file in {**base, **changes}.items() if file is not None}
            tree = objects.tree(whole)
            candidate = candidate_of(objects, ground, tree)
            run = replace(run, candidate=candidate, state=State.VERIFY)
        else:
            edits = tuple(_change(hold, path, changes[path]) for path in sorted(changes))
            tree = objects.build(ground, edits, hold.get)
            candidate = Candidate(tree, edits)
            plan = _plan(base, changes)
            run = replace(run, candidate=candidate, plan=plan, state=State.VERIFY)
        run = replace(verify(kit)(run), state=State.GATE)
        try:
            run = gate(kit)(run)
        except Halt as halt:
            return Judged(run, None, halt.record)
        return Judged(run, run.verdict, None)


@contextmanager
def _fetch(_run: Run) -> Iterator[tuple[str, str]]:
    yield "https://git.example/o/n", "token"


def _run(commit: str, config: bytes, name: str) -> Run:
    contract = Contract(
        request=Request("Totals are wrong", "body", "d", 0, "ann", "ann", "now"),
        criteria=(
            Criterion("`total([1, 2, 3])` gives 6", "checklist"),
            Criterion("the manual says so", "checklist"),
        ),
        base_branch="main",
        base_commit=commit,
        config=config_of(config),
        config_source=git_id("blob", config),
        limits=Limits(),
    )
    return Run(
        id=f"mutant-{name[:12]}",
        kind=Kind.FIX,
        change="c",
        event="e",
        installation=1,
        repository=Repository(7, "o", "n"),
        issue=3,
        requester=Person(1, "ann"),
        created=0,
        state=State.PREPARE,
        contract=contract,
    )


def _change(hold: FakeHold, path: str, what: File | None) -> Change:
    assert not isinstance(what, tuple)
    return Change(path, 0, "") if what is None else Change(path, FILE, hold.put(what))


def _plan(base: Mapping[str, bytes], changes: Files) -> Plan:
    def action(path: str) -> Action:
        if changes[path] is None:
            return Action.DELETE
        return Action.EDIT if path in base else Action.CREATE

    files = tuple(PlannedFile(path, action(path), "why", 40) for path in sorted(changes))
    return Plan("plan", files, (), (), (), 5)


def _lines(findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in findings:
        yield " ".join((f"[{finding.standing}]", finding.claim, *finding.exhibits))
        yield from _lines(finding.parts)
