"""Names and shapes of the ledger's rows in Redis: key names, schema version, journal kinds, caps.

Rows are hashes with `v` (schema), `rev` (compare-and-set), `fence` (of the last lease) and `data`
(JSON). The codec is msgspec's, at the adapters; these names are shared by receiver and roles.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.domain.state import Role

SCHEMA = 1

INBOX = "pw:inbox"  # list of event keys that wait for a wake-up
INBOX_BUSY = "pw:inbox:busy"
DUE = "pw:due"  # sorted set: run id -> wake time in Redis milliseconds
RUNS = "pw:runs"  # sorted set: run id -> when it was opened, Redis milliseconds
EVENTS_OPEN = "pw:events:open"  # sorted set: event key without outcome -> when it was written
APPROVALS = "pw:approvals"  # sorted set: Change id -> when its approval is looked at next, Redis ms
PAUSED = "pw:paused"
LEAVING = "pw:leaving"  # sorted set: installation that was removed -> when we were told, Redis ms
STORES = "pw:stores"  # sorted set: repository id whose object store has to go -> since when
PROBE = "pw:probe"
EPOCH = "pw:epoch"  # hash: the ledger's name and a count that only grows
EPOCH_ACCEPTED = "pw:epoch:accepted"  # the name that the operator said is the new ledger's
EVENT_SECONDS = 7 * 86_400  # that an event without a run is kept: it may be delivered again
STORES_SECONDS = 30 * 86_400
MEMORY_SECONDS = 14 * 86_400  # that a measurement is kept for other runs
BLOB_CAP = 8 * 1024 * 1024  # bytes of one artifact

QUEUE_DESK = "desk"
QUEUE_RUNS = "runs"
QUEUE_LARGE = "large"  # runs of class large, for runners
QUEUES = {Role.DESK: QUEUE_DESK, Role.RUNNER: QUEUE_RUNS}
LARGE = "large"  # a run row's `class`, "" for all others

JOB_EVENT = "worker.jobs.event"
JOB_RUN = "worker.jobs.run"
JOB_TOKEN = "worker.jobs.token"  # noqa: S105 - a dotted name


def queue_of(role: Role, *, large: bool = False) -> str:
    """The queue's name. Each worker of a runner has small runs or large ones before it, so that
    large ones never hold the others up."""
    return QUEUE_LARGE if large and role is Role.RUNNER else QUEUES[role]


def event_key(key: str) -> str:
    return f"pw:event:{key}"


def run_key(run: str) -> str:
    return f"pw:run:{run}"


def change_key(change: str) -> str:
    return f"pw:change:{change}"


def issue_key(repository: int, issue: int) -> str:
    """Holds the id of the issue's one open Change."""
    return f"pw:issue:{repository}:{issue}"


def issue_prefix() -> str:
    """Before `<repository>:<issue>` in `issue_key`."""
    return "pw:issue:"


def journal_key(run: str) -> str:
    return f"pw:journal:{run}"


def intents_key(run: str) -> str:
    return f"pw:intents:{run}"


def tokens_key() -> str:
    """Hash: token name -> sealed token with its expiry; a row goes when the token is revoked."""
    return "pw:tokens"


def blob_key(digest: str) -> str:
    return f"pw:blob:{digest}"


def held_key(run: str) -> str:
    """Set: what a run keeps, `b:` with a blob's digest, `m:` with a memory's name."""
    return f"pw:held:{run}"


def holders_key(digest: str) -> str:
    """Set: the runs that keep a blob; it goes with the last one."""
    return f"pw:holders:{digest}"


def memory_key(name: str) -> str:
    """A measurement that other runs may use; a cache, so it goes by itself."""
    return f"pw:memory:{name}"


def spend_key(day: str) -> str:
    """`day` as YYYYMMDD in UTC; hash with `spent` and one `reserved:<run>` a run, micro-dollars."""
    return f"pw:spend:{day}"


def cap_key(scope: str) -> str:
    """Sorted set: event key -> when it was counted, of one scope's runs within an hour."""
    return f"pw:cap:{scope}"


def pace_key(installation: int) -> str:
    """Hash: when an installation's next write may be sent, and until when GitHub limits it."""
    return f"pw:pace:{installation}"


def push_key(change: str) -> str:
    """Key of the event that waits to have a Change's head looked at; goes after a while."""
    return f"pw:push:{change}"


def edited_key(repository: int, issue: int) -> str:
    """When and by whom an issue's text was last edited, as we were told; goes after a while."""
    return f"pw:edited:{repository}:{issue}"


