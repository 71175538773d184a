"""The check of approval on a real ledger and a GitHub in memory: who looks, what is said."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from redis import Redis

from app.domain.approval import CHECK, Part
from app.domain.contributors import WEB_FLOW
from app.domain.errors import Refused, Unavailable
from app.domain.event import Event, EventKind, Person, Repository
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.ports.approval import ApprovalReader, Vote
from app.domain.ports.writer import GitHubWriter
from app.domain.record import Kept
from app.domain.repo_config import Approval, RepoConfig
from app.domain.revision import Revision, Scope
from app.domain.run import Publication, Run
from app.domain.state import Kind, State
from tests.fakes.github import FakeCheck, FakeGitHub, Files
from tests.fakes.hold import FakeHold
from tests.worker.desk.made import FILES, Office, contract, event, new_run, office, ready
from tests.worker.desk.test_events import Front
from worker.config_file import config_of
from worker.desk.approval import AGAIN_MS, ApprovalDesk
from worker.desk.events import handle_event
from worker.desk.gate_look import GateLook
from worker.desk.stages.publish import publish
from worker.desk.weighed import LISTED, Known, prompted, proof_of
from worker.store import codec
from worker.store.approvals import Approvals
from worker.store.ledger import Ledger

PEOPLE = {"alice": 1, "bob": 2, "carol": 4, "dave": 5}
NUMBERS = itertools.count(1)
PATH = "src/widgets.py"


@dataclass
class Town:
    """A published Change: issue 1, pull request 2, whose head has passed evidence."""

    front: Front
    made: Office
    rows: Approvals
    config: RepoConfig | None = None
    run: Run = field(init=False)
    approvals: ApprovalDesk = field(init=False)

    def __post_init__(self) -> None:
        self.approvals = self.looker("one")
        self.front.desk = replace(self.front.desk, approvals=self.approvals)
        self.front.send("k1")
        self.run = self.publish("run1")

    @property
    def hub(self) -> FakeGitHub:
        return self.front.hub

    def looker(self, owner: str) -> ApprovalDesk:
        return ApprovalDesk(
            ledger=self.front.ledger,
            rows=self.rows,
            weigh=self.front.hub.weigh,
            write=self.front.hub.write,
            gates=GateLook(self.front.hub.reports, self.front.hub.write, self.front.ledger),
            acts=self.front.hub.acts,
            config_of=config_of,
            owner=owner,
            owners=frozenset({"acme"}),
        )

    def publish(self, run_id: str, result: Result = Result.PASSED) -> Run:
        """Carry an admitted run through publishing, and look at its approval."""
        ledger, hold = self.front.ledger, FakeHold()
        lease = ledger.claim(run_id, "test", 60_000)
        assert lease is not None
        base = self.hub.branches["main"]
        run = ready(
            replace(lease.run, requester=Person(1, "alice")), base, FILES, hold, result, self.config
        )
        self.made.hold = hold
        done = replace(publish(self.made.kit())(run), explained=True)
        ledger.save(lease, done, release=True)
        self.approvals.look(self.approvals.published(done))
        return done

    def tell(self, told: str, **change: object) -> None:
        """An event comes, as the receiver would keep it."""
        sent: dict[str, object] = {
            "kind": EventKind.NUDGE, "told": told, "label": "", "text": "", "issue": 2,
            "branch": self.run.publication.branch, "pull": True,
        }  # fmt: skip
        key = f"nudge:{next(NUMBERS)}"
        self.front.send(key, **{**sent, **change})
        assert key not in self.front.ledger.unhandled_events(100)

    def review(self, who: str, state: str = "APPROVED", commit: str = "") -> None:
        listed = self.hub.votes.setdefault(2, [])
        at = f"2026-11-30T10:{10 + len(listed)}:00Z"
        by = Person(PEOPLE[who], who)
        head = commit or self.hub.pulls[2].head_sha
        listed.append(Vote(len(listed) + 1, by, state, head, at))
        self.tell("pull_request_review.submitted", sender=by)

    def push(self, who: str, message: str = "Mine", path: str = "more.py") -> str:
        """A person's commit on our branch."""
        branch, by = self.run.publication.branch, Person(PEOPLE[who], who)
        files = {**self.hub.trees[self.hub.commits[self.hub.branches[branch]].tree]}
        head = self.hub.commit_files(branch, {**files, path: (0o100644, b"x\n")}, message, by)
        self.hub.pulls[2] = replace(self.hub.pulls[2], head_sha=head)
        self.tell("pull_request.synchronize", sender=by)
        return str(head)

    def base_moves(self, path: str) -> None:
        old = self.hub.trees[self.hub.commits[self.hub.branches["main"]].tree]
        self.hub.commit_files("main", {**old, path: (0o100644, b"moved\n")})
        self.tell("push", branch="main", issue=0, pull=False)

    def checks(self, head: str = "") -> list[FakeCheck]:
        head = head or self.hub.pulls[2].head_sha
        return [one for one in self.hub.checks if (one.name, one.head) == (CHECK, head)]

    def says(self, head: str = "") -> tuple[str, str]:
        """(conclusion, title) of the one check run on a head."""
        (check,) = self.checks(head)
        return check.conclusion, check.title


