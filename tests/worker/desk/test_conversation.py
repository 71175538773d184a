"""Who may say what, and what each word does: one table, on a real ledger and a GitHub in memory."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from redis import Redis

from app.domain import plan_approval
from app.domain.commands import TRIAGE, Word
from app.domain.errors import Halt, HaltRecord, Reason, Unavailable, Uncertain, Waiting
from app.domain.event import Event, EventKind, Person, Repository
from app.domain.evidence import Result, Verdict
from app.domain.intake import request_of
from app.domain.plan import Action, Plan, PlannedFile
from app.domain.ports.views import PullView
from app.domain.record import Kept
from app.domain.repo_config import Approval, Publish, RepoConfig, Roles
from app.domain.run import Publication, Run, Wait
from app.domain.state import Kind, State
from tests.worker.desk.made import contract, event, office
from tests.worker.desk.test_events import Front
from worker.desk.events import handle_event
from worker.desk.greeting import greet_waiting
from worker.desk.notices import UNMARKED
from worker.store.caps import Caps
from worker.store.ledger import Ledger

NUMBERS = itertools.count(500)
PEOPLE = {"alice": 1, "bob": 2, "carol": 4, "dave": 5, "zed": 9}
ROLES = {"alice": "write", "carol": "maintain", "bob": "triage", "dave": "read", "zed": "none"}
PLAN = Plan("Mend it.", (PlannedFile("a.py", Action.EDIT, "wrong", 2),), (), (), (), 2)


@pytest.fixture
def front(redis: Redis) -> Front:
    made = Front(Ledger(redis), office().hub)
    made.desk = replace(made.desk, caps=Caps(made.ledger.calls, {"issue": 5, "user": 100}))
    return made


def say(front: Front, text: str, who: str = "alice", number: int = 0, pull: bool = False) -> object:
    number = number or next(NUMBERS)
    return front.send(
        f"comment:{number}",
        kind=EventKind.COMMENT,
        text=f"/agent {text}",
        comment=number,
        label="",
        sender=Person(PEOPLE[who], who),
        pull=pull,
        issue=7 if pull else 1,
    )


def moved(front: Front, run_id: str, **change: object) -> Run:
    lease = front.ledger.claim(run_id, "test", 60_000)
    assert lease is not None
    run = replace(lease.run, **change)  # type: ignore[arg-type]
    due = run.wait.until if run.wait else None
    front.ledger.save(lease, run, release=True, due_ms=due)
    return run


def ended(front: Front, run_id: str) -> Run:
    halt = HaltRecord(Reason.NEEDS_INFO, "no", "yes")
    return moved(front, run_id, state=State.HALTED, explained=True, halt=halt)


@pytest.mark.parametrize("who", list(PEOPLE))
@pytest.mark.parametrize("word", [*Word, "dance"])
def test_who_may_say_what(front: Front, who: str, word: str) -> None:
    say(front, word, who)
    known = word in set(Word)
    needs_write = known and Word(word) not in TRIAGE
    writes, triages = ROLES[who] in ("write", "maintain"), ROLES[who] == "triage"
    allowed = writes or (triages and not needs_write)
    notes = front.notes()
    refused = any("was not done" in note for note in notes)
    assert refused == (not allowed)
    assert bool(front.hub.comment_reactions) == allowed
    runs = front.ledger.runs(10)
    starts = known and Word(word) in (Word.FIX, Word.PLAN, Word.EXPLAIN)
    assert len(runs) == (1 if allowed and starts else 0)
    assert front.ledger.unhandled_events(10) == []


def test_a_refusal_is_answered_once_for_each_person(front: Front) -> None:
    for _ in range(4):
        say(front, "fix", "zed")
    say(front, "cancel", "dave")
    assert len(front.notes()) == 2
    first = front.notes()[0]
    say(front, "update", "zed")
    assert front.notes()[0] == first and "/agent fix" in first  # not one more write


def test_an_unknown_word_is_answered_once_for_each_person(front: Front) -> None:
    for who in ("alice", "alice", "carol"):
        say(front, "fxi", who)
    say(front, "fxi", "zed")
    mentioned = [note.split("@")[1].split()[0] for note in front.notes()]
    assert mentioned == ["alice", "carol", "zed"]
    assert "it needs triage access" in front.notes()[2]


def test_a_login_that_belongs_to_somebody_else_by_now_may_nothing(front: Front) -> None:
    front.hub.accounts["alice"] = 77
    say(front, "fix")
    assert front.ledger.runs(10) == []


def test_a_bot_and_a_foreign_owner_get_no_words(front: Front) -> None:
    front.send("c1", kind=EventKind.COMMENT, text="/agent fix", sender=Person(1, "alice", "Bot"))
    front.desk = replace(front.desk, owners=frozenset())
    front.send("c2", kind=EventKind.COMMENT, text="/agent fix")
    assert front.notes() == [] and front.ledger.runs(10) == [] and front.hub.phases == []
    assert front.ledger.unhandled_events(10) == []


def test_github_away_leaves_the_command_open_and_it_is_done_once_later(front: Front) -> None:
    front.hub.down = True
    with pytest.raises(Unavailable):
        say(front, "fix", number=50)
    front.hub.down = False
    assert handle_event("comment:50", front.desk) == handle_event("comment:50", front.desk)
    assert len(front.ledger.runs(10)) == 1


def test_a_sign_that_github_does_not_take_holds_nothing_up(front: Front) -> None:
    front.hub.no_signs = Uncertain("GitHub answered 502")
    say(front, "help")
    assert len(front.hub.comments) == 1 and not front.hub.comment_reactions
    assert front.ledger.unhandled_events(9) == []


def waiting(who: str, text: str = "/agent status", **more: object) -> Event:
    number = next(NUMBERS)
    return replace(
        event(sender=Person(PEOPLE[who], who), key=f"comment:{number}"),
        kind=EventKind.COMMENT, text=text, comment=number, **more,
    )  # fmt: skip


def test_a_command_that_waits_for_its_turn_has_its_sign_at_once_and_once(front: Front) -> None:
    told = waiting("alice")
    front.ledger.add_event(told)
    greet_waiting(told, front.desk)
    assert front.hub.comment_reactions == {(told.comment, "eyes")} and not front.hub.comments
    front.hub.comment_reactions.clear()
    handle_event(told.key, front.desk)  # its turn has come: answered, and not reacted to again
    assert front.hub.comments and not front.hub.comment_reactions


@pytest.mark.parametrize(
    ("who", "text"),
    [("zed", "/agent status"), ("bob", "/agent fix"), ("alice", "Nice."), ("alice", "")],
)
def test_who_would_be_refused_has_no_sign_and_no_word_while_waiting(
    front: Front, who: str, text: str
) -> None:
    told = waiting(who, text)
    front.ledger.add_event(told)
    greet_waiting(told, front.desk)
    assert not front.hub.comment_reactions and not front.hub.comments
    assert front.ledger.unhandled_events(9) == [told.key]


def test_github_away_leaves_a_waiting_command_as_it_is(front: Front) -> None:
    told = waiting("alice")
    front.ledger.add_event(told)
    front.hub.down = True
    greet_waiting(told, front.desk)
    assert front.ledger.unhandled_events(9) == [told.key]


def test_kinds_and_words_of_the_runs_that_start(front: Front) -> None:
    found = {}
    for word in ("fix", "plan", "explain"):
        run_id = say(front, word)
        assert isinstance(run_id, str)
        found[word] = front.ledger.run(run_id)
        ended(front, run_id)
    assert {w: (r.kind, r.word) for w, r in found.items() if r} == {
        "fix": (Kind.FIX, "fix"),
        "plan": (Kind.FIX, "plan"),
        "explain": (Kind.EXPLAIN, "explain"),
    }


def test_a_second_start_is_told_of_the_first(front: Front) -> None:
    say(front, "fix")
    say(front, "fix again")
    (note,) = front.notes()
    assert "at work already" in note


def test_a_start_beside_a_waiting_plan_says_what_to_do(front: Front) -> None:
    waits_for_approval(front)
    say(front, "fix")
    (note,) = front.notes()
    assert "It is waiting (plan). Say `/agent approve`" in note and "`/agent cancel`" in note


def test_cancel_asks_the_run_to_end_and_says_where_there_is_none(front: Front) -> None:
    run_id = say(front, "fix")
    say(front, "cancel")
    row = front.ledger.row(str(run_id))
    assert row is not None and row.cancelled and front.notes() == []
    ended(front, str(run_id))
    say(front, "stop")
    assert "no run of mine is at work" in front.notes()[0]


def test_a_cancel_while_it_publishes_says_what_that_means(front: Front) -> None:
    run_id = str(say(front, "fix"))
    moved(front, run_id, state=State.PUBLISH)
    say(front, "cancel")
    (note,) = front.notes()
    assert "publishing already" in note and asked_to_end(front, run_id)


def test_cancel_wakes_a_run_that_waits(front: Front) -> None:
    run_id = str(say(front, "fix"))
    until = front.ledger.now() + 60_000
    moved(front, run_id, state=State.PLAN, wait=Wait(Waiting.ANSWER, until, "q"))
    assert say(front, "cancel") == run_id
    row = front.ledger.row(run_id)
    assert row is not None and row.due <= front.ledger.now()


@pytest.mark.parametrize(
    ("words", "edited", "answers"),
    [
        ("fix", False, False),
        ("fix  ", False, False),
        ("fix Four.", False, True),
        ("fix", True, True),
    ],
)
def test_only_what_says_something_is_an_answer(
    front: Front, words: str, edited: bool, answers: bool
) -> None:
    run_id = str(say(front, "fix"))
    run = front.ledger.run(run_id)
    event = front.ledger.event(run.event) if run else None
    assert event is not None
    held = replace(contract("b" * 40), request=request_of(event))
    until = front.ledger.now() + 60_000
    wait = Wait(Waiting.ANSWER, until, "q")
    moved(front, run_id, state=State.PLAN, contract=held, wait=wait)
    woken = front.send(
        "comment:70", kind=EventKind.COMMENT, text=f"/agent {words}", comment=70, label="",
        body="Now it says more." if edited else event.body,
    )  # fmt: skip
    assert (woken == run_id) == answers
    assert bool(front.notes()) != answers
    assert answers or "Answer its questions with `/agent fix` and the answer" in front.notes()[0]


def waits_for_approval(front: Front) -> tuple[str, str]:
    run_id = str(say(front, "plan"))
    lease = front.ledger.claim(run_id, "runner", 60_000)
    assert lease is not None
    held = contract("b" * 40)
    digest = plan_approval.plan_hash(PLAN, held)
    with front.ledger.hold(lease, daily=1) as hold:
        hold.note(Kept.NOTE, plan_approval.note_of(PLAN, digest))
    wait = Wait(Waiting.PLAN, lease.until + 60_000, "a plan")
    run = replace(lease.run, state=State.EDIT, plan=PLAN, contract=held, wait=wait)
    front.ledger.save(lease, run, due_ms=wait.until, release=True)
    return run_id, digest


@pytest.mark.parametrize(
    ("who", "given", "goes_on"),
    [
        ("alice", "{}", True),
        ("carol", "{}", True),
        ("alice", "`{}`", True),
        ("bob", "{}", False),
        ("zed", "{}", False),
        ("alice", "", False),
        ("alice", "0123456789abcdef", False),
        ("alice", "yes {}", False),
    ],
)
def test_only_an_allowed_person_approves_and_only_the_right_hash(
    front: Front, who: str, given: str, goes_on: bool
) -> None:
    run_id, digest = waits_for_approval(front)
    woken = say(front, f"approve {given.format(digest[:16])}", who)
    assert (woken == run_id) == goes_on
    approved = plan_approval.approved(front.ledger.journal(run_id))
    assert approved == (frozenset({digest}) if goes_on else frozenset())


def test_a_repository_can_ask_for_more_than_write(front: Front) -> None:
    run_id, digest = waits_for_approval(front)
    lease = front.ledger.claim(run_id, "test", 60_000)
    assert lease is not None and lease.run.contract is not None and lease.run.wait is not None
    config = replace(lease.run.contract.config, roles=Roles(change="maintain"))
    strict = replace(lease.run, contract=replace(lease.run.contract, config=config))
    front.ledger.save(lease, strict, release=True, due_ms=lease.run.wait.until)
    assert say(front, f"approve {digest}") is None
    assert say(front, "cancel") is None
    row = front.ledger.row(run_id)
    assert row is not None and not row.cancelled
    assert any("needs maintain access" in note for note in front.notes())
    assert say(front, f"approve {digest}", "carol") == run_id


def test_too_short_a_hash_is_none() -> None:
    assert not plan_approval.fits("a" * 11, "a" * 64)
    assert plan_approval.fits("A" * 12, "a" * 64) and plan_approval.fits("a" * 64, "a" * 64)
    assert not plan_approval.fits("a" * 65, "a" * 64)


def test_whatever_changes_is_another_plan() -> None:
    held = contract("b" * 40)
    first = plan_approval.plan_hash(PLAN, held)
    others = {
        plan_approval.plan_hash(replace(PLAN, summary="x"), held),
        plan_approval.plan_hash(PLAN, contract("c" * 40)),
        plan_approval.plan_hash(PLAN, replace(held, criteria=())),
        plan_approval.plan_hash(PLAN, replace(held, request=replace(held.request, body="x"))),
    }
    assert first not in others and len(others) == 4
    assert plan_approval.plan_hash(PLAN, held) == first


def test_retry_takes_the_signed_request_of_the_last_run(front: Front) -> None:
    say(front, "retry")
    assert "no run of mine here to do again" in front.notes()[0]
    front.send("label:1")
    last = ended(front, front.ledger.runs(1)[0].id)
    run_id = say(front, "retry")
    run = front.ledger.run(str(run_id))
    assert run is not None and run.id != last.id
    assert (run.event, run.word, run.change) == ("label:1", "retry", last.change)


def test_the_cap_of_an_issue_stops_before_a_run_is_opened(front: Front) -> None:
    for _ in range(5):
        ended(front, str(say(front, "fix")))
    for _ in range(3):
        assert say(front, "fix") is None
    assert len(front.ledger.runs(100)) == 5
    notes = [note for note in front.notes() if "within an hour" in note]
    assert len(notes) == 1 and "5 runs" in notes[0]
    assert front.ledger.unhandled_events(10) == []


def test_what_starts_no_run_is_not_counted(front: Front) -> None:
    run_id = str(say(front, "fix"))
    for _ in range(10):
        say(front, "fix")
    ended(front, run_id)
    assert isinstance(say(front, "fix"), str)


def pulled(front: Front, **change: object) -> Run:
    """A run whose pull request 7 is open; `change` is what a liar's pull request has instead."""
    run_id = str(say(front, "fix"))
    run = front.ledger.run(run_id)
    assert run is not None
    branch = f"agent/issue-1-{run.change}"
    view = PullView(
        number=7, url="u", state="open", draft=True, title="t", body="b", head_ref=branch,
        head_sha="c" * 40, head_repository=5, base_ref="main", author=Person(900, "bot", "Bot"),
    )  # fmt: skip
    front.hub.pulls[7] = replace(view, **change)  # type: ignore[arg-type]
    return moved(
        front, run_id, state=State.COMPLETE, explained=True,
        publication=Publication(branch, "c" * 40, 7, "u"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "ours"),
    [
        ({}, True),
        ({"head_repository": 6}, False),  # a fork with a branch of that name
        ({"head_repository": 0}, False),
        ({"head_ref": "main"}, False),
        ({"head_ref": "agent/issue-2-run1"}, False),
        ({"head_ref": "agent/issue-1-other"}, False),
    ],
)
def test_a_pull_request_is_ours_only_by_ledger_branch_and_repository(
    front: Front, change: dict[str, object], ours: bool
) -> None:
    run = pulled(front, **change)
    say(front, "status", pull=True)
    (note,) = front.notes()
    assert (f"`{run.id}`" in note) == ours


