"""What every event at the desk is given, and how a run is opened or one short note is written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.domain import told
from app.domain.errors import Halt, Missing, Refused, Waiting
from app.domain.event import Event, Person
from app.domain.permissions import Phase
from app.domain.ports.reader import GitHubReader
from app.domain.ports.writer import GitHubWriter
from app.domain.record import ChangeRow, JournalEntry
from app.domain.run import Run
from app.domain.state import FOLLOWING, Kind, State
from worker.desk.forgotten import forgotten
from worker.desk.kit import FIX_LABEL, Read, Write, counted
from worker.store.rows import Opened, Opening

log = logging.getLogger(__name__)
# What a person can do about a run that waits for one, after the sentence that it is at work.
DO_NOW: dict[str, str] = {
    Waiting.ANSWER: " Answer its questions with `/agent fix` and the answer, or end it with "
    "`/agent cancel`.",
    Waiting.PLAN: " Say `/agent approve` and the hash that stands below its plan, or end it with "
    "`/agent cancel`.",
    Waiting.PUBLISH: " Say `/agent publish` and the tree that it names, or end it with "
    "`/agent cancel`.",
}


class Events(Protocol):
    """What of the ledger is needed here."""

    def event(self, key: str) -> Event | None: ...

    def event_done(self, key: str, outcome: str) -> None: ...

    def greeted(self, key: str) -> bool: ...

    def greet(self, key: str) -> None: ...

    def open_run(self, event_key: str, run: Run) -> Opened: ...

    def answer(self, run_id: str, event_key: str, text: str) -> bool: ...

    def approve(self, run_id: str, event_key: str, digest: str, by: str) -> bool: ...

    def publish(self, run_id: str, event_key: str, tree: str, by: str) -> bool: ...

    def run(self, run_id: str) -> Run | None: ...

    def runs(self, limit: int) -> list[Run]: ...

    def runs_without_end(self) -> list[str]: ...

    def cancel(self, run_id: str, why: str = "") -> bool: ...

    def journal(self, run_id: str) -> list[JournalEntry]: ...

    def intent(self, run_id: str, key: str) -> dict[str, Any] | None: ...

    def change(self, change_id: str) -> ChangeRow | None: ...

    def open_change(self, repository: int, issue: int) -> ChangeRow | None: ...

    def wait_turn(self, change: str, event_key: str) -> int: ...

    def waiting(self, change: str) -> list[str]: ...

    def taken(self, change: str, event_keys: Sequence[str]) -> None: ...

    def close_change(self, change: ChangeRow) -> bool: ...

    def reopen_change(self, change: ChangeRow) -> bool: ...

    def wait_for_head(self, change: str, event_key: str) -> str: ...

    def waits_for_head(self, change: str) -> str: ...

    def look_at_head(self, change: str, event_key: str) -> None: ...

    def taking_off(self, repository: int, issue: int) -> None: ...

    def leaves(self, installation: int) -> None: ...

    def edited(self, repository: int, issue: int, at: str, by: str) -> None: ...


class Approvals(Protocol):
    """What is done about approvals when something happened."""

    def mark(self, event: Event) -> Sequence[str]:
        """Note, durable when it returns, which Changes the event may concern."""

    def look(self, changes: Iterable[str]) -> None:
        """Look at them now; never raises a `Stop`."""

    def others(self, event: Event, asking: Run) -> str:
        """What is said on a pull request that is not ours. Raises `Unavailable`, `Uncertain`."""


class Capped(Protocol):
    """Caps on runs an hour."""

    @property
    def limits(self) -> Mapping[str, int]: ...

    def take(self, scopes: Mapping[str, str], key: str) -> str: ...

    def give_back(self, scopes: Mapping[str, str], key: str) -> None: ...


@dataclass(frozen=True)
class EventDesk:
    """`new_run_id` gives a fresh id of letters and digits, `now` Redis milliseconds, `owners` the
    operator's allow-list in lower case. Without `read` nobody's role can be asked, so that no
    answer and no command is taken. Without `caps` there are none. `bots` are ids of bots that the
    operator lets trigger; `own` gives the login of the App's own bot, which never may. Without
    `approvals` none is looked at. `forgot` says whether a ledger was lost before this one."""

    ledger: Events
    write: Write
    new_run_id: Callable[[], str]
    now: Callable[[], int]
    owners: frozenset[str]
    read: Read | None = None
    caps: Capped | None = None
    bots: frozenset[int] = frozenset()
    own: Callable[[], str] = lambda: ""
    approvals: Approvals | None = None
    forgot: Callable[[], bool] = lambda: False

    def allows(self, event: Event) -> bool:
        """Whether the operator lets anything happen for this event's owner and sender."""
        return event.repository.owner.casefold() in self.owners and self.hears(event.sender)

    def hears(self, person: Person) -> bool:
        """A person, or a bot that the operator named by its id and that is not the App itself."""
        named = person.kind == "Bot" and person.id in self.bots
        return person.kind == "User" or (named and person.login.casefold() != self.own().casefold())