@pytest.fixture
def town(redis: Redis) -> Town:
    made = office()
    made.hub.roles.update(dave="write")
    ledger = Ledger(redis)
    return Town(Front(ledger, made.hub), made, Approvals(ledger.calls))


WAITS = ("action_required", "Waits for an approval")
GREEN = ("success", "Approved by carol")


def test_a_new_pull_request_waits_and_names_who_could_approve(town: Town) -> None:
    assert town.says() == WAITS
    (check,) = town.checks()
    assert "not `alice` (asked for it)" in check.summary
    assert town.run.verdict is not None and town.run.verdict.tree in check.summary
    assert check.external_id == f"approval:{town.run.change}"
    assert town.rows.of(5) == [town.run.change]


def test_a_second_person_approves_and_every_turn_takes_it_back(town: Town) -> None:
    town.review("carol")
    assert town.says() == GREEN
    town.review("carol", "COMMENTED")
    assert town.says() == GREEN
    town.review("carol", "CHANGES_REQUESTED")
    assert town.says() == ("action_required", "Changes were asked for")
    town.review("carol")
    assert town.says() == GREEN
    listed = town.hub.votes[2]
    listed[-1] = replace(listed[-1], state="DISMISSED")
    town.tell("pull_request_review.dismissed")
    assert town.says() == WAITS


def test_who_asked_cannot_approve_unless_the_repository_says_so(town: Town) -> None:
    town.review("alice")
    assert town.says() == ("action_required", "Approved by somebody who took part")
    main = town.hub.trees[town.hub.commits[town.hub.branches["main"]].tree]
    solo = {**main, ".github/agent.yml": (0o100644, b"approval: solo\n")}
    town.hub.commit_files("main", solo)
    town.tell("push", branch="main", issue=0, pull=False)
    assert town.says() == ("success", "Approved by alice (solo)")
    assert "`approval: solo`" in town.checks()[0].summary
    town.hub.commit_files("main", {**main, ".github/agent.yml": (0o100644, b"approval: all\n")})
    town.tell("push", branch="main", issue=0, pull=False)
    assert town.says() == ("action_required", "Who may approve cannot be read")


def test_a_push_takes_it_back_on_both_heads(town: Town) -> None:
    first = town.hub.pulls[2].head_sha
    town.review("carol")
    assert town.says() == GREEN
    second = town.push("dave")
    assert town.says(second) == ("action_required", "This head was not checked")
    assert town.says(first) == ("action_required", "Another head came")
    assert [p.login for p in town.rows.pushers(town.run.change)] == ["dave"]


def evidence_for(town: Town, head: str) -> None:
    """New evidence about a head that a person pushed, as another run of the Change brings it."""
    ledger, change = town.front.ledger, town.run.change
    opened = replace(town.run, id="run9", kind=Kind.RECHECK, change=change)
    there = replace(town.run.publication, commit=head, check_run=77)
    done = replace(opened, state=State.COMPLETE, explained=True, publication=there)
    town.hub.checks.append(
        FakeCheck(
            77,
            "patchwarrant/evidence",
            head,
            "run9",
            "success",
            "t",
            "s",
            "",
            (),
            "2026-11-30T10:00:00Z",
        )
    )
    row: Any = {"v": 1, "data": codec.encode(done), "state": done.state}
    ledger.redis.hset("pw:run:run9", mapping=row)
    runs = ledger.redis.hget(f"pw:change:{change}", "runs")
    assert isinstance(runs, bytes)
    ledger.redis.hset(f"pw:change:{change}", "runs", runs + b",run9")
    town.approvals.look(town.approvals.published(done))


