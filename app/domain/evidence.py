"""Findings, their tree, and the verdict on one candidate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.redact import without_secrets
from app.domain.text import named


class Holds(StrEnum):
    """The standing of a claim. No check ran: unknown, never holds."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """One claim with its standing, its exhibits, and the claims that it rests on."""

    claim: str
    standing: Holds
    exhibits: tuple[str, ...] = ()
    parts: tuple[Finding, ...] = ()


class Result(StrEnum):
    """What is said about a candidate as a whole."""

    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True)
class Verdict:
    """Recorded on exactly one tree; the only way into publishing."""

    tree: str
    base_commit: str
    result: Result
    wall: str  # "" when passed, else the sentence that names the wall
    findings: tuple[Finding, ...]


def readable(verdict: Verdict) -> Verdict:
    """The same verdict, whose words quote lines and names of the change and are signed: nothing in
    them looks like a secret, and what a reader would not see in them is written out."""
    findings = tuple(map(_readable, verdict.findings))
    return replace(verdict, wall=_shown(verdict.wall), findings=findings)


def _readable(finding: Finding) -> Finding:
    return Finding(
        _shown(finding.claim),
        finding.standing,
        tuple(map(_shown, finding.exhibits)),
        tuple(map(_readable, finding.parts)),
    )


def _shown(text: str) -> str:
    """One sentence: a newline in it can only come from a name that it quotes."""
    return named(without_secrets(text).strip())
