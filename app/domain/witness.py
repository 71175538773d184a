"""How far results can be trusted: what the gate finds beside the checks.

Some of them decide (sentinels, tests that changed their mind); others only tell the reviewer where
to look, and never make a verdict better or worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import claims
from app.domain.contract import Criterion
from app.domain.criteria import Support, supported
from app.domain.evidence import Finding, Holds

SHOWN = 20


@dataclass(frozen=True)
class Sighted:
    """What one check's sentinels showed: holds, fails, or unknown where none could be laid."""

    check: str
    standing: Holds
    said: str


@dataclass(frozen=True)
class RedGreen:
    """Tests that the change adds or changes, run over the base's sources.

    `shown` fail there and pass on the candidate, `idle` pass on both, `unread` ended in a way that
    says neither. `note` says what could not be run, "" when all could.
    """

    shown: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Witness:
    """What the gate measured beside the checks.

    `touched` are sentences about what decides about the change, `deciding` more paths that do
    (scripts that checks start), `signs` sentences about product code, `strange` those about what
    the difference does not show a reviewer, `secrets` those about what looks like a secret in
    somebody else's change (of ours nothing is published then). `sentinels` is () where none
    were run; `flaky` are tests whose two runs on the candidate differ. `unrun` are sentences about
    what could have been run beside the checks and was not, each with its reason; `untested` those
    about folders that the change is in and whose tests no check runs; `hidden` those about what was
    removed from the request.
    """

    touched: tuple[str, ...] = ()
    deciding: frozenset[str] = frozenset()
    signs: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    sentinels: tuple[Sighted, ...] = ()
    flaky: tuple[str, ...] = ()
    red: RedGreen | None = None
    criteria: tuple[Criterion, ...] = ()
    unrun: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


NOTHING = Witness()


def deciding(witness: Witness) -> tuple[Finding, ...]:
    """Findings that the verdict rests on: each holds, fails or is unknown like a check."""
    found = [_sentinel(one) for one in witness.sentinels if one.standing is not Holds.UNKNOWN]
    if witness.flaky:
        said = _listed("Two runs on the same tree gave different answers for", witness.flaky)
        found.append(Finding("No test changed its mind", Holds.UNKNOWN, (said,)))
    return tuple(found)


def secret(witness: Witness) -> tuple[Finding, ...]:
    """What looks like a secret may be none, so it is not shown to be one; it is never passed."""
    if not witness.secrets:
        return ()
    leaf = Finding(claims.NO_LEAK, Holds.UNKNOWN, _cut(witness.secrets))
    return (Finding("The change can be shown to anybody", Holds.UNKNOWN, parts=(leaf,)),)


def touched(witness: Witness) -> tuple[Finding, ...]:
    """What is named at the very top: the change touched what decides about it."""
    if not witness.touched:
        return ()
    return (Finding(claims.TOUCHED, Holds.UNKNOWN, _cut(witness.touched)),)


def looks(witness: Witness, support: Support) -> tuple[Finding, ...]:
    """What a reviewer is told beside the verdict: red to green, criteria, signs in the code."""
    found = list(_red(witness.red)) if witness.red else []
    criteria = supported(witness.criteria, support)
    if criteria:
        weakest = Holds.HOLDS
        if any(one.standing is not Holds.HOLDS for one in criteria):
            weakest = Holds.UNKNOWN
        found.append(Finding(claims.CRITERIA, weakest, parts=criteria))
    found += [
        Finding("Sentinels that could not be run", Holds.UNKNOWN, (one.said,))
        for one in witness.sentinels
        if one.standing is Holds.UNKNOWN
    ]
    if witness.hidden:
        found.append(Finding(claims.HIDDEN, Holds.UNKNOWN, _cut(witness.hidden)))
    if witness.untested:
        found.append(Finding(claims.UNTESTED, Holds.UNKNOWN, _cut(witness.untested)))
    if witness.strange:
        claim = "Look at: what is easily overlooked"
        found.append(Finding(claim, Holds.UNKNOWN, _cut(witness.strange)))
    if witness.signs:
        claim = "Look at: lines that could decide about the tests"
        found.append(Finding(claim, Holds.UNKNOWN, _cut(witness.signs)))
    if witness.unrun:
        found.append(Finding(claims.NOT_RUN, Holds.UNKNOWN, _cut(witness.unrun)))
    return tuple(found)


def _red(red: RedGreen) -> list[Finding]:
    found = []
    if red.shown:
        said = _listed("Shown by", red.shown)
        found.append(Finding(claims.RED_GREEN, Holds.HOLDS, (said,)))
    if red.idle:
        said = _listed("They pass without it, too, and prove nothing about the fix", red.idle)
        found.append(
            Finding("Tests of the change that show nothing about it", Holds.UNKNOWN, (said,))
        )
    if red.unread or red.note:
        told = (red.note, _listed("Not told on the base's sources", red.unread))
        claim = "Red to green was not shown"
        found.append(Finding(claim, Holds.UNKNOWN, tuple(one for one in told if one)))
    return found


def _sentinel(one: Sighted) -> Finding:
    claim = f"`{one.check}` reports its tests as they end"
    said = one.said if one.standing is Holds.HOLDS else f"Referee not credible: {one.said}"
    return Finding(claim, one.standing, (said,))


def _cut(sentences: Sequence[str]) -> tuple[str, ...]:
    more = len(sentences) - 2 * SHOWN
    return (*sentences[: 2 * SHOWN], f"And {more} more.") if more > 0 else tuple(sentences)


def _listed(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{what}: {', '.join(f'`{name}`' for name in names[:SHOWN])}{more}."