def test_a_checked_push_can_be_approved_by_anybody_but_its_author(town: Town) -> None:
    head = town.push("dave")
    evidence_for(town, head)
    assert town.says() == WAITS
    assert "`dave` (pushed to its branch)" in town.checks()[0].summary
    town.review("dave")
    assert town.says() == ("action_required", "Approved by somebody who took part")
    town.review("carol", commit=town.run.publication.commit)
    assert town.says()[0] == "action_required"
    town.review("carol")
    assert town.says() == GREEN


def test_a_commit_that_borrows_an_address_does_not_hide_who_pushed_it(town: Town) -> None:
    branch = town.run.publication.branch
    files = town.hub.trees[town.hub.commits[town.hub.branches[branch]].tree]
    head = town.hub.commit_files(
        branch, {**files, "x": (0o100644, b"x")}, "As carol", Person(4, "carol")
    )
    town.hub.pulls[2] = replace(town.hub.pulls[2], head_sha=head)
    town.tell("pull_request.synchronize", sender=Person(5, "dave"))
    evidence_for(town, head)
    town.review("dave")
    assert town.says() == ("action_required", "Approved by somebody who took part")


def test_a_commit_of_no_account_can_be_approved_only_once_its_pusher_is_known(town: Town) -> None:
    branch = town.run.publication.branch
    files = town.hub.trees[town.hub.commits[town.hub.branches[branch]].tree]
    head = town.hub.commit_files(branch, {**files, "x": (0o100644, b"x")}, "Agent-Run: run1")
    town.hub.pulls[2] = replace(town.hub.pulls[2], head_sha=head)
    evidence_for(town, head)
    town.review("carol")
    assert town.says() == ("action_required", "A commit has no known author")
    town.tell("pull_request.synchronize", sender=Person(5, "dave"))
    assert town.says() == GREEN


@pytest.mark.parametrize(
    ("path", "expected"),
    [("other.py", GREEN), (PATH, ("action_required", "The base moved on in its files"))],
)
def test_a_base_that_moves_counts_where_the_change_touches_it(
    town: Town, path: str, expected: tuple[str, str]
) -> None:
    town.review("carol")
    town.base_moves(path)
    assert town.says() == expected


def test_a_push_to_another_branch_is_not_looked_at(town: Town) -> None:
    before = list(town.hub.phases)
    town.tell("push", branch="topic", issue=0, pull=False)
    assert town.hub.phases == before


def test_a_base_that_was_rewritten_or_given_away_counts_too(town: Town) -> None:
    town.review("carol")
    old = town.hub.branches["main"]
    other = town.hub.commit_files("fresh", FILES)
    town.hub.branches["main"] = other
    town.tell("push", branch="main", issue=0, pull=False)
    assert town.says()[0] == "action_required"
    town.hub.branches["main"] = old
    town.tell("push", branch="main", issue=0, pull=False)
    assert town.says() == GREEN
    town.hub.pulls[2] = replace(town.hub.pulls[2], base_ref="fresh")
    town.tell("pull_request.edited")
    assert town.says() == ("action_required", "It goes into another branch than was checked")
    del town.hub.branches["fresh"]
    town.approvals.look([town.run.change])
    assert town.says() == ("action_required", "Who may approve cannot be read")


def test_a_lost_role_counts_at_the_next_event_and_at_the_keepers_pass(town: Town) -> None:
    town.review("carol")
    town.hub.roles["carol"] = "triage"
    town.tell("member.edited", issue=0, branch="", pull=False)
    assert town.says() == ("action_required", "Approved by somebody without the role")
    town.hub.roles["carol"] = "write"
    town.approvals.pass_over()
    assert town.says()[0] == "action_required"  # not due yet
    town.rows.set(town.run.change, town.front.ledger.now())
    town.approvals.pass_over()
    assert town.says() == GREEN
    score = town.front.ledger.redis.zscore("pw:approvals", town.run.change)
    assert isinstance(score, float)
    assert score > town.front.ledger.now() + AGAIN_MS - 60_000


