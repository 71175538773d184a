"""The runs that faults are put into: how each begins, and what the scripted model does in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.crash.town import Town

VAGUE = "It is wrong."


@dataclass(frozen=True)
class Story:
    """`begin(town)` puts the event into the ledger and gives the repository's name."""

    name: str
    says: str
    begin: Callable[[Town], str]


def _fix(town: Town) -> str:
    town.model.patch(town.patches, town.source)
    name, repository = town.repository()
    town.ledger.add_event(town.labelled(name, repository))
    return name


def _halted(town: Town) -> str:
    name, repository = town.repository()
    town.ledger.add_event(town.labelled(name, repository, VAGUE))
    return name


STORIES = {
    one.name: one
    for one in (
        Story("fix", "a first attempt that fails its check, a repair, a draft", _fix),
        Story("halted", "a request that is too vague, refused with what is missing", _halted),
    )
}
