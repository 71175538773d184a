"""Findings, their tree, and the verdict on one candidate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.redact import without_secrets


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


def unsecret(verdict: Verdict) -> Verdict:
    """The same verdict with nothing in its words that looks like a secret: they are signed, and
    quote lines and names of the change."""
    findings = tuple(map(_unsecret, verdict.findings))
    return replace(verdict, wall=without_secrets(verdict.wall), findings=findings)


def _unsecret(finding: Finding) -> Finding:
    return Finding(
        without_secrets(finding.claim),
        finding.standing,
        tuple(map(without_secrets, finding.exhibits)),
        tuple(map(_unsecret, finding.parts)),
    )
