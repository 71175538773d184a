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
    """What we were told about."""

    ISSUE_LABELED = "issue-labeled"


@dataclass(frozen=True)
class Event:
    """A trigger as signed: title and body are the request's snapshot.

    `key` is made from the signed body alone, since delivery headers are not signed.
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


@dataclass(frozen=True)
class Ignored:
    """A genuine delivery that starts nothing, and why."""

    why: str
