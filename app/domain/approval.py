"""Approval: whether a person approved exactly what was checked, as rules over facts read live.

The page is docs/approval.md. Nothing here reads anything: `Facts` are frozen values that the desk
read from GitHub just now, and evidence as the ledger recorded it. Anything unclear is a no.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.markdown import code, inline
from app.domain.ports.approval import Vote
from app.domain.repo_config import Approval, Ready, reaches

CHECK = "patchwarrant/approval"
APPROVED, CHANGES, DISMISSED = "APPROVED", "CHANGES_REQUESTED", "DISMISSED"
SHOWN = 5  # names and paths in one sentence
NOT_OURS = "Not an agent change"


class Part(StrEnum):
    """What somebody did for a change, which may keep them from approving it."""

    ASKED = "asked for it"
    PUSHED = "pushed to its branch"
    STEERED = "steered it by words"  # revised it, answered its questions, wrote the issue


# Who may not approve in each mode.
BARRED: dict[Approval, frozenset[Part]] = {
    Approval.NOT_REQUESTER: frozenset({Part.ASKED, Part.PUSHED}),
    Approval.STRICT: frozenset(Part),
    Approval.SOLO: frozenset(),
}


class Why(StrEnum):
    """Why it stands as it does; the first that holds is said."""

    CLOSED = "closed"
    NO_EVIDENCE = "no-evidence"  # nothing was published yet
    UNCHECKED = "unchecked-head"  # the head is not the commit that the evidence names
    NOT_PASSED = "not-passed"
    NOT_SHOWN = "evidence-not-shown"
    HELD = "held"
    UNREADABLE = "unreadable"
    OTHER_BASE = "other-base"
    BASE_MOVED = "base-moved"
    SHARED = "shared-head"
    CHANGES = "changes-requested"
    NOBODY = "no-approval"
    EARLIER = "earlier-commit"
    TOO_SOON = "before-evidence"
    ROLE = "role"
    TOOK_PART = "took-part"
    UNKNOWN_AUTHOR = "unknown-author"
    APPROVED = "approved"


@dataclass(frozen=True)
class Proof:
    """The newest evidence: on which commit and base, with what result; `since` is when it was
    shown on GitHub, by GitHub's clock, "" where it is not there."""

    run: str
    commit: str
    tree: str
    base_branch: str
    base_commit: str
    result: Result
    wall: str = ""
    since: str = ""


@dataclass(frozen=True)
class Took:
    """One part that one person took in the change."""

    person: Person
    part: Part


@dataclass(frozen=True)
class Facts:
    """Everything that decides, as it is now.

    `state` is open, closed or merged. `held` is the directive in the head's message that keeps CI
    away, `moved` the touched paths that the base changed since the evidence's base commit,
    `unclear` why that could not be found out, `shared` other open pull requests with this very
    head. `roles` are by account id; who is missing has none. `unknown` are commits on the branch,
    not ours, of which nobody can say who pushed them. `ready` and `reviewers` are what the
    configuration says about making it ready and whom to ask. `amiss` says what could not be
    read, and why.
    """

    state: str
    head: str
    base: str
    mode: Approval
    least: str
    proof: Proof | None
    reviews: tuple[Vote, ...] = ()
    roles: Mapping[int, str] | None = None
    took: tuple[Took, ...] = ()
    unknown: tuple[str, ...] = ()
    held: str = ""
    moved: tuple[str, ...] = ()
    unclear: str = ""
    shared: tuple[int, ...] = ()
    ready: Ready = Ready.GATE
    reviewers: tuple[str, ...] = ()
    amiss: str = ""


@dataclass(frozen=True)
class Standing:
    """What is said: `sentence` in Markdown, `by` who approved."""

    why: Why
    sentence: str
    by: tuple[Person, ...] = ()

    @property
    def approved(self) -> bool:
        return self.why is Why.APPROVED


def standing(facts: Facts) -> Standing:
    """How it stands with `facts`: approved only if nothing speaks against it."""
    return evidence_wall(facts) or _surroundings(facts) or _reviews(facts)


def latest(reviews: Iterable[Vote]) -> tuple[Vote, ...]:
    """Each person's newest review that decides; a mere comment decides nothing."""
    newest: dict[int, Vote] = {}
    for one in sorted(reviews, key=lambda review: review.id):
        if one.state in (APPROVED, CHANGES, DISMISSED):
            newest[one.by.id] = one
    return tuple(newest.values())


