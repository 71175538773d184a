"""Live reads of one repository on GitHub."""

from __future__ import annotations

from typing import Protocol

from app.domain.commits import BranchCommit
from app.domain.contributors import PullCommit
from app.domain.event import Repository
from app.domain.ports.views import CommentView, InlineView, IssueView, PullView, ReviewView


class GitHubReader(Protocol):
    """Live reads of one repository. All raise `Refused`/`Missing` as GitHub answers."""

    def repository(self) -> tuple[Repository, str, bool]:
        """(current name by id, default branch, archived)."""

    def role(self, login: str, account: int = 0) -> str:
        """admin, maintain, write, triage, read or none; custom roles by their base role.

        With `account` the login must still belong to that account id, else none."""

    def issue(self, number: int) -> IssueView: ...

    def comment(self, number: int) -> CommentView: ...

    def pull(self, number: int) -> PullView: ...

    def pull_commits(self, number: int) -> tuple[PullCommit, ...]:
        """A pull request's commits, oldest first; GitHub lists at most 250."""

    def pull_files(self, number: int) -> tuple[str, ...]:
        """The paths that a pull request changes."""

    def reviews(self, number: int) -> tuple[ReviewView, ...]:
        """A pull request's reviews, oldest first."""

    def inline_comments(self, number: int) -> tuple[InlineView, ...]:
        """All comments on a pull request's diff, oldest first."""

    def message(self, commit: str) -> str:
        """A commit's message."""

    def branch(self, name: str) -> str:
        """Commit id of a branch from the refs API; `Missing` if absent, `Refused` 409 if empty."""

    def file(self, path: str, commit: str) -> tuple[bytes, str] | None:
        """(bytes, blob id) of a file at a commit, None where there is none."""

    def tree_of(self, commit: str) -> str: ...

    def parting(self, base: str, head: str) -> tuple[str, int]:
        """(commit where the history of two commits parted, how many commits `base` has since).
        Raises `Missing` where they have nothing in common."""

    def commits(self, base: str, head: str) -> tuple[BranchCommit, ...]:
        """The commits of `head` that are no part of `base`, oldest first, all pages."""
