"""What GitHub told us, as a small frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Repository:
    """A repository by id; owner and name are how it was called when we were told."""

    id: int
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True)
class Person:
    """An account; `kind` is GitHub's account type (User, Bot, Organization)."""

    id: int
    login: str
    kind: str = "User"


class EventKind(StrEnum):
    """What we were told about. A nudge starts nothing: it only wakes a live re-read."""

    ISSUE_LABELED = "issue-labeled"
    COMMENT = "comment"  # in the conversation of an issue or a pull request
    REVIEW = "review"  # a review's own text
    INLINE = "inline"  # on a line of a pull request's diff
    NUDGE = "nudge"


@dataclass(frozen=True)
class Event:
    """A trigger as signed: title and body are the request's snapshot.

    `key` is made from the signed body alone, since delivery headers are not signed. `issue` is a
    pull request's number where `pull` is true, 0 where a nudge is about no issue. `text` is a
    comment as signed, `comment` its id; `path` and `line` are where an inline one stands. A nudge
    says in `told` what happened (`issues.closed`), in `branch` and `head` a pull request's head as
    told (name and commit), in `text` the external id of a check run, in `repositories` the ids
    that an installation lost.
    """

    key: str
    kind: EventKind
    installation: int
    repository: Repository
    issue: int
    sender: Person
    label: str
    title: str
    body: str
    author: Person
    updated_at: str
    pull: bool = False
    comment: int = 0
    text: str = ""
    path: str = ""
    line: int = 0
    told: str = ""
    branch: str = ""
    head: str = ""
    repositories: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ignored:
    """A genuine delivery that starts nothing, and why."""

    why: str
