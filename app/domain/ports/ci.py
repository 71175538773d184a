"""Live reads about the repository's own CI, and what they show."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Report:
    """What one check of somebody else's, or one commit status, says about a head; `conclusion` is
    "" while it is not done, else in the words of GitHub's check runs."""

    name: str
    conclusion: str


@dataclass(frozen=True)
class FailedReport:
    """A report that is red, with what it says: `text` is its summary and output, `notes` are its
    annotations, `path:line: words` each. All of it is text from outside."""

    name: str
    conclusion: str
    title: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()


class CiReader(Protocol):
    """Live reads about the repository's own CI. All raise `Refused`/`Missing`."""

    def reports(self, commit: str) -> tuple[Report, ...]:
        """What check runs of other apps and commit statuses say, the newest of each."""

    def required_checks(self, branch: str) -> frozenset[str]:
        """Names of the checks that active rulesets ask for on a branch."""

    def failed(self, commit: str, names: Collection[str]) -> tuple[FailedReport, ...]:
        """What those of the reports say that have one of these names and are red."""
