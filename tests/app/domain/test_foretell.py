"""What a payload would start is told as the receiver reads it; no answer of GitHub is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.commands import Word
from app.domain.event import Event
from app.domain.foretell import (
    ANSWERS,
    IGNORED,
    LOOKS,
    ON_PULLS,
    REFUSED,
    STARTS,
    Foretold,
    foretell,
)
from app.domain.triggers import digest_of, event_of
from tests.app.domain.test_triggers import BODY, COMMENTED, but, changed

BOT = {"id": 41898282, "login": "robot[bot]", "type": "Bot"}


def of(name: str, body: dict[str, Any], owners: frozenset[str] | None = None) -> Foretold:
    return foretell(event_of(name, body, lambda: digest_of(body), frozenset({BOT["id"]})), owners)


def said(text: str, *, pull: bool = False) -> dict[str, Any]:
    body = but(COMMENTED, "comment", body=text)
    return but(body, "issue", pull_request={"url": "x"} if pull else None)


GOOD = "It fails.\n\n## Acceptance criteria\n- it adds up"


def test_the_label_starts_a_run_where_the_request_is_good_enough() -> None:
    told = of("issues", changed(issue__body=GOOD))
    assert told.what == STARTS
    assert "fixes the issue on issue octocat/hello-world#7" in told.summary
    assert any("write access now" in one for one in told.live)
    assert any("still has the label" in one for one in told.live)


def test_a_label_without_criteria_says_what_is_missing() -> None:
    told = of("issues", BODY)
    assert told.what == ANSWERS
    assert "acceptance criteria and a reproduction are missing" in told.summary


def test_what_is_ignored_says_why() -> None:
    told = of("issues", changed(label__name="bug"))
    assert (told.what, told.summary) == (IGNORED, "Nothing: the label is not agent:fix.")
    assert told.live == ()


@pytest.mark.parametrize(
    ("owners", "what"),
    [(None, STARTS), (frozenset({"octocat"}), STARTS), (frozenset({"else"}), REFUSED)],
)
def test_the_allow_list_counts_where_it_is_known(owners: frozenset[str] | None, what: str) -> None:
    told = of("issues", changed(issue__body=GOOD), owners)
    assert told.what == what
    assert ("is in PATCHWARRANT_OWNERS" in " ".join(told.live)) is (owners is None)


@pytest.mark.parametrize(
    ("text", "pull", "what", "part"),
    [
        ("/agent fix it adds up", False, STARTS, "a run that fixes the issue"),
        ("/agent plan it adds up", False, STARTS, "stops after its plan"),
        ("/agent explain", False, STARTS, "only reads"),
        ("/agent verify", True, STARTS, "checks this pull request"),
        ("/agent retry", True, STARTS, "once more"),
        ("/agent fix it", True, ANSWERS, "this is a pull request"),
        ("/agent verify", False, ANSWERS, "this is an issue"),
        ("/agent dance", False, ANSWERS, "the help is answered"),
        ("/agent", False, ANSWERS, "the help is answered"),
        ("/agent status", False, ANSWERS, "is done and answered on issue"),
        ("/agent cancel", True, ANSWERS, "is done and answered on pull request"),
        ("please /agent fix", False, IGNORED, "no command"),
    ],
)
def test_each_command_says_what_it_does_here(text: str, pull: bool, what: str, part: str) -> None:
    told = of("issue_comment", said(text, pull=pull))
    assert told.what == what and part in told.summary


@pytest.mark.parametrize("word", list(Word))
def test_every_word_is_told_as_the_desk_takes_it(word: Word) -> None:
    told = of("issue_comment", said(f"/agent {word} x", pull=word in ON_PULLS))
    assert told.what in (STARTS, ANSWERS)
    least = "triage" if word in {Word.STATUS, Word.EXPLAIN, Word.HELP} else "write"
    assert any(f"has {least} access now" in one for one in told.live)


@pytest.mark.parametrize(
    ("name", "body", "what"),
    [
        ("issues", changed(action="closed"), LOOKS),
        ("issues", changed(action="edited"), LOOKS),
        ("installation", {"action": "suspend", "installation": {"id": 5}}, LOOKS),
    ],
)
def test_a_nudge_starts_nothing(name: str, body: dict[str, Any], what: str) -> None:
    told = of(name, body)
    assert told.what == what and told.summary.startswith("Nothing is started")
    assert told.key.startswith("nudge:")


def test_a_bot_that_the_operator_named_still_needs_the_repository() -> None:
    told = of("issues", changed(issue__body=GOOD, sender=BOT))
    assert told.what == STARTS
    assert any("`bots` of .github/agent.yml" in one for one in told.live)


def test_a_bot_that_nobody_named_is_ignored_whatever_it_says() -> None:
    bot = {**BOT, "id": 7}
    assert of("issues", changed(issue__body=GOOD, sender=bot)).what == IGNORED
    commented = but(said("/agent fix x"), "sender", **bot)
    assert of("issue_comment", but(commented, "comment", user=bot)).what == IGNORED


def test_a_named_bot_speaks_for_itself_alone_and_an_app_never_for_a_person() -> None:
    own = but(said("/agent fix x"), "sender", **BOT)
    own = but(own, "comment", user=BOT, performed_via_github_app={"id": 9})
    assert isinstance(event_of("issue_comment", own, bots=frozenset({BOT["id"]})), Event)
    other = but(own, "comment", user={"id": 8, "login": "x", "type": "User"})
    assert of("issue_comment", other).what == IGNORED
    person = but(said("/agent fix x"), "comment", performed_via_github_app={"id": 9})
    assert of("issue_comment", person).what == IGNORED


def test_the_key_of_a_nudge_is_what_the_body_says_not_how_it_is_written() -> None:
    one = {"action": "closed", "n": 1, "text": "ü <&>"}
    other = {"text": "ü <&>", "n": 1, "action": "closed"}
    assert digest_of(one) == digest_of(other) != digest_of({**one, "n": 2})
    assert digest_of({"lone": "\ud800"})  # what JSON can hold and UTF-8 cannot
