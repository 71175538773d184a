"""The gate after publishing: evidence, the repository's own CI, a critic, in this order.

The page is docs/gate.md. Pure: `Facts` are what the desk read from GitHub just now. What is unclear
does not pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain import approval
from app.domain.approval import sealed
from app.domain.markdown import bullets, code, inline
from app.domain.ports.ci import Report

CHECK = "patchwarrant/gate"
OURS = "patchwarrant/"  # how the names of our own checks begin: none of them is anybody's CI
SHOWN = 8
GREEN = frozenset({"success", "neutral", "skipped"})


class Ci(StrEnum):
    """How the repository's own CI stands on a head."""

    HELD = "held"
    PENDING = "pending"
    RED = "red"
    GREEN = "green"
    NONE = "none"
    UNREADABLE = "unreadable"


class Why(StrEnum):
    """Where the gate stops; the first wall in B8's order."""

    CLOSED = "closed"
    EVIDENCE = "evidence"
    HELD = "held"
    UNREADABLE = "unreadable"
    RED = "red"
    PENDING = "pending"
    PASSED = "passed"


@dataclass(frozen=True)
class Facts:
    """`about` is what is known about the approval of the same head. `reports` are those of other
    apps, `started` the workflows that our push starts, `required` the names that rulesets ask for;
    `amiss` says why the reports could not be read."""

    about: approval.Facts
    reports: tuple[Report, ...] = ()
    started: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()
    amiss: str = ""
    repairs: str = ""  # what is said about repairs by itself where it is red


@dataclass(frozen=True)
class Step:
    """One step of the gate: what it is, whether it is passed, the sentence in Markdown."""

    name: str
    passed: bool
    sentence: str


@dataclass(frozen=True)
class Gate:
    why: Why
    steps: tuple[Step, ...]

    @property
    def passed(self) -> bool:
        return self.why is Why.PASSED


WALLS = {
    Ci.HELD: Why.HELD,
    Ci.PENDING: Why.PENDING,
    Ci.RED: Why.RED,
    Ci.UNREADABLE: Why.UNREADABLE,
}
TITLES = {
    Why.CLOSED: "Not open",
    Why.EVIDENCE: "The evidence does not let it pass",
    Why.HELD: "The repository's own workflows are held back",
    Why.UNREADABLE: "The repository's own CI cannot be read",
    Why.RED: "The repository's own CI failed",
    Why.PENDING: "Waits for the repository's own CI",
    Why.PASSED: "Ready for review",
}


def gate(facts: Facts) -> Gate:
    """How far it comes; steps behind the first wall are not looked at."""
    wall = approval.evidence_wall(facts.about)
    if wall is not None:
        why = Why.CLOSED if wall.why is approval.Why.CLOSED else Why.EVIDENCE
        return Gate(why, (Step("Evidence", False, wall.sentence),))
    shown = Step("Evidence", True, "Passed, about exactly this head.")
    state, sentence = own_ci(facts)
    ci = Step("The repository's own CI", state not in WALLS, sentence)
    if state in WALLS:
        return Gate(WALLS[state], (shown, ci))
    critic = Step("Critic", True, "Not reviewed by a critic: there is none yet. A person is.")
    return Gate(Why.PASSED, (shown, ci, critic))


def red_ones(facts: Facts) -> list[Report]:
    """The reports of others that failed."""
    theirs = [one for one in facts.reports if not one.name.startswith(OURS)]
    return [one for one in theirs if one.conclusion and one.conclusion not in GREEN]


def all_said(facts: Facts) -> bool:
    """Whether every report is done, so that nothing that failed is missing."""
    return all(one.conclusion for one in facts.reports if not one.name.startswith(OURS))


def own_ci(facts: Facts) -> tuple[Ci, str]:
    """How the repository's own CI stands, and the sentence that says so."""
    if facts.about.held:
        return Ci.HELD, (
            f"Held back: the head's message says {code(facts.about.held, 60)}. Somebody who has "
            "looked at the change says `/agent ci`."
        )
    if facts.amiss:
        return Ci.UNREADABLE, f"It cannot be read: {inline(facts.amiss, 300)}"
    reports = [one for one in facts.reports if not one.name.startswith(OURS)]
    red = red_ones(facts)
    if red:
        said = _named([f"{one.name} ({one.conclusion})" for one in red])
        return Ci.RED, f"Failed: {said}.{facts.repairs}"
    pending = [one.name for one in reports if not one.conclusion]
    if pending:
        return Ci.PENDING, f"Not done yet: {_named(pending)}."
    names = {one.name for one in reports}
    missing = sorted(one for one in facts.required - names if not one.startswith(OURS))
    if missing:
        return Ci.PENDING, f"Required, and nothing was reported yet: {_named(missing)}."
    if not reports and facts.started:
        return Ci.PENDING, f"Started, and nothing was reported yet: {_named(facts.started)}."
    if not reports:
        return Ci.NONE, "Nothing reports about this head, and no workflow is started by it."
    return Ci.GREEN, f"Passed: {_named(sorted(names))}."


def output(found: Gate, beside: Sequence[str] = ()) -> tuple[str, str]:
    """(title, summary) of the check run; the summary ends with the marker of its content. `beside`
    are sentences about what was done once it had passed."""
    title = TITLES[found.why]
    signs = {True: "✅", False: "❌"}
    lines = [f"{signs[one.passed]} **{one.name}:** {one.sentence}" for one in found.steps]
    after = f"\n\n{' '.join(beside)}" if beside else ""
    text = (
        f"{bullets(lines, len(lines))}{after}\n\nThis says how far the change came by itself; it "
        f"is no approval, which is {code(approval.CHECK)}."
    )
    return title, sealed(title, text)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(code(one, 100) for one in names[:SHOWN]) + more
