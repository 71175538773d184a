"""What GitHub shows, as values: issues, pull requests, commits, comments, reviews."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.event import Person


@dataclass(frozen=True)
class CommitView:
    """A commit as GitHub has it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    verified: bool


@dataclass(frozen=True)
class IssueView:
    """An issue as it is now."""

    number: int
    title: str
    body: str
    state: str
    locked: bool
    is_pull: bool
    labels: tuple[str, ...]
    author: Person
    updated_at: str


@dataclass(frozen=True)
class PullView:
    """A pull request as it is now."""

    number: int
    url: str
    state: str
    draft: bool
    title: str
    body: str
    head_ref: str
    head_sha: str
    head_repository: int
    base_ref: str
    author: Person
    merged: bool = False
    merge_commit: str = ""  # of a merged one
    node: str = ""  # its id in GraphQL
    asked: tuple[str, ...] = ()  # logins that a review is requested from
    asked_teams: tuple[str, ...] = ()  # and teams, by their slugs


@dataclass(frozen=True)
class CommentView:
    """A comment in a conversation, with the number of its issue or pull request."""

    id: int
    issue: int
    body: str
    author: Person


@dataclass(frozen=True)
class ReviewView:
    """A review as it is now; `state` in GitHub's words (COMMENTED, CHANGES_REQUESTED, …)."""

    id: int
    body: str
    author: Person
    state: str


@dataclass(frozen=True)
class InlineView:
    """A comment on a diff. `review` is the review that it belongs to, `root` the comment that its
    thread begins with (itself, where it is no reply); `line` is 0 for one about the whole file, and
    `start` its first line."""

    id: int
    review: int
    root: int
    body: str
    author: Person
    path: str
    line: int
    start: int


@dataclass(frozen=True)
class PullAct:
    """What GitHub itself remembers that was done to a pull request: its word for the act, the login
    of who did it, and whom a review was asked of (a login, or a team's slug)."""

    event: str
    by: str
    whom: str = ""
    team: bool = False