def nudge(front: Front, told: str, **change: object) -> None:
    key = f"nudge:{next(NUMBERS)}"
    front.send(key, **{"kind": EventKind.NUDGE, "label": "", "told": told, **change})
    assert key not in front.ledger.unhandled_events(100)


def working(front: Front, labels: tuple[str, ...] = ("agent:running",)) -> str:
    run_id = str(say(front, "fix"))
    moved(front, run_id, state=State.LOCATE)
    front.hub.issues[1] = replace(front.hub.issues[1], labels=labels)
    return run_id


def asked_to_end(front: Front, run_id: str) -> bool:
    row = front.ledger.row(run_id)
    assert row is not None
    return row.cancelled


def why_ended(front: Front, run_id: str) -> HaltRecord:
    """What the worker that has the run is told at its next look."""
    lease = front.ledger.claim(run_id, "test", 60_000)
    assert lease is not None
    with front.ledger.hold(lease, daily=1) as hold, pytest.raises(Halt) as halt:
        hold.look()
    return halt.value.record


def test_a_nudge_alone_ends_nothing_what_is_true_now_does(front: Front) -> None:
    run_id = working(front)
    for told in ("issues.closed", "issues.deleted", "issues.transferred", "repository.archived"):
        nudge(front, told)
    nudge(front, "issues.unlabeled", label="agent:running")
    nudge(front, "installation.suspend", repository=Repository(0, "", ""), issue=0)
    assert not asked_to_end(front, run_id)
    front.hub.issues[1] = replace(front.hub.issues[1], state="closed")
    nudge(front, "issues.closed", sender=Person(4, "carol"))
    assert asked_to_end(front, run_id)
    assert why_ended(front, run_id).message == "The issue was closed by carol."