def run_for(event: Event, desk: EventDesk, kind: Kind = Kind.FIX, word: str = "") -> Run:
    """The run that `event` would open; also the name under which its tokens are minted."""
    return Run(
        id=desk.new_run_id(),
        kind=kind,
        change="",
        event=event.key,
        installation=event.installation,
        repository=event.repository,
        issue=event.issue,
        requester=event.sender,
        created=desk.now(),
        word=word,
    )


def begin(event: Event, run: Run, desk: EventDesk) -> Opened | None:
    """Open the run inside the caps; None where a cap forbids it, which is said once an hour.

    An issue's Change that can take no further run is closed first: its pull request was closed, or
    its branch was left behind by a run that stopped.
    """
    follows = run.kind in FOLLOWING  # its Change was looked at already
    found = left_behind(run, desk) if desk.allows(event) and not follows else None
    if found is not None:
        return found
    whose = counted(run)
    full = desk.caps.take(whose, event.key) if desk.caps else ""
    if desk.caps and full:
        hour = desk.now() // 3_600_000
        marker = f"<!-- patchwarrant:cap:{full}:{run.requester.id}:{hour} -->"
        text = told.capped(
            event.sender, full, desk.caps.limits[full], on_pull=said_on_pull(event, run)
        )
        tell(desk, run, marker, f"{text} {told.NOT_LOOKED_AT}" if follows else text)
        desk.ledger.event_done(event.key, f"refused-cap:{full}")
        return None
    opened = desk.ledger.open_run(event.key, run)
    if desk.caps and opened.outcome in (Opening.ACTIVE, Opening.PULL, Opening.GONE):
        desk.caps.give_back(whose, event.key)
    return opened


def said_on_pull(event: Event, run: Run) -> bool:
    """Whether what is said about a run is said on a pull request: one that the event is about, or
    that the run goes on with."""
    return event.pull or run.kind in FOLLOWING or run.kind is Kind.REVISE


def left_behind(run: Run, desk: EventDesk) -> Opened | None:
    """Close the issue's Change if what it left on GitHub, read live, allows no further run of it;
    an answer where there is a pull request that the ledger does not know."""
    change = desk.ledger.open_change(run.repository.id, run.issue)
    if change is None and run.kind is Kind.FIX and desk.forgot():
        return forgotten(run, desk.write)
    if change is None or change.active or desk.read is None:
        return None
    try:
        with desk.read(run) as reader:
            known = change.pull
            over = _pull_over(reader, known) if known else _there(reader, change.branch)
        if over and not change.pull:
            of_change = replace(run, change=change.id)
            with desk.write(of_change, Phase.PULL) as writer:
                view = writer.find_pull(change.branch)
            if view is not None and view.state == "open":
                return Opened(Opening.PULL, "", change.id, view.number)
    except (Refused, Halt) as unseen:
        log.info("Change %s could not be looked at: %s", change.id, unseen)
        return None
    if over:
        desk.ledger.close_change(change)
    return None


def _pull_over(reader: GitHubReader, number: int) -> bool:
    try:
        return reader.pull(number).state != "open"
    except Missing:
        return True


def _there(reader: GitHubReader, branch: str) -> bool:
    """Branches are only ever created, so a run needs a name that is free."""
    try:
        reader.branch(branch)
    except Missing:
        return False
    return True


