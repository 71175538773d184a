"""The runs that faults are put into: how each begins, and what the scripted model does in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from tests.crash.office import Office
from tests.crash.points import READY
from tests.crash.town import PERSON, Town
from tests.e2e.conftest import FILES, FIX

VAGUE = "It is wrong."


def nothing(_town: Town, _name: str) -> None:
    """Nobody does anything meanwhile."""


@dataclass(frozen=True)
class Story:
    """`begin(town)` puts the event into the ledger and gives the repository's name.

    With `looks` the desk's look at the pull request after its run belongs to the story, and only
    what is done in that state is gone through. `meanwhile(town, repository)` is what a person does
    while nobody is at work after a fault, before GitHub tells of anything: of that alone GitHub
    never tells."""

    name: str
    says: str
    begin: Callable[[Town], str]
    whole: bool = True  # False where only what it does otherwise than the others is gone through
    looks: str = ""
    meanwhile: Callable[[Town, str], None] = nothing


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


def _verify(town: Town) -> str:
    name, _repository = town.repository()
    town.hub.push(name, PERSON, "topic", FIX)
    number = town.hub.open_pull(name, PERSON, "topic", "Mend add")
    _say(town, lambda: town.hub.comment(name, number, PERSON, "/agent verify"))
    return name


def _revise(town: Town) -> str:
    name, pull = _drafted(town)
    done = [{"thread": "t1", "outcome": "done", "why": "there is a docstring now"}]
    town.model.patch([town.revision], town.drafted, done)
    asked = {"path": "sums.py", "line": 2, "body": "/agent revise Say what it gives."}
    _say(town, lambda: town.hub.review(name, pull, PERSON, "COMMENT", comments=[asked]))
    return name


def _update(town: Town) -> str:
    name, pull = _drafted(town)
    town.hub.push(name, PERSON, "main", {"news.md": "news\n"})
    _say(town, lambda: town.hub.comment(name, pull, PERSON, "/agent update"))
    return name


def _drafted(town: Town) -> tuple[str, int]:
    """A repository whose issue became a draft that passed, and the draft's number."""
    name, repository = town.repository()
    town.model.patch([town.patches[1]], town.source)
    town.ledger.add_event(town.labelled(name, repository))
    with Office(town.place) as office:
        office.work()
    (run,) = town.ledger.runs(9)
    assert run.publication.pull, run.halt
    town.model.reset()
    return name, run.publication.pull


def _ready(town: Town) -> str:
    """A draft that passed, and nobody has looked at it since it was published."""
    name, _pull = _drafted(town)
    return name


def take_back(town: Town, name: str, draft: bool = True) -> None:
    """A person takes every request for a review back, and with `draft` makes a draft of what is
    none."""
    (pull,) = town.hub.pulls(name)
    if draft and not pull["draft"]:
        town.hub.set_draft(name, pull["number"], PERSON, True)
    for one in pull["requested_reviewers"]:
        town.hub.unrequest_review(name, pull["number"], PERSON, one["login"])


def _untold(town: Town, name: str) -> None:
    """A person takes back what was done last; the receiver is away, and hears nothing of it."""
    town.echo()
    (pull,) = town.hub.pulls(name)
    take_back(town, name, draft=not pull["requested_reviewers"])
    town.hear()


def _say(town: Town, act: Callable[[], object]) -> None:
    """Only what `act` does is told to the ledger."""
    town.hear()
    act()
    town.echo()


TEN_TURNS = Story("ten-turns", "ten edits until the check passes", _ten_turns)
STORIES = {
    one.name: one
    for one in (
        Story("fix", "a first attempt that fails its check, a repair, a draft", _fix),
        Story("halted", "a request that is too vague, refused with what is missing", _halted),
        Story("ready", "a draft is made ready, a review is asked for", _ready, looks=READY),
        Story(
            "taken-back",
            "the same, and a person takes it back while the desk is down, untold",
            _ready,
            whole=False,
            looks=READY,
            meanwhile=_untold,
        ),
        Story("verify", "evidence about somebody else's pull request", _verify, whole=False),
        Story("revise", "a review comment becomes a follow-up commit", _revise, whole=False),
        Story("update", "the base is merged into a draft's branch", _update, whole=False),
    )
}