def deciding(reviews: Iterable[Vote]) -> tuple[Person, ...]:
    """The people whose role has to be asked: each newest review that says yes or no."""
    return tuple(one.by for one in latest(reviews) if one.state != DISMISSED and _person(one.by))


def barred(mode: Approval, person: Person, took: Iterable[Took]) -> tuple[Part, ...]:
    """The parts for which `person` may not approve; () where they may."""
    parts = {one.part for one in took if one.person.id == person.id and one.person.id}
    return tuple(part for part in Part if part in parts & BARRED[mode])


def _person(person: Person) -> bool:
    return person.kind == "User" and person.id > 0


def evidence_wall(facts: Facts) -> Standing | None:
    """What about the evidence speaks against the change, None where it passed on this head."""
    proof = facts.proof
    if facts.state != "open":
        return Standing(Why.CLOSED, f"The pull request is {facts.state}.")
    if facts.amiss:
        return Standing(
            Why.UNREADABLE, f"Who may approve cannot be found out: {inline(facts.amiss, 300)}"
        )
    if proof is None:
        return Standing(Why.NO_EVIDENCE, "There is no evidence about this pull request yet.")
    if facts.head != proof.commit:
        return Standing(
            Why.UNCHECKED,
            f"The head {code(facts.head[:12])} is not what the evidence speaks of "
            f"({code(proof.commit[:12])}): somebody pushed, and that was not checked yet.",
        )
    if proof.result is not Result.PASSED:
        wall = f": {inline(proof.wall, 300)}" if proof.wall else "."
        return Standing(Why.NOT_PASSED, f"The evidence says {code(proof.result)}{wall}")
    if not proof.since:
        return Standing(
            Why.NOT_SHOWN,
            "The check run with the evidence is not on this head, so nobody could have read it.",
        )
    return None


def _surroundings(facts: Facts) -> Standing | None:
    """What around the change speaks against any approval of it."""
    proof = facts.proof
    assert proof is not None
    if facts.held:
        return Standing(
            Why.HELD,
            f"This head is held: its message says {code(facts.held, 60)}, so the repository's own "
            "workflows have not run on it.",
        )
    if facts.base != proof.base_branch:
        return Standing(
            Why.OTHER_BASE,
            f"The pull request goes into {code(facts.base)}, and the evidence is about "
            f"{code(proof.base_branch)}.",
        )
    if facts.unclear:
        return Standing(Why.BASE_MOVED, inline(facts.unclear, 300))
    if facts.moved:
        return Standing(
            Why.BASE_MOVED,
            f"The base moved on in files that the change touches ({_few(facts.moved)}), so the "
            "evidence is outdated. `/agent update` merges the base and checks that.",
        )
    if facts.shared:
        others = ", ".join(f"#{number}" for number in facts.shared[:SHOWN])
        return Standing(
            Why.SHARED,
            f"Other open pull requests have this very head ({others}), and a check belongs to the "
            "commit: an approval here would count there. Close them first.",
        )
    return None


def _reviews(facts: Facts) -> Standing:
    said = [one for one in latest(facts.reviews) if _person(one.by)]
    against = [one for one in said if one.state == CHANGES and _may(facts, one.by)]
    if against:
        names = _names(one.by for one in against)
        return Standing(
            Why.CHANGES,
            f"{names} asked for changes. A new review of theirs, or a dismissal, takes that back.",
        )
    approvals = [one for one in said if one.state == APPROVED]
    if not approvals:
        return Standing(Why.NOBODY, "Nobody has approved it.")
    refused = {one.id: _amiss(facts, one) for one in approvals}
    good = tuple(one.by for one in approvals if refused[one.id] is None)
    if good:
        return Standing(Why.APPROVED, f"Approved by {_names(good)} on exactly this head.", good)
    # The newest attempt is what its author wonders about.
    return next(found for one in reversed(approvals) if (found := refused[one.id]) is not None)


def _amiss(facts: Facts, review: Vote) -> Standing | None:
    """Why this approval does not count, None where it does."""
    proof, who = facts.proof, code(review.by.login)
    assert proof is not None
    if review.commit != facts.head:
        return Standing(
            Why.EARLIER,
            f"The approval by {who} is for {code(review.commit[:12])}, not for this head.",
        )
    if not _since(review.at, proof.since):
        return Standing(
            Why.TOO_SOON,
            f"The approval by {who} came before the evidence about this head was there. Look at "
            "the evidence and approve again.",
        )
    if not _may(facts, review.by):
        role = (facts.roles or {}).get(review.by.id, "none")
        return Standing(
            Why.ROLE,
            f"{who} has the role {code(role)} here, and an approval needs {facts.least} access.",
        )
    parts = barred(facts.mode, review.by, facts.took)
    if parts:
        return Standing(
            Why.TOOK_PART, f"The approval by {who} does not count: they {' and '.join(parts)}."
        )
    if facts.unknown and BARRED[facts.mode]:
        return Standing(
            Why.UNKNOWN_AUTHOR,
            f"GitHub assigns a commit on the branch to no account ({_few(facts.unknown, 12)}), so "
            "it cannot be said who may not approve it.",
        )
    return None


