"""What the desk's stages are given: one run's lease, ways to GitHub by phase, the desk's rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from app.domain.budget import Limits
from app.domain.errors import Reason
from app.domain.event import Event
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.ports.hold import Hold
from app.domain.ports.reader import GitHubReader
from app.domain.ports.writer import GitHubWriter
from app.domain.record import JournalEntry
from app.domain.repo_config import RepoConfig
from app.domain.run import Run
from app.domain.state import State

FIX_LABEL = "agent:fix"
RUNNING = "agent:running"
DONE = "agent:done"
INCOMPLETE = "agent:incomplete"
NEEDS_INFO = "agent:needs-info"
FAILED = "agent:failed"
CANCELLED = "agent:cancelled"
OURS = (RUNNING, DONE, INCOMPLETE, NEEDS_INFO, FAILED, CANCELLED)

Read = Callable[[Run], AbstractContextManager[GitHubReader]]
Write = Callable[[Run, Phase], AbstractContextManager[GitHubWriter]]


@dataclass(frozen=True)
class DeskKit:
    """One held run's kit.

    `read` and `write` give a client with a token of its own, revoked at the end of the block.
    `event` finds the signed trigger; `config_of` reads the configuration file's bytes and raises
    `ConfigError`; `statements` makes the in-toto statements' bytes of a run, a commit and the
    journal, ours first, `sign` the DSSE envelope of one, `bundle` the file that holds them with
    everything that they name, `attach` that file as text; `journal_fault` says where a run's
    journal is not what was written, "" where it is; `paused` says whether the operator paused
    all work; `now` is Redis milliseconds; `last_edit` says when and by whom an issue's text was
    edited. `taking_off` notes that we take the trigger's label off an issue, `taken_off` says
    when we last did (Redis ms), `heard` when an event was written; `newer_trigger` whether
    another label event of the run's issue waits, whose label is not ours to take off. `owners`
    is the operator's allow-list in lower case; empty refuses all. `history` gives the runs of a
    run's Change, oldest first, `journal` any run's journal, `tell_oneself` writes an event that a
    live read made known;
    `waiting` are the event keys of review comments that wait for the Change's next run, `taken`
    says that one took them up. `bots` are ids of bots that the operator lets trigger;
    `settings_of` gives the doctor's summary about the run's repository, {} where it could not be
    looked at; `over_cap` says which scope of a repository's own caps on runs an hour this run would
    exceed, "" for none, and then takes it out of the count; `uncount` takes a run that its person
    may not start out of every count but that person's own.
    `ceiling` is what the operator allows a run at most, `large` the same for one of class large,
    None where none is admitted.
    """

    hold: Hold
    read: Read
    write: Write
    event: Callable[[str], Event | None]
    config_of: Callable[[bytes], RepoConfig]
    statements: Callable[[Run, str, Sequence[JournalEntry]], tuple[bytes, ...]]
    sign: Callable[[bytes], dict[str, Any]]
    bundle: Callable[[Run, Sequence[dict[str, Any]], Sequence[JournalEntry]], bytes]
    attach: Callable[[bytes], str]
    journal_fault: Callable[[str], str]
    paused: Callable[[], bool]
    now: Callable[[], int]
    owners: frozenset[str]
    ceiling: Limits
    large: Limits | None = None
    last_edit: Callable[[int, int], tuple[str, str]] = lambda _repository, _issue: ("", "")
    taking_off: Callable[[int, int], None] = lambda _repository, _issue: None
    taken_off: Callable[[int, int], int] = lambda _repository, _issue: 0
    heard: Callable[[str], int] = lambda _event: 0
    waiting: Callable[[str], Sequence[str]] = lambda _change: ()
    taken: Callable[[str, Sequence[str]], None] = lambda _change, _events: None
    newer_trigger: Callable[[Run], bool] = lambda _run: False
    bots: frozenset[int] = frozenset()
    settings_of: Callable[[Run], Mapping[str, Any]] = lambda _run: {}
    over_cap: Callable[[Run, Mapping[str, int]], str] = lambda _run, _caps: ""
    uncount: Callable[[Run], None] = lambda _run: None
    history: Callable[[Run], Sequence[Run]] = lambda _run: ()
    tell_oneself: Callable[[Event], object] = lambda _event: None
    journal: Callable[[str], Sequence[JournalEntry]] = lambda _run: ()


def envelope_bytes(envelope: dict[str, Any]) -> bytes:
    """A signed envelope as it is kept and hashed: canonical JSON."""
    return json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode()


def counted(run: Run) -> dict[str, str]:
    """Whose runs within an hour this run is one of, by scope."""
    return {
        "issue": f"{run.repository.id}:{run.issue}",
        "user": str(run.requester.id),
        "repository": str(run.repository.id),
        "installation": str(run.installation),
    }


def ending_label(reason: Reason | None) -> str:
    """The label that says how a run without a pull request ended."""
    if reason is Reason.NEEDS_INFO:
        return NEEDS_INFO
    return CANCELLED if reason is Reason.CANCELLED else FAILED


def label_of(run: Run) -> str:
    """The label that an ended run leaves on its issue."""
    if run.state is State.COMPLETE:
        passed = run.verdict is not None and run.verdict.result is Result.PASSED
        return DONE if passed else INCOMPLETE
    return ending_label(run.halt.reason if run.halt else None)