def test_a_held_head_and_one_that_two_pull_requests_share_cannot_be_approved(town: Town) -> None:
    town.review("carol")
    view = town.hub.pulls[2]
    town.hub.pulls[9] = replace(view, number=9, head_ref="twin", base_ref="main")
    town.tell("pull_request.reopened")
    assert town.says() == ("action_required", "Another pull request has this head")
    del town.hub.pulls[9]
    commit = town.hub.commits[view.head_sha]
    town.hub.commits[view.head_sha] = replace(commit, message="x\n\nskip-checks: true\n")
    town.tell("pull_request.reopened")
    assert town.says() == ("action_required", "This head is held back from CI")


@pytest.mark.parametrize(("shows", "taken_back"), [("the same", True), ("another", False)])
def test_another_pull_request_on_the_approved_commit_takes_it_back_at_once(
    town: Town, shows: str, taken_back: bool
) -> None:
    town.review("carol")
    assert town.says() == GREEN
    view = town.hub.pulls[2]
    town.hub.pulls[9] = replace(view, number=9, head_ref="topic", base_ref="main")
    head = view.head_sha if shows == "the same" else "e" * 40
    town.tell("pull_request.opened", issue=9, branch="topic", head=head)
    shared = ("action_required", "Another pull request has this head")
    assert town.says() == (shared if taken_back else GREEN)


def test_nothing_is_written_again_while_it_says_the_same(town: Town) -> None:
    town.review("carol")
    before = town.hub.check_writes
    for told in ("pull_request_review.edited", "pull_request.ready_for_review", "member.added"):
        town.tell(told)
    assert town.hub.check_writes == before
    (check,) = town.checks()
    check.conclusion = "neutral"  # as nobody but our App could set it
    town.tell("check_run.rerequested", text=check.external_id, branch="", issue=0)
    assert town.says() == GREEN and town.hub.check_writes == before + 1


def test_closing_turns_it_back_and_ends_the_looks_and_merging_keeps_it(town: Town) -> None:
    town.review("carol")
    town.hub.pulls[2] = replace(town.hub.pulls[2], state="closed")
    town.tell("pull_request.closed")
    assert town.says() == ("action_required", "Not open") and town.rows.of(5) == []
    town.hub.pulls[2] = replace(town.hub.pulls[2], state="open")
    town.tell("pull_request.reopened")
    assert town.says() == GREEN and town.rows.of(5) == [town.run.change]
    town.hub.pulls[2] = replace(town.hub.pulls[2], state="closed", merged=True)
    town.tell("pull_request.closed")
    assert town.says() == GREEN and town.rows.of(5) == []


def test_github_away_leaves_the_look_due(town: Town) -> None:
    town.review("carol")
    town.hub.votes[2].clear()
    town.hub.down = True
    town.approvals.look([town.run.change])
    town.hub.down = False
    assert town.says() == GREEN
    now = town.front.ledger.now()
    assert town.rows.due(now, 10) == [] and town.rows.due(now + 30_000, 10) == [town.run.change]
    town.rows.set(town.run.change, now)
    town.approvals.pass_over()
    assert town.says() == WAITS


@pytest.mark.parametrize("amiss", ["archived", "owner", "gone", "other branch"])
def test_where_nothing_may_be_said_nothing_is(town: Town, amiss: str) -> None:
    town.review("carol")
    before = town.hub.check_writes
    town.hub.votes[2].clear()
    if amiss == "archived":
        town.hub.archived = True
    elif amiss == "owner":
        town.hub.repository = Repository(5, "evil", "widgets")
    elif amiss == "gone":
        del town.hub.pulls[2]
    else:
        town.hub.pulls[2] = replace(town.hub.pulls[2], head_ref="topic")
    town.approvals.look([town.run.change])
    assert town.hub.check_writes == before
    assert (town.rows.of(5) == []) == (amiss in ("gone", "other branch"))


def test_what_a_crash_left_unlooked_is_found(town: Town) -> None:
    town.rows.drop(5, town.run.change)
    town.hub.checks = [one for one in town.hub.checks if one.name != CHECK]
    town.approvals.enrol(10)
    town.approvals.pass_over()
    assert town.says() == WAITS
    gone = town.front.ledger.now()
    town.rows.mark(5, "nothing-like-it", gone)
    town.approvals.pass_over()
    assert town.rows.due(gone + AGAIN_MS * 2, 10) == [town.run.change]
    assert town.rows.of(5) == ["nothing-like-it", town.run.change]
    town.tell("member.edited", issue=0, branch="", pull=False)
    assert town.rows.of(5) == [town.run.change]


