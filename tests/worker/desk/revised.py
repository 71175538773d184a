"""A pull request of ours that was published, and a revision of it, over the fakes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.domain.edit import Candidate, Change
from app.domain.event import Event, EventKind, Person
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.permissions import Phase
from app.domain.ports.views import InlineView, ReviewView
from app.domain.repo_config import RepoConfig
from app.domain.revision import Revision, Scope, Thread
from app.domain.run import Attempt, Publication, Run, Snapshot
from app.domain.state import Kind, State
from tests.fakes.github import BOT, Files, tree_id
from tests.worker.desk.made import AFTER, FILES, Office, contract, event, new_run, office, result
from worker.desk.kit import DeskKit

BRANCH = "agent/issue-1-abc"
PULL = 2
PATH = "src/widgets.py"
HEAD_FILES: Files = {**FILES, PATH: (0o100644, AFTER)}
NEWER = b'def add(a, b):\n    """The sum."""\n    return a + b\n'
RITA = Person(6, "rita")


def asked(text: str, number: int = 50, **more: object) -> Event:
    """A comment in the conversation of the pull request; by alice."""
    made = replace(
        event(issue=PULL, key=f"comment:{number}"), kind=EventKind.COMMENT, label="", pull=True,
        text=text, comment=number,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def on_line(number: int, body: str, review: int = 30, line: int = 2, by: int = 1) -> InlineView:
    author = Person(by, "alice" if by == 1 else "rita")
    return InlineView(number, review, number, body, author, PATH, line, line)


@dataclass
class Revising:
    """The desk, the published first run, and what the ledger says besides."""

    desk: Office = field(default_factory=office)
    waiting: list[str] = field(default_factory=list)
    took: list[str] = field(default_factory=list)
    others: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        hub = self.desk.hub
        hub.roles["rita"] = "write"
        self.base = hub.branches["main"]
        hub.branches[BRANCH] = self.base
        self.head = hub.commit_files(BRANCH, HEAD_FILES, "Fix")
        hub.authors[self.head] = BOT
        with hub.write(self.run, Phase.PULL) as writer:
            writer.open_pull("Agent fix for #1: add is wrong", "Ours.", BRANCH, "main")
        tree = tree_id(HEAD_FILES)
        self.first = replace(
            new_run(),
            state=State.COMPLETE,
            explained=True,
            contract=contract(self.base, RepoConfig()),
            candidate=Candidate(tree, ()),
            attempts=(Attempt(tree, (result(tree),), "s"),),
            verdict=Verdict(tree, self.base, Result.PASSED, "", ()),
            publication=Publication(BRANCH, self.head, PULL, "u"),
        )
        self.say(asked("/agent revise Give add a docstring."))

    @property
    def run(self) -> Run:
        """The revision as the conversation opens it."""
        made = new_run(run_id="rev")
        return replace(
            made, kind=Kind.REVISE, change="abc", event="comment:50", word="revise",
            publication=Publication(branch=BRANCH, pull=PULL),
        )  # fmt: skip

    def say(self, told: Event) -> Event:
        self.desk.events[told.key] = told
        return told

    def review(self, number: int, body: str, *inline: InlineView, by: int = 1) -> None:
        author = Person(by, "alice" if by == 1 else "rita")
        self.desk.hub.reviews.append(ReviewView(number, body, author, "CHANGES_REQUESTED"))
        self.desk.hub.inline += inline

    def kit(self) -> DeskKit:
        def heard(key: str) -> int:
            number = key.rpartition(":")[2]
            return int(number) if number.isdecimal() else 0

        return replace(
            self.desk.kit(),
            history=lambda _run: (self.first, *self.others),
            waiting=lambda _change: list(self.waiting),
            taken=lambda _change, keys: self.took.extend(keys),
            heard=heard,
        )

    def tested(self, verdict: Result = Result.PASSED) -> Run:
        """The revision as the gate leaves it: a docstring over the live head, its bytes kept."""
        files: Files = {**self.desk.hub.trees[tree_id(HEAD_FILES)], PATH: (0o100644, NEWER)}
        tree, start = tree_id(files), tree_id(HEAD_FILES)
        change = Change(PATH, 0o100644, self.desk.hold.put(NEWER))
        asked_for = Thread("t1", "Give add a docstring.", "alice", "comment:50", wide=True)
        revision = Revision(PULL, (asked_for,), Scope((PATH,)), ("comment:50",), "abc")
        held = replace(contract(self.base), head=self.head, revision=revision)
        passed = verdict is Result.PASSED
        claim = Finding("Every required check passed", Holds.HOLDS if passed else Holds.FAILS)
        return replace(
            self.run,
            state=State.PUBLISH,
            contract=held,
            snapshot=Snapshot(tree_id(FILES), "i", "p", (), head_tree=start, head=self.head),
            candidate=Candidate(tree, (change,)),
            attempts=(Attempt(tree, (result(tree),), "s"),),
            verdict=Verdict(tree, self.base, verdict, "" if passed else "The wall.", (claim,)),
        )
