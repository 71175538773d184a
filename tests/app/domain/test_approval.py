"""Who approved what: events in every order that matters, under each mode, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from app.domain.approval import (
    TITLES,
    Facts,
    Part,
    Proof,
    Took,
    Why,
    could,
    latest,
    output,
    seal_of,
    standing,
)
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.ports.approval import Vote
from app.domain.repo_config import Approval

ASKER = Person(1, "alice")
REVISER = Person(2, "rita")
PUSHER = Person(3, "paul")
CAROL = Person(4, "carol")
DAVE = Person(5, "dave")
AUTHOR = Person(6, "ann")
BOT = Person(9, "robot", "Bot")
BASE, FIRST, SECOND = "b" * 40, "1" * 40, "2" * 40
ALL = (Approval.NOT_REQUESTER, Approval.STRICT, Approval.SOLO)


@dataclass
class Story:
    """A pull request through which events go; `facts` is what a live read then gives."""

    head: str = FIRST
    checked: str = FIRST
    result: Result = Result.PASSED
    state: str = "open"
    reviews: list[Vote] = field(default_factory=list)
    roles: dict[int, str] = field(
        default_factory=lambda: dict.fromkeys((1, 2, 3, 4, 5, 6, 9), "write")
    )
    took: list[Took] = field(
        default_factory=lambda: [
            Took(ASKER, Part.ASKED),
            Took(AUTHOR, Part.STEERED),
            Took(REVISER, Part.STEERED),
        ]
    )
    more: dict[str, object] = field(default_factory=dict)
    minute: int = 10

    def says(self, who: Person, state: str, commit: str = "") -> Story:
        self.minute += 1
        at = f"2026-11-30T10:{self.minute}:00Z"
        number = len(self.reviews) + 1
        self.reviews.append(Vote(number, who, state, commit or self.head, at))
        return self

    def approve(self, who: Person = CAROL, commit: str = "") -> Story:
        return self.says(who, "APPROVED", commit)

    def change(self, who: Person = CAROL) -> Story:
        return self.says(who, "CHANGES_REQUESTED")

    def comment(self, who: Person = CAROL) -> Story:
        return self.says(who, "COMMENTED")

    def dismiss(self) -> Story:
        self.reviews[-1] = replace(self.reviews[-1], state="DISMISSED")
        return self

    def push(self, who: Person = PUSHER) -> Story:
        """A person's commit, which is checked a little later (`check`)."""
        self.head = SECOND
        self.took.append(Took(who, Part.PUSHED))
        return self

    def check(self) -> Story:
        self.checked = self.head
        return self

    def role(self, who: Person, role: str) -> Story:
        self.roles[who.id] = role
        return self

    def now(self, **more: object) -> Story:
        self.more |= more
        return self

    def facts(self, mode: Approval, least: str = "write") -> Facts:
        since = "2026-11-30T10:10:00Z"
        proof = Proof("r", self.checked, "t" * 40, "main", BASE, self.result, "", since)
        base = Facts(
            self.state, self.head, "main", mode, least, proof, tuple(self.reviews),
            dict(self.roles), tuple(self.took),
        )  # fmt: skip
        return replace(base, **self.more)  # type: ignore[arg-type]


def every(why: Why) -> tuple[Why, Why, Why]:
    return (why, why, why)