def test_two_workers_make_one_check_run(town: Town) -> None:
    """Twenty looks by two lookers at once, while a review comes: one check run, and the truth."""
    town.hub.checks = [one for one in town.hub.checks if one.name != CHECK]
    start, lookers = threading.Barrier(2), [town.looker("one"), town.looker("two")]

    def work(looker: ApprovalDesk) -> None:
        start.wait()
        for _ in range(10):
            town.rows.mark(5, town.run.change, town.front.ledger.now())
            looker.look([town.run.change])

    threads = [threading.Thread(target=work, args=(one,)) for one in lookers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    town.approvals.pass_over()
    assert town.says() == WAITS


def test_an_event_that_comes_during_a_look_is_not_lost(town: Town) -> None:
    """Another worker finds the Change taken; its mark makes the first one look once more."""
    other = town.looker("two")
    looks: list[int] = []

    @contextmanager
    def slow(run: Run) -> Iterator[ApprovalReader]:
        with town.hub.weigh(run) as reader:
            yield reader
        looks.append(1)
        if len(looks) == 1:
            town.hub.votes[2] = [
                Vote(1, Person(4, "carol"), "APPROVED", town.hub.pulls[2].head_sha,
                           "2026-11-30T11:00:00Z")
            ]  # fmt: skip
            town.rows.mark(5, town.run.change, town.front.ledger.now())
            other.look([town.run.change])

    replace(town.approvals, weigh=slow).look([town.run.change])
    assert len(looks) == 2 and town.says() == GREEN


@pytest.mark.parametrize("done", [False, True])
def test_a_look_whose_lock_was_lost_writes_nothing(town: Town, done: bool) -> None:
    """Also where the other that looked is `done` and gave the lock back."""

    @contextmanager
    def late(run: Run) -> Iterator[ApprovalReader]:
        with town.hub.weigh(run) as reader:
            yield reader
        town.rows.unlock(town.run.change, "one")
        assert town.rows.lock(town.run.change, "two", 60_000)
        if done:
            town.rows.unlock(town.run.change, "two")

    town.hub.votes[2] = [
        Vote(1, Person(4, "carol"), "APPROVED", town.hub.pulls[2].head_sha, "2026-12-01")
    ]
    replace(town.approvals, weigh=late).look([town.run.change])
    assert town.says() == WAITS
    town.rows.unlock(town.run.change, "two")


def test_a_lost_answer_leads_to_no_second_check_run(town: Town) -> None:
    @contextmanager
    def broken(run: Run, phase: Phase) -> Iterator[GitHubWriter]:
        with town.hub.write(run, phase) as writer:
            yield writer
        raise Unavailable("the answer was lost")

    town.hub.checks = [one for one in town.hub.checks if one.name != CHECK]
    replace(town.approvals, write=broken).look([town.run.change])
    assert town.rows.shown(town.run.change)["done"] is False or town.says() == WAITS
    town.approvals.look([town.run.change])
    assert town.says() == WAITS


def test_evidence_that_did_not_pass_cannot_be_approved(redis: Redis) -> None:
    made = office()
    ledger = Ledger(redis)
    town = Town.__new__(Town)
    town.front, town.made, town.rows = Front(ledger, made.hub), made, Approvals(ledger.calls)
    town.approvals = town.looker("one")
    town.front.desk = replace(town.front.desk, approvals=town.approvals)
    town.front.send("k1")
    town.run = town.publish("run1", Result.PARTIAL)
    town.review("carol")
    assert town.says() == ("action_required", "The evidence does not say passed")


def test_an_approving_review_with_a_command_counts_as_well(town: Town) -> None:
    town.hub.votes[2] = [
        Vote(1, Person(4, "carol"), "APPROVED", town.hub.pulls[2].head_sha,
                   "2026-11-30T11:00:00Z")
    ]  # fmt: skip
    sent: Event = replace(
        event(), key="review:5:1", kind=EventKind.REVIEW, text="/agent status", label="",
        pull=True, issue=2, sender=Person(4, "carol"),
    )  # fmt: skip
    town.front.ledger.add_event(sent)
    handle_event(sent.key, town.front.desk)
    assert town.says() == GREEN


def test_who_answered_the_agents_questions_is_barred_when_strict(town: Town) -> None:
    answer = replace(event(), key="comment:8", sender=Person(4, "carol"))
    town.front.ledger.add_event(answer)
    main = town.hub.trees[town.hub.commits[town.hub.branches["main"]].tree]
    town.hub.commit_files("main", {**main, ".github/agent.yml": (0o100644, b"approval: strict\n")})
    town.review("carol")
    assert town.says() == GREEN
    journal = town.front.ledger.journal
    said = [*journal("run1"), *FakeHold().entries()]
    hold = FakeHold()
    hold.note(Kept.NOTE, {"answer": "yes", "event": "comment:8"})
    rows = _Journal(town.front.ledger, [*said, *hold.entries()])
    replace(town.approvals, ledger=rows).look([town.run.change])
    assert town.says() == ("action_required", "Approved by somebody who took part")


class _Journal:
    """The ledger with another journal."""

    def __init__(self, ledger: Ledger, entries: list) -> None:  # type: ignore[type-arg]
        self.entries = entries
        self.event, self.run, self.runs = ledger.event, ledger.run, ledger.runs
        self.change, self.now = ledger.change, ledger.now

    def journal(self, _run: str) -> list:  # type: ignore[type-arg]
        return self.entries


def test_a_forks_push_under_the_same_name_bars_nobody(town: Town) -> None:
    town.tell("pull_request.synchronize", issue=9, sender=Person(4, "carol"))
    assert town.rows.pushers(town.run.change) == ()
    town.review("carol")
    assert town.says() == GREEN


def test_what_github_does_not_list_whole_counts_as_moved(town: Town) -> None:
    town.review("carol")
    many: Files = {f"f{number}.py": (0o100644, b"x") for number in range(301)}
    main = town.hub.trees[town.hub.commits[town.hub.branches["main"]].tree]
    town.hub.commit_files("main", {**main, **many})
    town.tell("push", branch="main", issue=0, pull=False)
    assert town.says() == ("action_required", "The base moved on in its files")
    assert "more files than GitHub lists" in town.checks()[0].summary


def test_a_branch_of_more_commits_than_github_lists_hides_nobody(town: Town) -> None:
    @contextmanager
    def long(run: Run) -> Iterator[ApprovalReader]:
        with town.hub.weigh(run) as reader:
            commits = reader.weighed_commits(2) * LISTED
            reader.weighed_commits = lambda _pull: commits  # type: ignore[method-assign]
            yield reader

    town.review("carol")
    replace(town.approvals, weigh=long).look([town.run.change])
    assert town.says() == ("action_required", "A commit has no known author")


def test_a_read_that_is_refused_is_a_no(town: Town) -> None:
    @contextmanager
    def refusing(run: Run, name: str) -> Iterator[ApprovalReader]:
        with town.hub.weigh(run) as reader:

            def no(*_: object) -> Any:
                raise Refused("Resource not accessible by integration", 403)

            setattr(reader, name, no)
            yield reader

    town.review("carol")
    for name, title in (
        ("role", "Approved by somebody without the role"),
        ("votes", "Who may approve cannot be read"),
        ("pulls_with", "Who may approve cannot be read"),
    ):
        weigh = partial(refusing, name=name)
        replace(town.approvals, weigh=weigh).look([town.run.change])
        assert town.says() == ("action_required", title)
    town.approvals.look([town.run.change])
    assert town.says() == GREEN


def test_evidence_is_the_newest_that_was_published(town: Town) -> None:
    run = town.run
    assert proof_of([]) is None
    nothing = (
        replace(run, kind=Kind.EXPLAIN),
        replace(run, verdict=None),
        replace(run, contract=None),
        replace(run, publication=Publication(branch="b", commit="c" * 40)),
        replace(run, publication=Publication()),
        replace(run, state=State.HALTED),
        replace(run, kind=Kind.VERIFY),
    )
    for one in nothing:
        assert proof_of([one]) is None
    unseen = nothing[3]
    for one in nothing:
        found = proof_of([run, one])
        assert (found is None) == (one is unseen)  # newer evidence that nobody was shown
        assert found is None or found.commit == run.publication.commit
    newer = replace(run, publication=replace(run.publication, commit="d" * 40))
    found = proof_of([run, newer, *(one for one in nothing if one is not unseen)])
    assert found is not None and found.commit == "d" * 40


def test_everybody_whose_review_comment_went_into_a_revision_steered_it() -> None:
    run, asked = new_run(), Person(1, "alice")
    revision = Revision(2, (), Scope(()), ("review:5:1", "gone"))
    held = replace(contract("b" * 40), revision=revision)
    runs = [
        replace(run, requester=asked),
        replace(run, kind=Kind.REVISE, requester=Person(4, "carol"), contract=held),
    ]
    said = {"review:5:1": replace(event(), sender=Person(5, "dave"))}
    known = Known(runs, said.get, lambda _run: ())
    strict = [(one.person.login, one.part) for one in prompted(known, Approval.STRICT)]
    assert strict == [
        ("alice", Part.ASKED),
        ("carol", Part.STEERED),
        ("dave", Part.STEERED),
    ]
    assert len(list(prompted(known, Approval.SOLO))) == 2


def test_githubs_own_account_pushed_nothing(town: Town) -> None:
    """A commit made on GitHub's pages has it as committer; the person is the author."""
    head = town.push("dave")
    town.hub.authors[head] = Person(WEB_FLOW, "web-flow")
    evidence_for(town, head)
    town.review("carol")
    assert town.says() == GREEN
    assert "web-flow" not in town.checks()[0].summary


def test_who_asked_and_who_steered() -> None:
    run = new_run()
    asked, steered = Person(1, "alice"), Person(4, "carol")
    runs = [
        replace(run, kind=Kind.EXPLAIN, requester=Person(9, "zed")),
        replace(run, requester=asked),
        replace(run, kind=Kind.VERIFY, requester=steered),
        replace(run, kind=Kind.RECHECK, requester=Person(6, "pat")),  # the push itself is below
        replace(run, requester=Person(5, "dave")),
    ]
    known = Known(runs, lambda _key: None, lambda _run: (), (Person(6, "pat"),))
    found = [(one.person.login, one.part) for one in prompted(known, Approval.STRICT)]
    assert found == [
        ("alice", Part.ASKED),
        ("carol", Part.STEERED),
        ("dave", Part.ASKED),
        ("pat", Part.PUSHED),
    ]


def test_a_base_that_was_set_back_is_unclear_even_where_it_shares_history(town: Town) -> None:
    town.review("carol")
    main = town.hub.branches["main"]
    town.hub.commit_files("aside", FILES)  # parted from before main's one commit
    town.hub.commits[main] = replace(town.hub.commits[main], parents=(town.hub.branches["aside"],))
    town.hub.branches["main"] = town.hub.branches["aside"]
    town.tell("push", branch="main", issue=0, pull=False)
    assert town.says() == ("action_required", "The base moved on in its files")
    assert "rewritten" in town.checks()[0].summary


def test_evidence_that_is_not_on_its_head_or_came_later_is_no_ground(town: Town) -> None:
    town.review("carol")
    (evidence,) = [one for one in town.hub.checks if one.name == "patchwarrant/evidence"]
    evidence.since = "2026-11-30T23:00:00Z"
    town.tell("pull_request.reopened")
    assert town.says() == ("action_required", "Approved before the evidence was there")
    evidence.external_id = "another"
    town.tell("pull_request.reopened")
    assert town.says() == ("action_required", "The evidence is not on this head")


def test_a_change_that_somebody_looks_at_is_left_to_them(town: Town) -> None:
    assert town.rows.lock(town.run.change, "two", 60_000)
    before = list(town.hub.phases)
    town.approvals.look([town.run.change])
    assert town.hub.phases == before
    town.rows.unlock(town.run.change, "one")  # not its own
    town.approvals.look([town.run.change])
    assert town.hub.phases == before
    town.rows.unlock(town.run.change, "two")
    town.approvals.look([town.run.change])
    assert len(town.hub.phases) > len(before)


def test_finding_a_change_again_does_not_hurry_its_next_look(town: Town) -> None:
    town.approvals.enrol(10)
    now = town.front.ledger.now()
    assert town.rows.due(now, 10) == [] and town.rows.due(now + AGAIN_MS, 10) == [town.run.change]
