"""Whose commits are on the branch: ours by their ids alone, people's with their accounts."""

from __future__ import annotations

from app.domain.contributors import WEB_FLOW, PullCommit, by_people, contributors
from app.domain.event import Person

RITA, MONA = Person(3, "rita"), Person(4, "mona")
BOT, WEB = Person(900, "patchwarrant[bot]", "Bot"), Person(WEB_FLOW, "web-flow")
NOBODY = Person(0, "Somebody Else")
COMMITS = (
    PullCommit("a" * 40, BOT, WEB, "Fix"),
    PullCommit("b" * 40, RITA, RITA, "Mine"),
    PullCommit("c" * 40, BOT, BOT, "Fix\n\nAgent-Run: abc"),  # looks like ours, and is not
    PullCommit("d" * 40, MONA, WEB, "On the page"),
    PullCommit("e" * 40, NOBODY, RITA, "Without an account"),
)


def test_a_commit_is_ours_by_its_id_and_by_nothing_that_it_says() -> None:
    assert [one.sha[0] for one in by_people(COMMITS, {"a" * 40})] == ["b", "c", "d", "e"]
    assert by_people(COMMITS, {one.sha for one in COMMITS}) == ()


def test_authors_and_committers_contribute_each_once_and_the_unknown_stay() -> None:
    assert contributors(COMMITS, {"a" * 40}) == (RITA, BOT, MONA, NOBODY)
    assert contributors((), ()) == ()
