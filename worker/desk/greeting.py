"""The first sign to a person: a reaction to the comment, before anything is done about it.

It is a courtesy: whatever keeps it from being shown keeps nothing else up, and GitHub holds one of
a kind for each account, so that two tries are one sign.
"""

from __future__ import annotations

import logging

from app.domain.commands import FOR_BOTS, TRIAGE, Command, command_of
from app.domain.errors import Halt, Refused, Unavailable, Uncertain
from app.domain.event import Event, EventKind
from app.domain.permissions import Phase
from app.domain.repo_config import reaches
from app.domain.run import Run
from worker.desk.authority import role_of
from worker.desk.front import EventDesk, run_for

log = logging.getLogger(__name__)


def asks(command: Command) -> bool:
    """Whether it only asks; a word that is unknown is answered with help."""
    return command.word is None or command.word in TRIAGE


def may(command: Command, role: str) -> bool:
    """Whether a role is enough for a command, before the repository's own `roles`."""
    return reaches(role, "triage" if asks(command) else "write")


def greet(event: Event, asking: Run, desk: EventDesk) -> None:
    """React to the comment, unless that was done; a review's own text takes no reaction."""
    if event.kind is EventKind.REVIEW or desk.ledger.greeted(event.key):
        return
    inline = event.kind is EventKind.INLINE
    try:
        phase = Phase.PULL if inline else Phase.STATUS
        with desk.write(asking, phase) as writer:
            writer.react_comment(event.comment, "eyes", inline=inline)
    except (Refused, Halt, Unavailable, Uncertain) as gone:
        log.info("comment %s took no reaction: %s", event.comment, gone)
        return
    desk.ledger.greet(event.key)


def greet_waiting(event: Event, desk: EventDesk) -> None:
    """The sign for a command that has to wait until another event of its issue is handled. Who may
    have it is asked live, as it is asked again when its turn comes; nobody is refused here."""
    command = command_of(event.text) if event.comment else None
    if command is None or desk.read is None or not desk.allows(event):
        return
    if event.sender.kind != "User" and command.word not in FOR_BOTS:
        return
    asking = run_for(event, desk, word=command.said or "?")
    try:
        with desk.read(asking) as reader:
            allowed = may(command, role_of(asking, reader))
    except (Refused, Halt, Unavailable) as amiss:
        log.info("comment %s waits without a reaction: %s", event.comment, amiss)
        return
    if allowed:
        greet(event, asking, desk)
