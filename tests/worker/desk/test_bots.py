"""Bots: never, unless operator and repository both name the id; and then only to begin runs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.commands import FOR_BOTS, Word
from app.domain.errors import Halt, Reason
from app.domain.event import EventKind, Person
from tests.worker.desk.made import FILES, Office, new_run, office
from tests.worker.desk.test_events import Front
from worker.desk.stages.admit import admit
from worker.store.caps import Caps
from worker.store.ledger import Ledger

ROBOT = Person(77, "robot[bot]", "Bot")
OWN = Person(78, "patchwarrant[bot]", "Bot")
CHECKS = b"checks:\n  - name: tests\n    run: pytest -q\n"
NUMBERS = itertools.count(900)


@pytest.fixture
def front(redis: Redis) -> Front:
    made = Front(Ledger(redis), office().hub)
    made.hub.roles.update({"robot[bot]": "write", "patchwarrant[bot]": "admin"})
    made.desk = replace(
        made.desk,
        bots=frozenset({ROBOT.id, OWN.id}),
        own=lambda: "Patchwarrant[bot]",
        caps=Caps(made.ledger.calls, {"user": 100}),
    )
    return made


def say(front: Front, text: str, who: Person = ROBOT) -> str | None:
    number = next(NUMBERS)
    return front.send(
        f"comment:{number}", kind=EventKind.COMMENT, text=f"/agent {text}", comment=number,
        label="", sender=who,
    )  # fmt: skip


def desk_with(config: bytes, *bots: int) -> Office:
    desk = office()
    desk.hub.commit_files("main", {**FILES, ".github/agent.yml": (0o100644, config)})
    desk.hub.roles["robot[bot]"] = "write"
    desk.bots = frozenset(bots)
    return desk


def test_a_named_bot_may_begin_a_run_by_label_and_by_word(front: Front) -> None:
    assert front.send("k1", sender=ROBOT) == "run1"
    assert say(front, "retry") is None  # one is at work already, and that is said
    assert any("at work already" in note for note in front.notes())


def test_a_bot_that_the_operator_does_not_name_gets_no_word(front: Front) -> None:
    assert say(front, "fix it adds up", Person(5, "other[bot]", "Bot")) is None
    assert front.notes() == [] and front.ledger.runs(9) == []


def test_the_app_itself_never_counts_even_where_it_is_named(front: Front) -> None:
    assert say(front, "fix it adds up", OWN) is None
    assert front.notes() == [] and front.ledger.runs(9) == []


@pytest.mark.parametrize("word", sorted(set(Word) - FOR_BOTS))
def test_a_bot_steers_and_approves_nothing(front: Front, word: Word) -> None:
    for _ in range(2):
        say(front, f"{word} {'a' * 12}")
    (note,) = front.notes()  # said once
    assert "is for people" in note and "@robot" not in note
    assert not front.hub.comment_reactions


def test_a_bots_role_is_asked(front: Front) -> None:
    front.hub.roles["robot[bot]"] = "read"
    say(front, "fix it adds up")
    (note,) = front.notes()
    assert "you have the role `read`" in note


def test_admission_asks_operator_and_repository() -> None:
    run = replace(new_run(), requester=ROBOT)
    for config, bots in (
        (CHECKS, (77,)),  # the repository names none
        (CHECKS + b"bots: [5]\n", (77,)),
        (CHECKS + b"bots: [77]\n", ()),  # the operator names none
    ):
        with pytest.raises(Halt) as stop:
            admit(desk_with(config, *bots).kit())(run)
        assert stop.value.record.reason is Reason.REFUSED_ROLE
    assert admit(desk_with(CHECKS + b"bots: [77]\n", 77).kit())(run).contract is not None


def test_admission_asks_the_role_of_a_bot_too() -> None:
    desk = desk_with(CHECKS + b"bots: [77]\n", 77)
    desk.hub.roles["robot[bot]"] = "none"
    with pytest.raises(Halt) as stop:
        admit(desk.kit())(replace(new_run(), requester=ROBOT))
    assert stop.value.record.reason is Reason.REFUSED_ROLE


def test_a_repository_may_have_narrower_caps() -> None:
    desk = desk_with(CHECKS + b"caps: {user: 3}\n")
    desk.over_cap = lambda _run, caps: "user" if caps == {"user": 3} else ""
    with pytest.raises(Halt) as stop:
        admit(desk.kit())(new_run())
    record = stop.value.record
    assert record.reason is Reason.REFUSED_CAP
    assert "allows 3 runs an hour for each user" in record.message
    assert "caps.user" in record.next_step
    desk.over_cap = lambda _run, _caps: ""
    assert admit(desk.kit())(new_run()).contract is not None


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("dance", "alice"),  # unknown
        ("fix it", "bob"),  # no write access
        ("status", "zed"),  # no access at all
        ("verify", "alice"),  # not on an issue
        ("cancel", "alice"),  # nothing to cancel
        ("approve abc", "alice"),  # nothing to approve
        ("retry", "alice"),  # nothing to do again
    ],
)
def test_each_refusal_is_answered_once_however_often_it_is_told(
    front: Front, text: str, who: str
) -> None:
    """A delivery that comes again, and a desk that died before it noted its answer."""
    number = next(NUMBERS)
    told = {
        "kind": EventKind.COMMENT, "text": f"/agent {text}", "comment": number, "label": "",
        "sender": Person({"alice": 1, "bob": 2, "zed": 9}[who], who),
    }  # fmt: skip
    front.hub.roles["zed"] = "none"
    for _ in range(3):
        assert front.send(f"comment:{number}", **told) is None
    assert len(front.notes()) == 1


def test_a_full_cap_is_told_once_an_hour(front: Front) -> None:
    front.desk = replace(front.desk, caps=Caps(front.ledger.calls, {"user": 0}))
    for n in range(3):
        assert front.send(f"k{n}") is None
    (note,) = front.notes()
    assert "which is the cap" in note
