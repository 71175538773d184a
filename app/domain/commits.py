"""Commits on a Change's branch that this app did not make: who they name, how they are told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from app.domain.event import Person
from app.domain.markdown import code, inline

LISTED = 200  # commits that are kept by name; a branch with more says how many there are


@dataclass(frozen=True)
class BranchCommit:
    """A commit as GitHub lists it. `author` is the account that GitHub finds by the commit's
    address (id 0 where it finds none); `name` is what the commit itself says, which anybody can
    write; `parents` is their number."""

    sha: str
    author: Person
    name: str
    parents: int = 1


def of_others(commits: Iterable[BranchCommit], ours: Collection[str]) -> tuple[BranchCommit, ...]:
    """Those that the ledger does not know as made by this app, in their order. A trailer or a name
    in the commit proves nothing, so only the commit's own id counts."""
    return tuple(one for one in commits if one.sha not in ours)


def lines(commits: Sequence[BranchCommit]) -> list[str]:
    """One safe line of Markdown a commit."""
    return [_line(one) for one in commits]


def _line(one: BranchCommit) -> str:
    who = code(one.author.login) if one.author.id else f"{inline(one.name, 100)} (no account)"
    merge = ", a merge" if one.parents > 1 else ""
    return f"{code(one.sha)} by {who}{merge}"
