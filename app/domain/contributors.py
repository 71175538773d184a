"""Who contributed to a pull request of ours: people's commits on it, and their accounts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain.event import Person

WEB_FLOW = 19_864_447  # GitHub's own account, the committer of what is done on its pages


@dataclass(frozen=True)
class PullCommit:
    """One commit of a pull request as GitHub attributes it; an account that GitHub does not know
    has the id 0. `subject` is its message's first line."""

    sha: str
    author: Person
    committer: Person
    subject: str = ""


def by_people(commits: Sequence[PullCommit], ours: Collection[str]) -> tuple[PullCommit, ...]:
    """The commits that are none of `ours`, the ids that our own runs made: a message or a name
    proves nothing, since everybody can write it."""
    return tuple(one for one in commits if one.sha not in ours)


def contributors(commits: Sequence[PullCommit], ours: Collection[str]) -> tuple[Person, ...]:
    """Authors and committers of people's commits, each once, in order. One that GitHub knows no
    account for stays, with the id 0: who that is, nobody can say."""
    found: dict[tuple[int, str], Person] = {}
    for commit in by_people(commits, ours):
        for person in (commit.author, commit.committer):
            if person.id != WEB_FLOW:
                found.setdefault((person.id, person.login), person)
    return tuple(found.values())