# (name, what happens, what it comes to under not-requester, strict and solo)
STORIES: list[tuple[str, Callable[[Story], Story], tuple[Why, Why, Why]]] = [
    ("nothing", lambda s: s, every(Why.NOBODY)),
    ("comment", lambda s: s.comment(), every(Why.NOBODY)),
    ("approve", lambda s: s.approve(), every(Why.APPROVED)),
    ("approve, comment", lambda s: s.approve().comment(), every(Why.APPROVED)),
    ("approve, push", lambda s: s.approve().push(), every(Why.UNCHECKED)),
    ("approve, push, check", lambda s: s.approve().push().check(), every(Why.EARLIER)),
    ("push, approve", lambda s: s.push().approve(), every(Why.UNCHECKED)),
    ("push, check, approve", lambda s: s.push().check().approve(), every(Why.APPROVED)),
    (
        "approve, push, check, approve",
        lambda s: s.approve().push().check().approve(),
        every(Why.APPROVED),
    ),
    ("approve, changes", lambda s: s.approve().change(), every(Why.CHANGES)),
    ("changes, approve", lambda s: s.change().approve(), every(Why.APPROVED)),
    ("one approves, another wants changes", lambda s: s.approve().change(DAVE), every(Why.CHANGES)),
    (
        "another wants changes, one approves",
        lambda s: s.change(DAVE).approve(),
        every(Why.CHANGES),
    ),
    (
        "changes dismissed, one approves",
        lambda s: s.change(DAVE).dismiss().approve(),
        every(Why.APPROVED),
    ),
    (
        "somebody without the role wants changes",
        lambda s: s.role(DAVE, "read").approve().change(DAVE),
        every(Why.APPROVED),
    ),
    ("approve, dismiss", lambda s: s.approve().dismiss(), every(Why.NOBODY)),
    ("approve, dismiss, approve", lambda s: s.approve().dismiss().approve(), every(Why.APPROVED)),
    (
        "the requester approves",
        lambda s: s.approve(ASKER),
        (Why.TOOK_PART, Why.TOOK_PART, Why.APPROVED),
    ),
    (
        "the requester approves, then another",
        lambda s: s.approve(ASKER).approve(),
        every(Why.APPROVED),
    ),
    (
        "who pushed approves",
        lambda s: s.push().check().approve(PUSHER),
        (Why.TOOK_PART, Why.TOOK_PART, Why.APPROVED),
    ),
    (
        "who approved pushes",
        lambda s: s.push(CAROL).check().approve(CAROL),
        (Why.TOOK_PART, Why.TOOK_PART, Why.APPROVED),
    ),
    (
        "who revised approves",
        lambda s: s.approve(REVISER),
        (Why.APPROVED, Why.TOOK_PART, Why.APPROVED),
    ),
    (
        "who wrote the issue approves",
        lambda s: s.approve(AUTHOR),
        (Why.APPROVED, Why.TOOK_PART, Why.APPROVED),
    ),
    (
        "approve on a commit of before",
        lambda s: s.push().check().approve(CAROL, FIRST),
        every(Why.EARLIER),
    ),
    ("a bot approves", lambda s: s.approve(BOT), every(Why.NOBODY)),
    ("somebody with read approves", lambda s: s.role(CAROL, "read").approve(), every(Why.ROLE)),
    (
        "approve, role lost",
        lambda s: s.approve().role(CAROL, "triage"),
        every(Why.ROLE),
    ),
    (
        "approve, role unreadable",
        lambda s: s.approve().role(CAROL, "unknown"),
        every(Why.ROLE),
    ),
    ("approve, base moved elsewhere", lambda s: s.approve().now(moved=()), every(Why.APPROVED)),
    (
        "approve, base moved on its files",
        lambda s: s.approve().now(moved=("a.py",)),
        every(Why.BASE_MOVED),
    ),
    (
        "base moved on its files, approve",
        lambda s: s.now(moved=("a.py",)).approve(),
        every(Why.BASE_MOVED),
    ),
    (
        "approve, base rewritten",
        lambda s: s.approve().now(unclear="rewritten"),
        every(Why.BASE_MOVED),
    ),
    ("approve, other base", lambda s: s.approve().now(base="release"), every(Why.OTHER_BASE)),
    ("approve, a sibling", lambda s: s.approve().now(shared=(8,)), every(Why.SHARED)),
    ("approve, held", lambda s: s.approve().now(held="skip-checks: true"), every(Why.HELD)),
    ("approve, no configuration", lambda s: s.approve().now(amiss="x"), every(Why.UNREADABLE)),
    ("approve, closed", lambda s: s.approve().now(state="closed"), every(Why.CLOSED)),
    ("approve, merged", lambda s: s.approve().now(state="merged"), every(Why.CLOSED)),
    ("approve without evidence", lambda s: s.approve().now(proof=None), every(Why.NO_EVIDENCE)),
    (
        "approve, a commit of nobody",
        lambda s: s.now(unknown=(SECOND,)).approve(),
        (Why.UNKNOWN_AUTHOR, Why.UNKNOWN_AUTHOR, Why.APPROVED),
    ),
]


@pytest.mark.parametrize(("name", "story", "expected"), STORIES, ids=[one[0] for one in STORIES])
@pytest.mark.parametrize("mode", ALL)
def test_what_a_story_comes_to(
    mode: Approval, name: str, story: Callable[[Story], Story], expected: tuple[Why, Why, Why]
) -> None:
    facts = story(Story()).facts(mode)
    found = standing(facts)
    assert found.why is expected[ALL.index(mode)], found.sentence
    assert found.approved == (found.why is Why.APPROVED) == bool(found.by)
    title, summary = output(found, facts)
    assert title and len(title) < 255 and seal_of(summary)
    if facts.state == "open" and not found.approved:
        assert "Who could approve it:" in summary