WAITS = "pw:waits"  # set: ids of Changes whose review comments wait for a run


def waits_key(change: str) -> str:
    """Sorted set: event key -> when it was written, of review comments that wait for their turn."""
    return f"pw:waits:{change}"


def taken_key(change: str) -> str:
    """Set: event keys of review comments that a run took up; goes after a while."""
    return f"pw:taken:{change}"


def taken_off_key(repository: int, issue: int) -> str:
    """When we took the trigger's label off an issue last, Redis ms; goes after a while."""
    return f"pw:taken-off:{repository}:{issue}"


def turn_key(repository: int, issue: int) -> str:
    """Whose event of an issue is being handled; goes after a while."""
    return f"pw:turn:{repository}:{issue}"


def waiting_key(repository: int, issue: int) -> str:
    """List of event keys that wait for their turn at an issue; goes after a while."""
    return f"pw:turn:{repository}:{issue}:waiting"


def request_key(request: str) -> str:
    """A question that one role puts to another; goes when it is taken."""
    return f"pw:request:{request}"


def answer_key(request: str) -> str:
    return f"pw:answer:{request}"


def mark_key(name: str) -> str:
    """How far a keeper looked through what is outside, epoch milliseconds."""
    return f"pw:mark:{name}"


def polled_key() -> str:
    """Sorted set: delivery id -> when it was made, of those that were read already."""
    return "pw:polled"


def leader_key(role: str) -> str:
    return f"pw:leader:{role}"


def rows_of_run(run: str) -> tuple[str, ...]:
    """The rows that go when a run is forgotten, besides its blobs and its event."""
    return (run_key(run), journal_key(run), intents_key(run), held_key(run))


def rows_of_change(change: str) -> tuple[str, ...]:
    """The rows that go with the last run of a Change."""
    return (
        change_key(change),
        approval_key(change),
        pushers_key(change),
        ready_key(change),
        waits_key(change),
        taken_key(change),
    )


def approvals_of_key(repository: int) -> str:
    """Set: the Changes of a repository whose approval is looked at."""
    return f"pw:approvals-of:{repository}"


def approvals_prefix() -> str:
    """Before the repository in `approvals_of_key`."""
    return "pw:approvals-of:"


def approval_key(change: str) -> str:
    """What the check run about the approval of a Change says, as it was written last."""
    return f"pw:approval:{change}"


def approval_lock_key(change: str) -> str:
    """Who looks at a Change's approval now; goes by itself."""
    return f"pw:approval-lock:{change}"


def pushers_key(change: str) -> str:
    """Hash: account id -> login of people who pushed to a Change's branch, as events said."""
    return f"pw:pushers:{change}"


def ready_key(change: str) -> str:
    """Hash: whether a Change's pull request was made ready and a review asked for, each once."""
    return f"pw:ready:{change}"


class Kept(StrEnum):
    """Kinds of journal entries."""

    MOVE = "move"
    MODEL = "model"
    TOOL = "tool"
    CHECK = "check"
    REFUSAL = "refusal"
    NOTE = "note"
    WAIT = "wait"
    HALT = "halt"


@dataclass(frozen=True)
class JournalEntry:
    """One entry: `id` is the stream id (`<milliseconds>-<n>`), `data` JSON-ready values."""

    id: str
    kind: Kept
    data: dict[str, Any]

    @property
    def ms(self) -> int:
        return int(self.id.partition("-")[0])


@dataclass(frozen=True)
class ChangeRow:
    """An issue's branch and pull request over all of its runs. `id` is its first run's id.

    `active` is the id of the run at work, "" when none is; `pull` is 0 until a pull request was
    read back; `open` ends when the pull request is closed.
    """

    id: str
    repository: int
    issue: int
    branch: str
    active: str = ""
    runs: tuple[str, ...] = ()
    pull: int = 0
    open: bool = True


def waiting_jobs(name: str) -> str:
    """The list of RQ's that holds the ids of the jobs of a queue which nobody took yet."""
    return f"rq:queue:{name}"


def run_job(run: str, count: int | str) -> str:
    """The id of the `count`-th wake-up for a run."""
    return f"{run}-{count}"


def event_job(key: str, count: int | str) -> str:
    """The id of the `count`-th wake-up for an event. RQ takes letters, digits, `-` and `_` only,
    so the key goes in as a hash."""
    return f"event-{hashlib.sha256(key.encode()).hexdigest()[:32]}-{count}"
