"""Live reads for an approval, and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.domain.event import Person
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullView


@dataclass(frozen=True)
class Vote:
    """A review as it is now: `state` in GitHub's words (APPROVED, DISMISSED, …), `commit` what it
    was about, `at` when it was submitted, as GitHub writes times."""

    id: int
    by: Person
    state: str
    commit: str
    at: str


@dataclass(frozen=True)
class WeighedCommit:
    """A commit of a pull request. `author` and `committer` are accounts by GitHub's own matching of
    addresses, None where it knows none; `verified` as GitHub says it."""

    sha: str
    message: str
    author: Person | None
    committer: Person | None
    verified: bool


@dataclass(frozen=True)
class CheckView:
    """A check run of our App; `since` is when it began, `summary` what it shows."""

    id: int
    external_id: str
    status: str
    conclusion: str
    summary: str
    since: str


@dataclass(frozen=True)
class Compared:
    """Two commits compared: where they parted and the paths that changed from there to the head,
    old names too; `whole` is false where GitHub does not list them all."""

    parted: str
    paths: frozenset[str]
    whole: bool


class ApprovalReader(GitHubReader, Protocol):
    """Live reads for an approval. All raise `Refused`/`Missing` as GitHub answers."""

    def votes(self, pull: int) -> tuple[Vote, ...]:
        """Every submitted review, oldest first."""

    def weighed_commits(self, pull: int) -> tuple[WeighedCommit, ...]:
        """The commits of a pull request, oldest first; at most 250, as GitHub lists them."""

    def compared(self, base: str, head: str) -> Compared:
        """What `head` changed since it parted from `base`."""

    def checks(self, commit: str, name: str) -> tuple[CheckView, ...]:
        """Our App's check runs of that name on a commit, the newest first."""

    def required_checks(self, branch: str) -> frozenset[str]:
        """Names of the checks that active rulesets ask for on a branch."""

    def pulls_with(self, commit: str) -> tuple[PullView, ...]:
        """The pull requests that hold a commit."""