def test_an_issue_that_is_gone_ends_its_run_and_no_other(front: Front) -> None:
    run_id = working(front)
    del front.hub.issues[1]
    nudge(front, "issues.deleted", issue=2)
    nudge(front, "issues.deleted", repository=Repository(6, "acme", "other"))
    nudge(front, "issues.deleted", installation=9)
    assert not asked_to_end(front, run_id)
    nudge(front, "issues.deleted")
    assert asked_to_end(front, run_id)


def test_an_archived_repository_ends_its_runs(front: Front) -> None:
    run_id = working(front)
    front.hub.archived = True
    nudge(front, "repository.archived", issue=0)
    assert asked_to_end(front, run_id)


def test_taking_off_agent_running_ends_a_run(front: Front) -> None:
    run_id = working(front, labels=("bug",))
    nudge(front, "issues.unlabeled", label="agent:fix")  # our own: the label was replaced
    assert not asked_to_end(front, run_id)
    nudge(front, "issues.unlabeled", label="Agent:Running")
    assert asked_to_end(front, run_id)


def test_the_desk_taking_off_agent_running_itself_ends_no_run(front: Front) -> None:
    """A desk that dies after it, or waits for GitHub, is told of it while the run is in publish."""
    run_id = working(front)
    lease = front.ledger.claim(run_id, "desk-1", 60_000)
    assert lease is not None
    with front.ledger.hold(lease, daily=1) as hold:
        hold.intend(UNMARKED, {"label": "agent:done"})
    front.hub.issues[1] = replace(front.hub.issues[1], labels=("agent:done",))
    nudge(front, "issues.unlabeled", label="agent:running")
    assert not asked_to_end(front, run_id)
    front.hub.issues[1] = replace(front.hub.issues[1], state="closed")
    nudge(front, "issues.closed")
    assert asked_to_end(front, run_id)