def note_of(opened: Opened, *, on_pull: bool = False) -> tuple[str, str]:
    """(marker, text) of the one note; a second event of the same kind finds the first note.
    `on_pull`: it is said on a pull request, in words that fit there."""
    if on_pull and opened.outcome in (Opening.PULL, Opening.FORGOTTEN):
        return _on_open_pull(opened)
    if opened.outcome is Opening.PULL:
        return (
            f"<!-- patchwarrant:pull:{opened.change} -->",
            f"This issue has an open pull request of mine already: #{opened.pull}. "
            "To have it changed, comment `/agent revise` and what you want there. "
            f"For a new start close it and set the label `{FIX_LABEL}` again.",
        )
    if opened.outcome is Opening.FORGOTTEN:
        return (
            f"<!-- patchwarrant:pull:{opened.change} -->",
            f"This issue has an open pull request of mine already: #{opened.pull}. This instance "
            "lost what it knew of it, so it cannot go on with it: its evidence stays, no command "
            f"changes it. For a new start close it and set the label `{FIX_LABEL}` again.",
        )
    waits = f" It is waiting ({opened.waiting.removeprefix('waiting-')})." if opened.waiting else ""
    waits += DO_NOW.get(opened.waiting, "")
    where = "pull request" if on_pull else "issue"
    return (
        f"<!-- patchwarrant:active:{opened.run_id} -->",
        f"A run for this {where} is at work already (`{opened.run_id}`), so no "
        f"second one is started.{waits}",
    )


def _on_open_pull(opened: Opened) -> tuple[str, str]:
    """A new change is asked for where the one before is open: here, or on another number."""
    lost = (
        "This instance lost what it knew of it, so it cannot go on with it: its evidence stays, no "
        "command changes it. "
        if opened.outcome is Opening.FORGOTTEN
        else "To have it changed, comment `/agent revise` and what you want there. "
    )
    return (
        f"<!-- patchwarrant:pull:{opened.change} -->",
        f"The pull request #{opened.pull} is open, so no new one is begun. {lost}For a new start "
        f"close it and set the label `{FIX_LABEL}` on its issue again.",
    )


def tell(desk: EventDesk, run: Run, marker: str, text: str) -> None:
    """Say it on the issue and take the label off, or on the pull request that the run goes on
    with; owners outside the allow-list get no words."""
    follows = run.kind in FOLLOWING

    def act(writer: GitHubWriter) -> None:
        where = run.publication.pull if follows else run.issue
        writer.comment(where, f"{marker}\n{text}", marker)
        if not run.word and not follows and not _admitting(run, desk):
            desk.ledger.taking_off(run.repository.id, run.issue)
            writer.remove_label(run.issue, FIX_LABEL)

    speak(desk, run, act)


def _admitting(run: Run, desk: EventDesk) -> bool:
    """Whether the issue's run at work is not admitted yet: it looks for the label, and takes it
    off itself."""
    change = desk.ledger.open_change(run.repository.id, run.issue)
    active = desk.ledger.run(change.active) if change is not None and change.active else None
    return active is not None and active.state is State.ADMIT


def speak(desk: EventDesk, run: Run, act: Callable[[GitHubWriter], object]) -> None:
    """Do `act` with a writer of comments; a refusal (locked, deleted, no App) ends nothing."""
    if run.repository.owner.casefold() not in desk.owners or not desk.hears(run.requester):
        return
    try:
        with desk.write(run, Phase.STATUS) as writer:
            act(writer)
    except (Refused, Halt) as unheard:
        log.info("event of issue %s: nobody could be told: %s", run.issue, unheard)


def runs_of(change: ChangeRow | None, event: Event, issue: int, desk: EventDesk) -> Sequence[Run]:
    """The runs of a Change, or the newest of an issue whose Change is closed; oldest first."""
    if change is not None:
        found = [desk.ledger.run(run_id) for run_id in change.runs]
        return [run for run in found if run is not None]
    mine = [
        run
        for run in desk.ledger.runs(200)
        if run.repository.id == event.repository.id and run.issue == issue
    ]
    return list(reversed(mine))
