"""An event becomes one run, or one short note, on the real ledger."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import pytest
from redis import Redis

from app.domain.errors import Unavailable, Waiting
from app.domain.event import Event, Person
from app.domain.ports.views import PullView
from app.domain.run import Publication, Wait
from app.domain.state import State
from app.domain.triggers import OPENED
from tests.fakes.github import BOT, FakeComment, FakeGitHub
from tests.worker.desk.made import event, office
from worker.desk.events import EventDesk, handle_event
from worker.store.ledger import Ledger


@dataclass
class Front:
    """A ledger, a GitHub in memory, and an event desk over both."""

    ledger: Ledger
    hub: FakeGitHub
    desk: EventDesk = field(init=False)

    def __post_init__(self) -> None:
        numbers = itertools.count(1)
        self.desk = EventDesk(
            ledger=self.ledger,
            write=self.hub.write,
            new_run_id=lambda: f"run{next(numbers)}",
            now=self.ledger.now,
            owners=frozenset({"acme"}),
            read=self.hub.read,
        )

    def send(self, key: str, **change: object) -> str | None:
        sent: Event = replace(event(), key=key, **change)  # type: ignore[arg-type]
        self.ledger.add_event(sent)
        return handle_event(key, self.desk)

    def notes(self) -> list[str]:
        return [c.body for c in self.hub.comments]


@pytest.fixture
def front(redis: Redis) -> Front:
    return Front(Ledger(redis), office().hub)


def test_a_labelled_issue_opens_a_run(front: Front) -> None:
    run_id = front.send("k1")
    assert run_id == "run1"
    run = front.ledger.run("run1")
    assert run is not None and run.state is State.ADMIT and run.change == "run1"
    assert run.requester.login == "alice" and run.event == "k1"
    assert front.notes() == [] and front.ledger.unhandled_events(10) == []


def test_the_same_event_again_wakes_the_same_run(front: Front) -> None:
    assert front.send("k1") == "run1"
    assert handle_event("k1", front.desk) == "run1"
    assert len(front.ledger.runs(10)) == 1


def test_a_second_label_while_a_run_is_at_work_gets_one_short_note(front: Front) -> None:
    front.send("k1")
    assert front.send("k2") is None and front.send("k3") is None
    (note,) = front.notes()
    assert "run1" in note and len(note) < 400
    assert "agent:fix" in front.hub.issues[1].labels, "the run that is admitted looks for it"
    assert front.ledger.taken_off(5, 1) == 0
    assert front.ledger.unhandled_events(10) == []


def moved(front: Front, run_id: str, *, over: bool = False, **fields: object) -> None:
    lease = front.ledger.claim(run_id, "desk", 60_000)
    assert lease is not None
    run = replace(lease.run, explained=over, **fields)  # type: ignore[arg-type]
    front.ledger.save(lease, run, release=True)


def test_a_second_label_after_admission_is_taken_off_and_that_is_noted(front: Front) -> None:
    front.send("k1")
    moved(front, "run1", state=State.EDIT)
    assert front.send("k2") is None
    assert "agent:fix" not in front.hub.issues[1].labels
    assert front.ledger.taken_off(5, 1) > 0


def test_an_issue_opened_with_the_label_is_one_trigger(front: Front) -> None:
    assert front.send("k1", told=OPENED, updated_at="2026-11-30T10:00:00Z") == "run1"
    assert front.send("k2", updated_at="2026-11-30T10:00:02Z") is None
    assert front.notes() == [] and front.ledger.unhandled_events(10) == []
    assert "agent:fix" in front.hub.issues[1].labels


def test_a_label_while_the_last_run_tells_its_end_waits_for_that(front: Front) -> None:
    front.send("k1")
    moved(front, "run1", state=State.HALTED)
    assert front.send("k2") == "run1"
    assert front.notes() == [] and front.ledger.unhandled_events(10) == ["k2"]
    moved(front, "run1", over=True)
    assert handle_event("k2", front.desk) == "run3"


def test_a_label_does_not_hurry_an_end_that_cannot_be_told(front: Front) -> None:
    front.send("k1")
    moved(front, "run1", state=State.HALTED, wait=Wait(Waiting.GITHUB, 1, "suspended", 4, 1))
    assert front.send("k2") is None
    assert front.notes() == [] and front.ledger.unhandled_events(10) == ["k2"]


def ended(front: Front, publication: Publication, state: State = State.COMPLETE) -> None:
    front.send("k1")
    moved(front, "run1", over=True, state=state, publication=publication)


def pull(number: int, branch: str, state: str = "open") -> PullView:
    return PullView(number, "u", state, True, "t", "b", branch, "c" * 40, 5, "main", BOT)


@pytest.mark.parametrize("state", ["closed", "gone"])
def test_a_pull_request_that_was_closed_unheard_blocks_nothing(front: Front, state: str) -> None:
    ended(front, Publication("agent/issue-1-run1", "c", 7, "u"))
    if state == "closed":
        front.hub.pulls[7] = pull(7, "agent/issue-1-run1", state)
    assert front.send("k2") == "run2"
    run = front.ledger.run("run2")
    assert run is not None and run.change == "run2" and front.notes() == []


def test_a_branch_that_was_left_behind_is_not_run_into_again(front: Front) -> None:
    ended(front, Publication(), State.HALTED)
    front.hub.branches["agent/issue-1-run1"] = front.hub.branches["main"]
    assert front.send("k2") == "run2"
    run = front.ledger.run("run2")
    assert run is not None and run.change == "run2"


def test_without_leftovers_the_change_goes_on(front: Front) -> None:
    ended(front, Publication(), State.HALTED)
    assert front.send("k2") == "run2"
    run = front.ledger.run("run2")
    assert run is not None and run.change == "run1"


def test_a_pull_request_that_the_ledger_forgot_is_found_by_its_branch(front: Front) -> None:
    ended(front, Publication(), State.HALTED)
    front.hub.branches["agent/issue-1-run1"] = front.hub.branches["main"]
    front.hub.pulls[9] = pull(9, "agent/issue-1-run1")
    assert front.send("k2") is None
    (note,) = front.notes()
    assert "#9" in note


def test_after_a_ledger_was_lost_no_second_pull_request_is_opened(front: Front) -> None:
    """The new ledger knows no Change; our own sticky comment names it, and the branch its pull."""
    mark = "<!-- patchwarrant:status:old1 -->"
    front.hub.comments.append(FakeComment(71, 1, f"{mark}\nDone"))
    front.hub.comments.append(FakeComment(72, 1, "<!-- patchwarrant:status:old2 -->", ours=False))
    front.hub.pulls[9] = pull(9, "agent/issue-1-old1")
    front.hub.pulls[8] = pull(8, "agent/issue-1-old2")
    front.desk = replace(front.desk, forgot=lambda: True)
    assert front.send("k2") is None and front.ledger.runs(9) == []
    note = front.notes()[-1]
    assert "#9" in note and "lost what it knew" in note and "`agent:fix`" in note
    assert front.send("k3") is None
    assert len([one for one in front.notes() if "lost what it knew" in one]) == 1
    front.hub.pulls[9] = replace(front.hub.pulls[9], state="closed")
    assert front.send("k4") is not None, "a new start, once the old one is closed"


def test_a_forgotten_branch_with_a_tail_is_found_by_the_number_that_we_told(front: Front) -> None:
    text = "<!-- patchwarrant:status:old1 -->\nDraft pull request: #9, and #8, #77"
    front.hub.comments.append(FakeComment(71, 1, text))
    front.hub.pulls[8] = pull(8, "agent/issue-2-old1-tail")
    front.hub.pulls[9] = pull(9, "agent/issue-1-old1-mend-add")
    front.desk = replace(front.desk, forgot=lambda: True)
    assert front.send("k2") is None and front.ledger.runs(9) == []
    assert "#9" in front.notes()[-1]


def test_a_ledger_that_was_never_lost_looks_for_nothing(front: Front) -> None:
    front.hub.comments.append(FakeComment(71, 1, "<!-- patchwarrant:status:old1 -->"))
    front.hub.pulls[9] = pull(9, "agent/issue-1-old1")
    assert front.send("k2") is not None


def test_a_label_while_a_pull_request_is_open_is_told_where_to_go(front: Front) -> None:
    front.send("k1")
    lease = front.ledger.claim("run1", "desk", 60_000)
    assert lease is not None
    ended = replace(
        lease.run, state=State.COMPLETE, explained=True, publication=Publication("b", "c", 7, "u")
    )
    front.ledger.save(lease, ended, release=True)
    front.hub.pulls[7] = pull(7, "agent/issue-1-run1")
    assert front.send("k2") is None and front.send("k3") is None
    (note,) = front.notes()
    assert "#7" in note and "close it" in note and "`/agent revise`" in note


def waiting_run(front: Front) -> None:
    front.send("k1")
    lease = front.ledger.claim("run1", "runner", 60_000)
    assert lease is not None
    wait = Wait(Waiting.ANSWER, lease.until + 60_000, "questions")
    parked = replace(lease.run, state=State.PLAN, wait=wait)
    front.ledger.save(lease, parked, due_ms=wait.until, release=True)


def test_a_writer_who_edits_and_labels_again_answers_the_questions(front: Front) -> None:
    waiting_run(front)
    assert front.send("k2", body="use the\u200b second way") == "run1"
    (entry,) = [e for e in front.ledger.journal("run1") if "answer" in e.data]
    assert "use the second way" in entry.data["answer"]
    assert front.notes() == []


def test_nobody_else_answers_them(front: Front) -> None:
    waiting_run(front)
    assert front.send("k2", sender=Person(2, "bob"), body="widen the scope") is None
    assert not [e for e in front.ledger.journal("run1") if "answer" in e.data]
    (note,) = front.notes()
    assert "waiting" in note


def test_without_a_way_to_ask_for_roles_no_answer_is_taken(front: Front) -> None:
    waiting_run(front)
    front.desk = replace(front.desk, read=None)
    assert front.send("k2") is None


def test_a_foreign_owner_and_a_bot_get_no_words(front: Front) -> None:
    front.send("k1")
    assert front.send("k2", sender=Person(900, "patchwarrant[bot]", "Bot")) is None
    front.desk = replace(front.desk, owners=frozenset())
    assert front.send("k3") is None
    assert front.notes() == [] and front.hub.phases == []


def test_an_event_that_nobody_could_be_told_about_is_over(front: Front) -> None:
    front.send("k1")
    front.hub.issues[1] = replace(front.hub.issues[1], locked=True)
    assert front.send("k2") is None
    assert front.ledger.unhandled_events(10) == []


def test_github_away_leaves_the_event_open(front: Front) -> None:
    front.send("k1")
    front.hub.down = True
    with pytest.raises(Unavailable):
        front.send("k2")
    assert front.ledger.unhandled_events(10) == ["k2"]
    front.hub.down = False
    assert handle_event("k2", front.desk) is None
    assert front.ledger.unhandled_events(10) == [] and len(front.notes()) == 1


def test_an_unknown_event_is_nothing(front: Front) -> None:
    assert handle_event("nothing", front.desk) is None