def test_nothing_is_begun_from_a_closed_pull_request(front: Front) -> None:
    pulled(front)
    front.hub.pulls[7] = replace(front.hub.pulls[7], state="closed")
    nudge(front, "pull_request.closed", branch=front.hub.pulls[7].head_ref, issue=7)
    for word in ("retry", "update"):
        assert say(front, word, pull=True) is None
    assert len(front.ledger.runs(10)) == 1
    assert all("was closed, so" in note for note in front.notes()) and len(front.notes()) == 2


def test_a_closed_pull_request_closes_its_change(front: Front) -> None:
    run = pulled(front)
    nudge(front, "pull_request.closed", branch=front.hub.pulls[7].head_ref, issue=7)
    assert front.ledger.open_change(5, 1) is not None
    front.hub.pulls[7] = replace(front.hub.pulls[7], state="closed")
    nudge(front, "pull_request.closed", branch=front.hub.pulls[7].head_ref, issue=7)
    assert front.ledger.open_change(5, 1) is None and front.notes() == []
    new = say(front, "fix")
    assert isinstance(new, str) and front.ledger.run(new) is not None and new != run.change


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Merge\n\n[skip ci]", True),
        ("Merge [CI SKIP]", True),
        ("Merge\n\nskip-checks: true\n", True),
        ("Merge, do not skip ci", False),
        ("Merge", False),
    ],
)
def test_a_merge_that_tells_ci_to_stay_away_is_said(front: Front, message: str, said: bool) -> None:
    pulled(front)
    commit = front.hub.commit_files("main", {"a": (0o100644, b"x")}, message)
    front.hub.pulls[7] = replace(
        front.hub.pulls[7], state="closed", merged=True, merge_commit=commit
    )
    nudge(
        front,
        "pull_request.closed",
        branch=front.hub.pulls[7].head_ref,
        issue=7,
        sender=Person(900, "merge-bot", "Bot"),
    )
    assert any("skip the merged commit" in note for note in front.notes()) == said


