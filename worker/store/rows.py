"""What the ledger answers: small frozen values about leases, openings, tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from app.domain.run import Run
from app.domain.state import Role, State


@dataclass(frozen=True)
class Lease:
    """The right to work on one run until `until` (Redis ms), told by `fence`.

    `rev` is the row's revision for the next save. `crashes` counts claims that found a lease which
    its worker never gave back, since the run's state last changed; a worker that is back, or a
    Redis that was started again, is none. `cancelled`: a person asked for the end. `answer` is the
    key of the event that answered the run's questions, "" without one.
    """

    run: Run
    rev: int
    fence: int
    owner: str
    crashes: int
    lease_ms: int
    until: int
    cancelled: bool = False
    answer: str = ""

    @property
    def run_id(self) -> str:
        return self.run.id


class Opening(StrEnum):
    """What became of the wish to open a run."""

    NEW = "new"  # the run is opened
    ACTIVE = "active"  # another run of this issue is at work, or waits
    PULL = "pull"  # the open Change has a pull request already
    GONE = "gone"  # the Change that the run would go on with is not the open one
    FORGOTTEN = "forgotten"  # it has an open pull request of a ledger that was lost
    KNOWN = "known"  # this very event opened a run before


@dataclass(frozen=True)
class Opened:
    """The answer to `open_run`. `run_id` is "" for `pull` and `forgotten`; `pull` is 0 without a
    pull request; `waiting` is what the active run waits for (a value of `Waiting`), "" if it does
    not."""

    outcome: Opening
    run_id: str
    change: str
    pull: int = 0
    waiting: str = ""


class Due(NamedTuple):
    """A run past its wake time, the role that owns its state, and the state (plain text where a
    newer version named one that is not known here)."""

    run_id: str
    role: Role
    state: State | str


class Wake(NamedTuple):
    """A wake-up of a run: its number, from 1 on, and whether the run is of class large."""

    number: int
    large: bool = False


@dataclass(frozen=True)
class Row:
    """The bookkeeping of a run's row, for people; times in Redis ms, 0 for none."""

    run: Run
    rev: int
    fence: int
    owner: str
    lease: int
    crashes: int
    wakes: int
    due: int
    cancelled: bool


@dataclass(frozen=True)
class SealedToken:
    """An installation token that may still be alive; `expires` in ms as GitHub said it, `until` in
    Redis ms how long its holder surely lets nobody take it, 0 for a holder that said nothing."""

    name: str
    sealed: bytes = field(repr=False)
    expires: int
    run: str
    until: int = 0