def _may(facts: Facts, person: Person) -> bool:
    return reaches((facts.roles or {}).get(person.id, "none"), facts.least)


def _since(at: str, start: str) -> bool:
    try:
        return datetime.fromisoformat(at) >= datetime.fromisoformat(start)
    except (ValueError, TypeError):
        return False


def could(mode: Approval, least: str, took: Iterable[Took]) -> str:
    """Who could approve, as a sentence in Markdown."""
    away = [(one.person, one.part) for one in took if one.part in BARRED[mode]]
    people = {person.id: person for person, _ in away if _person(person)}
    words = []
    for person in people.values():
        parts = {part for other, part in away if other.id == person.id}
        words.append(f"{code(person.login)} ({' and '.join(p for p in Part if p in parts)})")
    shown = ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" * (len(words) > SHOWN))
    but = f", but not {shown}" if words else ""
    if mode is Approval.SOLO:
        but = "; this repository lets who asked for the change approve it, too (`approval: solo`)"
    return f"Anybody with {least} access{but}."


def output(found: Standing, facts: Facts) -> tuple[str, str]:
    """(title, summary) of the check run; the summary ends with the marker of its content."""
    if found.approved:
        title = f"Approved by {', '.join(person.login for person in found.by)[:150]}"
    else:
        title = TITLES[found.why]
    parts = [found.sentence]
    if found.approved and facts.mode is Approval.SOLO:
        title = f"{title} (solo)"
        parts.append(
            "`approval: solo`: here, who asked for a change may approve it alone. Nobody else need "
            "have looked at this one."
        )
    if facts.state == "open" and not found.approved:
        parts.append(f"**Who could approve it:** {could(facts.mode, facts.least, facts.took)}")
    if facts.proof is not None:
        proof = facts.proof
        parts.append(
            f"Evidence: tree {code(proof.tree)}, commit {code(proof.commit)}, base "
            f"{code(proof.base_commit[:12])} of {code(proof.base_branch)}. An approval counts for "
            "exactly that commit: a push, a dismissal, a base that moves on in these files or a "
            "lost role takes it back."
        )
    return title, sealed(title, "\n\n".join(parts))


def sealed(title: str, summary: str) -> str:
    """The summary with the digest of what is said, by which it is known again on GitHub."""
    digest = hashlib.sha256(f"{title}\n{summary}".encode("utf-8", "replace")).hexdigest()[:32]
    return f"{summary}\n\n<!-- patchwarrant:approval:{digest} -->"


def seal_of(summary: str) -> str:
    """The marker in a summary as GitHub has it, "" where there is none."""
    at = summary.rfind("<!-- patchwarrant:approval:")
    return summary[at:].strip() if at >= 0 else ""


TITLES: dict[Why, str] = {
    Why.CLOSED: "Not open",
    Why.NO_EVIDENCE: "No evidence yet",
    Why.UNCHECKED: "This head was not checked",
    Why.NOT_PASSED: "The evidence does not say passed",
    Why.NOT_SHOWN: "The evidence is not on this head",
    Why.HELD: "This head is held back from CI",
    Why.UNREADABLE: "Who may approve cannot be read",
    Why.OTHER_BASE: "It goes into another branch than was checked",
    Why.BASE_MOVED: "The base moved on in its files",
    Why.SHARED: "Another pull request has this head",
    Why.CHANGES: "Changes were asked for",
    Why.NOBODY: "Waits for an approval",
    Why.EARLIER: "Approved for an earlier commit",
    Why.TOO_SOON: "Approved before the evidence was there",
    Why.ROLE: "Approved by somebody without the role",
    Why.TOOK_PART: "Approved by somebody who took part",
    Why.UNKNOWN_AUTHOR: "A commit has no known author",
}


def _names(people: Iterable[Person]) -> str:
    return _few([person.login for person in people])


def _few(names: Sequence[str], most: int = 80) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(code(name[:most]) for name in names[:SHOWN]) + more