def test_an_edit_is_remembered_for_the_request(front: Front) -> None:
    nudge(front, "issues.edited", updated_at="2026-11-30T10:00:00Z")
    assert front.ledger.last_edit(5, 1) == ("2026-11-30T10:00:00Z", "alice")
    assert front.ledger.last_edit(5, 2) == ("", "")


def waits_for_publishing(front: Front, config: RepoConfig) -> tuple[str, str]:
    run_id, tree = str(say(front, "fix")), "a1" * 20
    held = contract("b" * 40, config)
    until = front.ledger.now() + 60_000
    moved(
        front, run_id, state=State.PUBLISH, contract=held,
        verdict=Verdict(tree, "b" * 40, Result.PASSED, "", ()),
        wait=Wait(Waiting.PUBLISH, until, "say it"),
    )  # fmt: skip
    return run_id, tree


@pytest.mark.parametrize(
    ("who", "mode", "given", "goes_on", "said"),
    [
        ("carol", Approval.NOT_REQUESTER, "a1" * 20, True, ""),
        ("carol", Approval.STRICT, "`A1A1A1A1A1A1`", True, ""),
        ("alice", Approval.NOT_REQUESTER, "a1" * 20, False, "cannot let it be published"),
        ("alice", Approval.STRICT, "a1" * 20, False, "cannot let it be published"),
        ("alice", Approval.SOLO, "a1" * 20, True, ""),
        ("carol", Approval.SOLO, "b1" * 20, False, "not the tree that waits"),
        ("carol", Approval.SOLO, "a1a1", False, "not the tree that waits"),
        ("carol", Approval.SOLO, "", False, "not the tree that waits"),
        ("bob", Approval.SOLO, "a1" * 20, False, "needs write access"),
    ],
)
def test_who_lets_which_tree_be_published(
    front: Front, who: str, mode: Approval, given: str, goes_on: bool, said: str
) -> None:
    run_id, tree = waits_for_publishing(front, RepoConfig(approval=mode))
    woken = say(front, f"publish {given}", who)
    assert woken == (run_id if goes_on else None)
    notes = [e.data for e in front.ledger.journal(run_id) if "publish" in e.data]
    assert [one["publish"] for one in notes] == ([tree] if goes_on else [])
    assert any(said in note for note in front.notes()) if said else front.notes() == []


