"""The runs that faults are put into: how each begins, and what the scripted model does in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from tests.crash.town import Town
from tests.e2e.conftest import FILES

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


def _ten_turns(town: Town) -> str:
    """Ten edits one after the other, the last of which is right."""
    path = "sums.py"
    text, old, replies = FILES[path], "return a - b", []
    for turn in range(1, 11):
        new = "return a + b" if turn == 10 else f"return a - b - {turn} + {turn}"
        read = hashlib.sha256(text.encode()).hexdigest()
        edit = {"path": path, "sha256": read, "old": old, "new": new}
        replies.append(town.model.say(("edit", {"edits": [edit]})))
        text, old = text.replace(old, new), new
    plan = {
        "summary": "Add instead of subtracting.",
        "files": [{"path": path, "action": "edit", "why": "it is wrong", "lines": 2}],
        "tests_must_pass": [],
        "tests_to_write": [],
        "steps": [{"id": "change", "what": "make the change", "needs": []}],
        "turns": 10,
    }
    found = {"summary": "It is in sums.py."}
    opening = [("read", {"path": path}), ("finish", found), ("submit_plan", plan)]
    done = town.model.say(("finish", {"summary": "The change is complete."}))
    town.model.script([[*(town.model.say(one) for one in opening), *replies, done]])
    name, repository = town.repository()
    town.ledger.add_event(town.labelled(name, repository))
    return name


TEN_TURNS = Story("ten-turns", "ten edits until the check passes", _ten_turns)
STORIES = {
    one.name: one
    for one in (
        Story("fix", "a first attempt that fails its check, a repair, a draft", _fix),
        Story("halted", "a request that is too vague, refused with what is missing", _halted),
    )
}
