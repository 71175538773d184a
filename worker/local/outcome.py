"""What an examination comes to: one word, one sentence and one exit code for all its findings.

Genuine evidence about a change that did not pass is a good answer, and never told as if the
evidence itself were in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from app.domain.evidence import Finding, Holds
from worker.attest.examine import FRESH, PASSED, SIGNED

SPEAKS = "Genuine: the evidence is what was signed. But "


class Outcome(StrEnum):
    """As `--json` names it."""

    VERIFIED = "verified"
    STALE = "stale"
    NOT_PASSED = "not-passed"
    UNSIGNED = "not-signed"
    NOT_VERIFIED = "not-verified"
    UNKNOWN = "unknown"
    UNUSABLE = "unusable"  # what was named is no evidence: nothing was examined


CODES = {Outcome.VERIFIED: 0, Outcome.STALE: 1, Outcome.NOT_PASSED: 1}
OTHERWISE = 2
WORDS = {
    Outcome.VERIFIED: "Verified: the evidence is genuine, fresh, and says passed.",
    Outcome.STALE: SPEAKS + "it is about another commit than the present head. `/agent verify` or "
    "`patchwarrant check` makes evidence about that one.",
    Outcome.NOT_PASSED: SPEAKS + "it says that the change did not pass.",
    Outcome.UNSIGNED: "NOT signed: nobody vouches for this evidence. `patchwarrant key signing "
    "FILE` makes a key, and `patchwarrant check --key FILE` signs what it finds.",
    Outcome.NOT_VERIFIED: "NOT verified: what is marked ✘ above does not hold, so nothing that "
    "this evidence says counts.",
    Outcome.UNKNOWN: "Not found out: what is marked ? above is unknown.",
}
STYLES = {
    Outcome.VERIFIED: "bold green",
    Outcome.STALE: "bold yellow",
    Outcome.NOT_PASSED: "bold yellow",
    Outcome.UNKNOWN: "bold yellow",
}


def outcome(findings: Sequence[Finding]) -> Outcome:
    """Doubt about the evidence weighs more than what is not known, and that more than what genuine
    evidence says."""
    failing = {one.claim for one in findings if one.standing is Holds.FAILS}
    if SIGNED in failing:
        return Outcome.UNSIGNED
    if failing - {FRESH, PASSED}:
        return Outcome.NOT_VERIFIED
    if any(one.standing is Holds.UNKNOWN for one in findings):
        return Outcome.UNKNOWN
    if FRESH in failing:
        return Outcome.STALE
    return Outcome.NOT_PASSED if PASSED in failing else Outcome.VERIFIED


def code_of(found: Outcome) -> int:
    """The exit code: 0 verified, 1 genuine and yet stale or not passed, 2 everything else."""
    return CODES.get(found, OTHERWISE)