def test_a_second_word_is_answered_once_with_what_is_there(front: Front) -> None:
    run_id, tree = waits_for_publishing(front, RepoConfig(publish=Publish.AFTER_APPROVAL))
    number = next(NUMBERS)
    assert say(front, f"publish {tree}", "carol", number) == run_id
    handle_event(f"comment:{number}", front.desk)  # this very comment once more
    assert front.notes() == []
    assert say(front, f"publish {tree}", "carol") is None, "not taken up yet"
    moved(front, run_id, wait=None)
    assert say(front, f"publish {tree}", "carol") is None
    (note,) = front.notes()
    assert "@carol that was said already, by `carol (4)`" in note and "just now" in note
    moved(front, run_id, state=State.COMPLETE, publication=Publication("b", "c" * 40, 9))
    for _ in range(2):
        assert say(front, f"publish {tree}", "carol") is None
    assert len(front.notes()) == 2 and "#9 is the pull request" in front.notes()[1]
    say(front, f"publish {tree}", "alice")
    assert len(front.notes()) == 3 and "@alice" in front.notes()[2]
    words = [e for e in front.ledger.journal(run_id) if "publish" in e.data]
    assert len(words) == 1


def test_a_second_word_after_a_run_that_failed_says_how_it_ended(front: Front) -> None:
    run_id, tree = waits_for_publishing(front, RepoConfig(publish=Publish.AFTER_APPROVAL))
    say(front, f"publish {tree}", "carol")
    halt = HaltRecord(Reason.BASE_LOST, "gone", "")
    moved(front, run_id, state=State.HALTED, explained=True, halt=halt, wait=None)
    say(front, f"publish {tree}", "carol")
    assert "ended with `base-lost`" in front.notes()[0]


def test_the_repositorys_own_roles_hold_for_publishing(front: Front) -> None:
    run_id, tree = waits_for_publishing(front, RepoConfig(roles=Roles(change="admin")))
    assert say(front, f"publish {tree}", "carol") is None
    assert "admin access" in front.notes()[0]
    assert not [e for e in front.ledger.journal(run_id) if "publish" in e.data]


def test_publish_where_nothing_waits_says_so(front: Front) -> None:
    say(front, "publish abcdef012345")
    assert "nothing waits" in front.notes()[0]
    run_id = say(front, "fix")
    say(front, "publish abcdef012345", "carol")
    assert len(front.notes()) == 2 and "nothing waits" in front.notes()[1]
    assert not [e for e in front.ledger.journal(str(run_id)) if "publish" in e.data]
