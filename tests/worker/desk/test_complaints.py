"""What people complained about elsewhere, acted out at our desk; each test is named after one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.domain.event import Event, Ignored
from app.domain.triggers import event_of
from tests.app.domain.test_triggers import BODY, COMMENTED, LABEL, but
from tests.worker.desk.test_conversation import asked_to_end, front, say, working
from tests.worker.desk.test_events import Front
from worker.desk.events import handle_event

__all__ = ["front"]
OURS = {"id": 1296269, "name": "widgets", "owner": {"login": "acme"}}


def deliver(front: Front, name: str, body: dict[str, Any]) -> str | None:
    """A payload through the triggers and the desk, as receiver and feeder would carry it."""
    event = event_of(name, {**body, "repository": OURS}, lambda: "d" * 64)
    if isinstance(event, Ignored):
        return None
    assert isinstance(event, Event)
    front.ledger.add_event(event)
    return handle_event(event.key, front.desk)


def test_p02_the_same_intent_in_several_deliveries_is_one_run(front: Front) -> None:
    opened = {**BODY, "action": "opened", "label": None}
    other = {**BODY, "label": {"id": 1, "name": "bug"}}
    later = {**BODY, "issue": {**BODY["issue"], "updated_at": "2026-11-30T10:00:09Z"}}
    for body in (opened, BODY, other, BODY, later):
        deliver(front, "issues", body)
    assert len(front.ledger.runs(10)) == 1


def test_p03_a_thousand_comments_of_our_own_start_nothing(front: Front) -> None:
    bot = {"id": 900, "login": "patchwarrant[bot]", "type": "Bot"}
    app = {"id": 7, "slug": "patchwarrant"}
    for number in range(1, 1_001):
        said = {"id": number, "user": bot, "performed_via_github_app": app}
        body = but({**COMMENTED, "sender": bot}, "comment", body="/agent fix", **said)
        assert deliver(front, "issue_comment", body) is None
    assert front.ledger.runs(10) == [] and front.ledger.unhandled_events(10) == []


def test_p38_a_locked_issue_takes_no_answer_and_the_event_is_over(front: Front) -> None:
    front.hub.issues[1] = replace(front.hub.issues[1], locked=True)
    for words in ("status", "help", "dance", "revise x"):
        say(front, words)
    say(front, "fix", "zed")
    assert front.notes() == [] and front.ledger.unhandled_events(10) == []


def test_p40_a_label_in_other_letters_is_ours_and_a_homoglyph_is_not(front: Front) -> None:
    assert deliver(front, "issues", {**BODY, "label": {**LABEL, "name": "Agent:FIX"}})
    strange = {**LABEL, "name": "аgent:fix"}  # noqa: RUF001 - a Cyrillic letter
    assert deliver(front, "issues", {**BODY, "label": strange}) is None


def test_p54_neither_association_nor_a_bots_name_is_trusted(front: Front) -> None:
    member = but(COMMENTED, "comment", author_association="OWNER")
    mallory = {"id": 66, "login": "alice-admin", "type": "User"}
    liar = {**but(member, "comment", user=mallory), "sender": mallory}
    assert deliver(front, "issue_comment", liar) is None
    front.hub.roles["trusted[bot]"] = "admin"
    bot = {"id": 9, "login": "trusted[bot]", "type": "Bot"}
    assert (
        deliver(front, "issue_comment", {**but(member, "comment", user=bot), "sender": bot}) is None
    )
    assert front.ledger.runs(10) == []


def test_p63_each_comment_is_acknowledged_and_stop_ends_the_one_run(front: Front) -> None:
    run_id = working(front)
    for _ in range(3):
        say(front, "fix once more")
    assert len(front.hub.comment_reactions) == 4 and len(front.ledger.runs(10)) == 1
    say(front, "stop")
    assert asked_to_end(front, run_id)
