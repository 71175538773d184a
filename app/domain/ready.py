"""Whether a draft is made ready for review and of whom a review is asked, as rules.

The page is docs/gate.md. Neither comes before the gate has passed, and each comes once: what a
person takes back stays as the person left it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from app.domain.approval import Facts
from app.domain.ports.views import PullAct, PullView
from app.domain.repo_config import Ready
from app.domain.run import Run
from app.domain.state import Kind

TRIES = 5  # that GitHub may refuse on one head, each wait twice the one before
FIRST_MS = 30 * 60_000
WITHOUT_DRAFTS = "[draft] "  # how the title begins where GitHub offers no drafts
# GitHub's own words in a pull request's list of events.
MADE_READY = "ready_for_review"
MADE_DRAFT = "convert_to_draft"
ASKED = "review_requested"
_ASKS = frozenset({Kind.EXPLAIN, Kind.UNHOLD})  # neither says what the change should be


class Done(StrEnum):
    """How far a write has come that is done at most once."""

    NOT = ""
    BEGUN = "begun"
    DONE = "done"


@dataclass(frozen=True)
class Refusals:
    """How often GitHub refused to make `head` ready, and the time (ms) of the next try."""

    head: str = ""
    times: int = 0
    again: int = 0


@dataclass(frozen=True)
class Past:
    """What was done about one pull request: it was made ready, by us or a person; a person made it
    a draft again; a review was asked for; the sentences about that; and what GitHub refused."""

    mark: Done = Done.NOT
    back: bool = False
    ask: Done = Done.NOT
    said: tuple[str, ...] = ()
    no: Refusals = Refusals()


@dataclass(frozen=True)
class Passed:
    """What stands on the head now."""

    gate: bool
    approved: bool


@dataclass(frozen=True)
class Asked:
    """Whom a review is asked of: logins, and teams as `owner/slug`; and whom we asked `before`,
    which nobody is asked again for, also where somebody took it back."""

    people: tuple[str, ...]
    teams: tuple[str, ...]
    before: tuple[str, ...] = ()


def marks(facts: Facts, passed: Passed, view: PullView, past: Past) -> bool:
    """Whether the draft is made ready now."""
    if not _offered(facts, passed, view) or past.back or past.mark is Done.DONE:
        return False
    return view.draft and (facts.ready is Ready.GATE or passed.approved)


def may_try(past: Past, head: str, now: int) -> bool:
    """Whether making `head` ready is tried (again) now, after what GitHub refused so far."""
    if past.no.head != head:
        return True
    return past.no.times < TRIES and now >= past.no.again


def refused(past: Past, head: str, now: int) -> Refusals:
    """The refusals with one more, which came just now."""
    times = (past.no.times if past.no.head == head else 0) + 1
    return Refusals(head, times, now + FIRST_MS * 2 ** (times - 1))


def told(no: Refusals, why: str) -> str:
    """The sentence about the last refusal; `why` is GitHub's, made safe."""
    if no.times >= TRIES:
        return (
            f"It could not be made ready, {no.times} times, and is not tried again by itself: "
            f"{why} Once that is mended, press *Re-run* at this check, or make it ready by hand."
        )
    at = f"{datetime.fromtimestamp(no.again / 1000, tz=UTC):%Y-%m-%d %H:%M} UTC"
    return f"It could not be made ready (try {no.times} of {TRIES}, the next after {at}): {why}"


def asks(facts: Facts, passed: Passed, view: PullView, past: Past) -> bool:
    """Whether a review is asked for now, `view` being the pull request as it is after marking. A
    draft that waits for its approval is asked about as a draft."""
    if not _offered(facts, passed, view) or past.ask is Done.DONE:
        return False
    return not view.draft or (facts.ready is Ready.APPROVAL and not past.back)


def _offered(facts: Facts, passed: Passed, view: PullView) -> bool:
    without = not view.draft and view.title.startswith(WITHOUT_DRAFTS)
    open_ = view.state == "open" and view.head_sha == facts.head
    return passed.gate and open_ and facts.ready is not Ready.NEVER and not without


def remembered(past: Past, acts: Sequence[PullAct]) -> Past:
    """`past` with what GitHub itself remembers of it: a desk that died, a ledger that was lost or
    an event that never came may have left a gap in ours."""
    told = {one.event for one in acts}
    return replace(
        past,
        mark=Done.DONE if MADE_READY in told else past.mark,
        back=past.back or MADE_DRAFT in told,
    )


def asked_of(
    runs: Sequence[Run], facts: Facts, view: PullView, acts: Sequence[PullAct] = ()
) -> Asked:
    """Who asked for the change, then whom the configuration names; not the pull request's author,
    nobody twice, none who is asked already, was asked before or has given a review."""
    first = next((run.requester for run in runs if run.kind not in _ASKS), None)
    wanted = [first.login] if first is not None and first.kind == "User" else []
    wanted += facts.reviewers
    seen = {view.author.login.casefold(), *(one.casefold() for one in view.asked)}
    seen |= {one.by.login.casefold() for one in facts.reviews}
    past = [one for one in acts if one.event == ASKED]
    ours = {
        (one.whom.casefold(), one.team)
        for one in past
        if one.by.casefold() == view.author.login.casefold()
    }
    seen |= {one.whom.casefold() for one in past if not one.team}
    if first is not None and first.id == view.author.id:
        seen.add(first.login.casefold())
    known_teams = {one.casefold() for one in view.asked_teams}
    known_teams |= {one.whom.casefold() for one in past if one.team}
    people, teams = list[str](), list[str]()
    for one in wanted:
        if one.casefold() in seen or one.partition("/")[2].casefold() in known_teams:
            continue
        seen.add(one.casefold())
        (teams if "/" in one else people).append(one)
    before = [
        one
        for one in dict.fromkeys(wanted)
        if (one.rpartition("/")[2].casefold(), "/" in one) in ours
    ]
    return Asked(tuple(people), tuple(teams), tuple(before))