@pytest.mark.parametrize("result", [Result.PARTIAL, Result.FAILED])
@pytest.mark.parametrize("mode", ALL)
def test_only_a_passed_verdict_can_be_approved(mode: Approval, result: Result) -> None:
    assert standing(Story(result=result).approve().facts(mode)).why is Why.NOT_PASSED


@pytest.mark.parametrize(
    ("role", "least", "why"),
    [
        ("write", "write", Why.APPROVED),
        ("write", "maintain", Why.ROLE),
        ("maintain", "maintain", Why.APPROVED),
        ("admin", "maintain", Why.APPROVED),
        ("maintain", "admin", Why.ROLE),
        ("none", "write", Why.ROLE),
    ],
)
def test_the_configured_role_is_reached_or_not(role: str, least: str, why: Why) -> None:
    facts = Story().role(CAROL, role).approve().facts(Approval.NOT_REQUESTER, least)
    assert standing(facts).why is why


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("2026-11-30T10:09:59Z", Why.TOO_SOON),
        ("2026-11-30T10:10:00Z", Why.APPROVED),
        ("2026-11-30T12:10:00+02:00", Why.APPROVED),
        ("2026-11-30", Why.TOO_SOON),
        ("yesterday", Why.TOO_SOON),
        ("", Why.TOO_SOON),
    ],
)
def test_an_approval_from_before_the_evidence_does_not_count(at: str, why: Why) -> None:
    facts = Story().approve().facts(Approval.SOLO)
    facts = replace(facts, reviews=(replace(facts.reviews[0], at=at),))
    assert standing(facts).why is why


def test_evidence_that_is_not_on_the_head_approves_nothing() -> None:
    facts = Story().approve().facts(Approval.SOLO)
    assert facts.proof is not None
    facts = replace(facts, proof=replace(facts.proof, since=""))
    assert standing(facts).why is Why.NOT_SHOWN


def test_each_persons_newest_review_counts_whatever_the_order_of_the_list() -> None:
    story = Story().change().approve().approve(DAVE).comment(DAVE)
    for reviews in (story.reviews, story.reviews[::-1]):
        found = {one.by.login: one.state for one in latest(reviews)}
        assert found == {"carol": "APPROVED", "dave": "APPROVED"}


def test_who_could_approve_names_everybody_who_may_not() -> None:
    took = Story().push().push(ASKER).took
    assert could(Approval.NOT_REQUESTER, "write", took) == (
        "Anybody with write access, but not `alice` (asked for it and pushed to its branch), "
        "`paul` (pushed to its branch)."
    )
    strict = could(Approval.STRICT, "maintain", took)
    assert "`rita` (steered it by words)" in strict and "maintain access" in strict
    assert "approval: solo" in could(Approval.SOLO, "write", took)
    many = [Took(Person(n, f"p{n}"), Part.PUSHED) for n in range(1, 9)]
    assert "and 3 more" in could(Approval.NOT_REQUESTER, "write", many)


def test_people_are_told_apart_by_id_and_nobody_by_a_missing_one() -> None:
    namesake = Person(40, "alice")
    story = Story().role(namesake, "write").approve(namesake)
    assert standing(story.facts(Approval.STRICT)).approved
    ghost = Story().approve(Person(0, "ghost"))
    ghost.roles[0] = "write"
    assert standing(ghost.facts(Approval.SOLO)).why is Why.NOBODY


def test_what_is_shown_is_inert_and_known_again() -> None:
    loud = Person(4, "carol")
    facts = Story().approve(loud).now(moved=("a`b|<img>.py", "@org/all")).facts(Approval.STRICT)
    title, summary = output(standing(facts), facts)
    assert "<img" not in summary and "`@org/all`" in summary
    assert output(standing(facts), facts) == (title, summary)
    other = output(standing(replace(facts, moved=("b.py",))), replace(facts, moved=("b.py",)))
    assert seal_of(other[1]) != seal_of(summary) and seal_of("x") == ""


def test_every_reason_has_its_title() -> None:
    assert set(TITLES) == set(Why) - {Why.APPROVED}
