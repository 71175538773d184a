"""A Change whose draft is there, on a real ledger and a GitHub in memory, and what follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from app.domain.check import Standing
from app.domain.contract import Contract
from app.domain.edit import Candidate, Change
from app.domain.event import EventKind, Person
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.ports.views import PullView
from app.domain.run import Attempt, Publication, Run
from app.domain.state import ENDS, Kind, Role, State
from tests.fakes.github import BOT, FakeGitHub, Files, tree_id
from tests.worker.desk.made import AFTER, FILES, Office, contract, office, result
from tests.worker.desk.test_events import Front
from worker.carry import Carrier, Crew
from worker.desk.kit import DeskKit
from worker.desk.remains import of_update
from worker.desk.stages.certify_again import certify_again
from worker.desk.stages.explain import explain
from worker.desk.stages.follow import follow
from worker.desk.stages.unhold import unhold
from worker.store.hold import LedgerHold
from worker.store.ledger import Ledger

FIXED: Files = {**FILES, "src/widgets.py": (0o100644, AFTER)}
ALICE = Person(1, "alice")


@dataclass
class Street:
    """`branch` is the Change's, `pull` the number of its pull request, `first` the run of it."""

    ledger: Ledger
    front: Front
    town: Office
    first: str = ""
    branch: str = ""
    pull: int = 7
    wrap: Callable[[DeskKit], DeskKit] = field(default=lambda kit: kit)

    @property
    def hub(self) -> FakeGitHub:
        return self.town.hub

    def push(self, files: Files, who: Person = ALICE, message: str = "Mend it more") -> str:
        """A person's commit on the Change's branch, and the pull request sees it."""
        sha = self.hub.commit_files(self.branch, files, message)
        self.hub.authors[sha] = who
        self.hub.follow(self.branch)
        return str(sha)

    def told(self, key: str, told: str = "pull_request.synchronize", **more: object) -> str | None:
        """GitHub tells that something happened to the pull request."""
        about: dict[str, object] = {
            "kind": EventKind.NUDGE, "issue": self.pull, "told": told, "branch": self.branch,
            "pull": True, "label": "", "title": "", "body": "",
        }  # fmt: skip
        return self.front.send(f"nudge:{key}", **{**about, **more})

    def say(self, text: str, number: int, who: Person = ALICE, on_pull: bool = True) -> str | None:
        """A comment on the pull request or its issue."""
        return self.front.send(
            f"comment:{number}", kind=EventKind.COMMENT, text=text, comment=number, label="",
            sender=who, pull=on_pull, issue=self.pull if on_pull else 1,
        )  # fmt: skip

    def crew(self, run: Run, hold: LedgerHold) -> Crew:
        made = replace(
            self.town.kit(),
            hold=hold,
            event=self.ledger.event,
            history=self.ledger.history,
            tell_oneself=self.ledger.add_event,
            journal=self.ledger.journal,
            journal_fault=self.ledger.journal_fault,
        )
        kit = self.wrap(made)
        admits = unhold(kit) if run.kind is Kind.UNHOLD else follow(kit)
        stages = {State.ADMIT: admits, State.PUBLISH: certify_again(kit)}
        return Crew(stages=stages, explain=explain(kit), salvage=of_update(kit))

    def carry(self, run_id: str) -> Run:
        Carrier(
            role=Role.DESK, ledger=self.ledger, crew=self.crew, wake=lambda _run, _role: None,
            clock=lambda: 0.0, owner="desk", lease_ms=10_000, daily=1_000_000,
        ).carry(run_id)  # fmt: skip
        run = self.ledger.run(run_id)
        assert run is not None
        return run

    def judged(self, run_id: str, files: Files, standing: Standing = Standing.PASSED) -> Run:
        """What the runner does with an admitted run, without one: `files` is the checked tree."""
        lease = self.ledger.claim(run_id, "runner", 60_000)
        assert lease is not None and lease.run.contract is not None
        made: Contract = lease.run.contract
        base = self.hub.trees[self.hub.commits[made.base_commit].tree]
        with self.ledger.hold(lease, daily=1_000_000) as hold:
            changes = tuple(
                Change(path, mode, hold.put(data))
                for path, (mode, data) in sorted(files.items())
                if base.get(path) != (mode, data)
            )
            tree = tree_id(files)
            passed = standing is Standing.PASSED
            verdict = Verdict(
                tree,
                made.base_commit,
                Result.PASSED if passed else Result.FAILED,
                "" if passed else "The required check `tests` failed.",
                (Finding("Every required check passed", Holds.HOLDS if passed else Holds.FAILS),),
            )
            run = replace(
                lease.run,
                state=State.PUBLISH,
                candidate=Candidate(tree, changes),
                attempts=(Attempt(tree, (result(tree, standing),), "s"),),
                verdict=verdict,
            )
            self.ledger.save(lease, run, release=True)
        return run

    def evidence(self, commit: str) -> list[str]:
        return [one.conclusion for one in self.hub.checks if one.head == commit]

    def body(self) -> str:
        return str(self.hub.pulls[self.pull].body)

    def comments(self, number: int) -> list[str]:
        return [one.body for one in self.hub.comments if one.issue == number]

    def runs(self) -> list[Run]:
        return list(reversed(self.ledger.runs(20)))


def street(ledger: Ledger) -> Street:
    """Issue 1 became pull request 7 with evidence for its head; nothing is at work."""
    town = office()
    made = Street(ledger, Front(ledger, town.hub), town)
    run_id = made.front.send("issue:5:1:9:now")
    assert run_id is not None
    run = ledger.run(run_id)
    assert run is not None
    hub = town.hub
    base = hub.branches["main"]
    made.first, made.branch = run_id, f"agent/issue-1-{run_id}"
    hub.branches[made.branch] = base
    head = hub.commit_files(made.branch, FIXED, "The fix")
    hub.pulls[7] = PullView(
        number=7, url="https://github.test/acme/widgets/pull/7", state="open", draft=True,
        title="Agent fix for #1: add is wrong", body="Ours", head_ref=made.branch, head_sha=head,
        head_repository=5, base_ref="main", author=BOT,
    )  # fmt: skip
    lease = ledger.claim(run_id, "desk", 60_000)
    assert lease is not None
    tree = tree_id(FIXED)
    with ledger.hold(lease, daily=1) as hold:
        blob = hold.put(AFTER)
    done = replace(
        lease.run,
        state=State.COMPLETE,
        contract=contract(base),
        candidate=Candidate(tree, (Change("src/widgets.py", 0o100644, blob),)),
        attempts=(Attempt(tree, (result(tree),), "s"),),
        verdict=Verdict(tree, base, Result.PASSED, "", ()),
        publication=Publication(made.branch, head, 7, hub.pulls[7].url),
        explained=True,
    )
    ledger.save(lease, done, release=True)
    hub.phases.clear()
    assert done.state in ENDS
    return made
