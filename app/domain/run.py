"""A run: one attempt at one goal, as a frozen value that only gains fields."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.domain.branch import branch_name
from app.domain.budget import NOTHING, Limits, Spend
from app.domain.check import Check, CheckResult
from app.domain.ci import Ci
from app.domain.contract import Contract
from app.domain.contributors import PullCommit
from app.domain.edit import Candidate
from app.domain.errors import HaltRecord, Waiting
from app.domain.event import Person, Repository
from app.domain.evidence import Verdict
from app.domain.hints import Hint
from app.domain.plan import Plan, most_files
from app.domain.revision import Outcome
from app.domain.state import Kind, Signal, State, move
from app.domain.untested import Untested


@dataclass(frozen=True)
class Snapshot:
    """What the run stands on: base tree, image by id, profile, the checks with what was assumed,
    and the files of the base that tell the model how this repository works."""

    base_tree: str
    image: str
    profile: str  # digest of the sandbox profile
    checks: tuple[Check, ...]
    assumed: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    head_tree: str = ""  # of a revision: the tree of `head`, where its edits begin; "" else
    head: str = ""
    untested: tuple[Untested, ...] = ()  # folders with tests that no recognised check runs

    @property
    def start(self) -> str:
        """The tree that the run's own edits begin from."""
        return self.head_tree or self.base_tree


@dataclass(frozen=True)
class Grounding:
    """What locating found, in the model's words, and the paths that it read."""

    summary: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Attempt:
    """One candidate that went through the required checks; history, certifying nothing later."""

    tree: str
    results: tuple[CheckResult, ...]
    signature: str  # fingerprint of diff and failures


@dataclass(frozen=True)
class Publication:
    """What exists on GitHub, each part filled when it was read back."""

    branch: str = ""
    commit: str = ""
    pull: int = 0
    pull_url: str = ""
    check_run: int = 0
    draft: bool = True  # false where the repository offers no drafts
    overtaken: str = ""  # the present head, where somebody's pull request moved on meanwhile


@dataclass(frozen=True)
class Wait:
    """Why a run is parked; `until`, and `since` of the first wait in this state, in Redis
    milliseconds."""

    waiting: Waiting
    until: int
    note: str
    times: int = 1
    since: int = 0


@dataclass(frozen=True)
class Run:
    """The unit of state, budget, journal and cost. Times are Redis milliseconds."""

    id: str
    kind: Kind
    change: str
    event: str
    installation: int
    repository: Repository
    issue: int
    requester: Person
    created: int
    state: State = State.ADMIT
    contract: Contract | None = None
    snapshot: Snapshot | None = None
    baseline: tuple[CheckResult, ...] = ()
    grounding: Grounding | None = None
    plan: Plan | None = None
    candidate: Candidate | None = None
    attempts: tuple[Attempt, ...] = ()
    spend: Spend = NOTHING
    verdict: Verdict | None = None
    publication: Publication = Publication()
    status_comment: int = 0  # id of the sticky comment on the issue
    halt: HaltRecord | None = None
    wait: Wait | None = None
    explained: bool = False
    model: str = ""
    prompts: str = ""  # version of the prompts
    heads: tuple[str, ...] = ()  # of a revision: heads that people pushed while it ran, in order
    outcomes: tuple[Outcome, ...] = ()  # of a revision: what the model says of each thread
    people: tuple[PullCommit, ...] = ()  # commits by people on the pull request of a revision
    restored: tuple[CheckResult, ...] = ()  # with base's tests put back, at the gate; () if not run
    ci: Ci | None = None  # what was decided about the repository's own workflows, at the gate
    untold: str = ""  # why nobody was told of its end, "" where people were, or will be
    word: str = ""  # the command that started it (`commands.Word`), "" for the label

    def moved(self, signal: Signal) -> Run:
        """This run in its next state; `IllegalMove` if the table has none."""
        return replace(self, state=move(self.kind, self.state, signal), wait=None)

    @property
    def onto(self) -> str:
        """The commit that a follow-up commit stands on: the newest head of the pull request, ""
        without one."""
        if self.heads:
            return self.heads[-1]
        return self.contract.head if self.contract else ""

    @property
    def limits(self) -> Limits | None:
        """What it may use, None before it has a contract. A plan of more files than a task of
        ordinary size may change makes it one of class large, for good."""
        return self.contract.held_to(most_files(self.plan)) if self.contract else None

    @property
    def large(self) -> bool:
        """Of class large (B4): its plan is approved by a person, its queue and budget are apart."""
        contract = self.contract
        return contract is not None and (contract.large or self.limits is contract.larger)

    @property
    def branch(self) -> str:
        """The only branch that its Change may have, "" before it has a Change. The contract
        settles its whole name; before that nothing is written to it."""
        if not self.change:
            return ""
        return branch_name(self.issue, self.change, self.contract.tail if self.contract else "")

    @property
    def place(self) -> int:
        """Where it is talked about: a revision on its pull request, all else where it began."""
        return self.publication.pull if self.kind is Kind.REVISE else self.issue

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The required checks on the current candidate, () unless they ran on that very tree."""
        if self.candidate and self.attempts and self.attempts[-1].tree == self.candidate.tree:
            return self.attempts[-1].results
        return ()
