"""The only loop over stages: moves a run through the states of one role, saving each move."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from app.domain.errors import (
    Fault,
    Fenced,
    Halt,
    HaltRecord,
    Handover,
    Limited,
    Park,
    Reason,
    Stop,
    Unavailable,
    Waiting,
)
from app.domain.ports.hold import Hold
from app.domain.record import Kept
from app.domain.repo_config import OnStop
from app.domain.run import Run, Wait
from app.domain.state import ENDS, OWNER, Role, Signal, State
from worker.handover import ENDING, Ending
from worker.lapse import excuse
from worker.store.codec import NewerSchema
from worker.store.hold import LedgerHold
from worker.store.ledger import Ledger
from worker.store.rows import Lease

Stage = Callable[[Run], Run]
CRASHES = 3  # a run that took its worker down this often is quarantined
KEEPABLE = frozenset({State.LOCATE, State.PLAN, State.EDIT, State.VERIFY})
# States whose stage leaves more behind than the run says when it halts.
SALVAGED = KEEPABLE | {State.PUBLISH}
# Reasons for which an ending could not be told that may be undone: suspended, removed, GitHub or
# the App's key amiss.
UNDOABLE = frozenset({Reason.INSTALLATION, Reason.NEEDS_OPERATOR, Reason.INFRASTRUCTURE})
UNTOLD = 30.0  # seconds, the first time that an ending could not be told
PATIENCE_MS = 24 * 3_600_000  # that a run waits in one state for something that is away
# Endings after which partial work is not shown as a draft, whatever `on_stop` says.
NEVER_KEPT = frozenset(
    {Reason.CANCELLED, Reason.BASE_CHANGED, Reason.SECRET_FOUND, Reason.INTEGRITY, Reason.SCOPE}
)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Crew:
    """What a role brings to one held run: its stages, and how to find its partial candidate.

    `explain` speaks at an ending (desk only), `aside` says the least where that took its worker
    down each time; `salvage` rebuilds what a stage that halts does not hand back: the runner's the
    candidate from the journal, the desk's what is on GitHub already.
    """

    stages: Mapping[State, Stage]
    explain: Stage | None = None
    salvage: Stage | None = None
    aside: Stage | None = None


@dataclass(frozen=True)
class Carrier:
    """One role's way of carrying runs. `crew` builds the stages for a held run; `wake` tells the
    role that owns a run's state; `clock` gives seconds that only grow."""

    role: Role
    ledger: Ledger
    crew: Callable[[Run, LedgerHold], Crew]
    wake: Callable[[str, Role], None]
    clock: Callable[[], float]
    owner: str
    lease_ms: int
    daily: int
    large_daily: int | None = None  # the day's cap as runs of class large see it
    ending: Ending = field(default_factory=lambda: ENDING)

    def carry(self, run_id: str) -> None:
        """Take the run's lease and move it until another role owns it, it waits or it ended.

        Returns at once when somebody else holds it, or another role owns its state. An error that
        is no `Stop` goes through to the caller with the lease left to expire, so that a poison run
        comes back only `CRASHES` times. Where Redis was lost, the worker waits for it and says so
        first: that is no crash.
        """
        try:
            lease = self.ledger.claim(run_id, self.owner, self.lease_ms, self.role)
            if lease is None:
                return
            with self.ledger.hold(
                lease,
                lease_ms=self.lease_ms,
                daily=self._daily(lease.run),
                leave=self.ending.now,
            ) as hold:
                run = self._moves(lease, hold)
        except NewerSchema:
            raise
        except Fenced as gone:
            log.warning("run %s: %s", run_id, gone)
            excuse(self.ledger, run_id, self.owner, self.ending)
            return
        except Unavailable:
            excuse(self.ledger, run_id, self.owner, self.ending)
            raise
        if run is not None and not _over(run):
            self.wake(run.id, OWNER[run.state])

    def _daily(self, run: Run) -> int:
        return self.daily if self.large_daily is None or not run.large else self.large_daily

    def _moves(self, lease: Lease, hold: LedgerHold) -> Run | None:
        """The run as another role takes it over, None when it was parked."""
        run, crew = lease.run, Crew({})
        if run.state in ENDS and lease.crashes >= CRASHES:
            return self._set_aside(lease, run, hold)
        try:
            crew = self.crew(run, hold)
            if lease.crashes >= CRASHES:
                raise _quarantine(lease.crashes)
        except Halt as halt:  # no crew for this run, or one that it should not get again
            # A poison run's partial work is not worked on again; what it published is looked up.
            run = halted(run, halt, crew if run.state is State.PUBLISH else Crew({}))
            self.ledger.save(lease, run, release=True)
            return run
        except Unavailable as away:  # a full disk, say; where it is Redis, the save says so, too
            return self._without_crew(lease, run, _away(run, away), hold)
        while OWNER[run.state] is self.role and not _over(run):
            began = self.clock()
            try:
                hold.look()
                if self.ending.soon():
                    raise Handover(f"run {run.id} is handed over in {run.state}")
                moved = self._step(run, crew)
            except Handover as leaving:
                self._hand_over(lease, run, hold, leaving)
                return run
            except Park as park:
                if not self._too_long(run, park):
                    self._park(lease, run, park, hold)
                    return None
                moved = halted(run, _given_up(park), crew)
                hold.note(Kept.HALT, {"reason": Reason.INFRASTRUCTURE, "state": run.state})
            except Halt as halt:
                moved = halted(run, halt, crew)
                hold.note(Kept.HALT, {"reason": halt.record.reason, "state": run.state})
            moved = _charged(moved, began, self.clock())
            if moved.state is not run.state:
                hold.note(Kept.MOVE, {"from": run.state, "to": moved.state})
            mine = OWNER[moved.state] is self.role and not _over(moved)
            lease = self.ledger.save(lease, moved, release=not mine)
            run = moved
        return run

    def _without_crew(self, lease: Lease, run: Run, park: Park, hold: LedgerHold) -> Run | None:
        """What a crew is made of is away: None where that is waited for, else the run's end."""
        if not self._too_long(run, park):
            self._park(lease, run, park, hold)
            return None
        run = halted(run, _given_up(park), Crew({}))
        self.ledger.save(lease, run, release=True)
        return run

    def _set_aside(self, lease: Lease, run: Run, hold: LedgerHold) -> Run | None:
        """An ending that took its worker down each time: over, with the least said about it, once;
        where that takes the worker down as well, with nothing said. The run after it, None parked.
        """
        log.error("run %s: telling its ending ended its worker; it is set aside", run.id)
        if lease.crashes == CRASHES:
            try:
                aside = self.crew(run, hold).aside
                run = run if aside is None else aside(run)
            except Fenced:
                raise
            except (Park, Unavailable) as away:
                park = away if isinstance(away, Park) else Park(Waiting.GITHUB, UNTOLD, str(away))
                if not self._too_long(run, park):
                    self._park(lease, run, park, hold)
                    return None
            except Stop as refused:
                log.warning("run %s: not even that it ended could be told: %s", run.id, refused)
        over = replace(run, explained=True, wait=None, untold=_untold(lease.crashes))
        self.ledger.save(lease, over, release=True)
        return over

    def _step(self, run: Run, crew: Crew) -> Run:
        """One stage; adapters' faults become a wait or an ending here, in one place."""
        stage = crew.explain if run.state in ENDS else crew.stages.get(run.state)
        if stage is None:
            raise LookupError(f"role {self.role} owns {run.state} but has no stage for it")
        try:
            return stage(run)
        except Fenced:
            raise
        except Halt as halt:
            if run.state in ENDS and halt.record.reason in UNDOABLE:
                raise Park(Waiting.GITHUB, UNTOLD, halt.record.message) from halt
            raise
        except Limited as limit:
            waiting = _waiting(run.state)
            raise Park(waiting, limit.seconds, str(limit), exact=True) from limit
        except Unavailable as away:
            raise _away(run, away) from away
        except Fault as fault:
            raise Halt(
                Reason.INFRASTRUCTURE,
                f"{type(fault).__name__} in {run.state}: {fault}",
                "Label the issue again; if it happens again, the operator's log says more.",
            ) from fault

    def _hand_over(self, lease: Lease, run: Run, hold: Hold, leaving: Handover) -> None:
        """Let the run go, due at once; what its stage did so far is in the journal. No crash, no
        attempt, no time of its budget."""
        log.info("%s", leaving)
        hold.note(Kept.NOTE, {"handover": run.state})
        self.ledger.save(lease, run, due_ms=self.ledger.now(), release=True)

    def _too_long(self, run: Run, park: Park) -> bool:
        """Whether the run has waited in this state for as long as it may."""
        since = _since(run)
        waits = since > 0 and not park.waiting.of_person
        return waits and self.ledger.now() - since >= PATIENCE_MS

    def _park(self, lease: Lease, run: Run, park: Park, hold: Hold) -> None:
        before = run.wait.times if run.wait and run.wait.waiting is park.waiting else 0
        times = max(1, before + (not park.exact))
        # Own bounded backoff: what waits for the same thing again waits longer, up to ten minutes.
        pause = park.seconds
        if park.waiting is not Waiting.ANSWER and not park.exact:
            pause = min(pause * 2 ** min(times - 1, 6), max(600.0, park.seconds))
        now = self.ledger.now()
        until = now + round(pause * 1000)
        hold.note(Kept.WAIT, {"for": park.waiting, "until": until, "note": park.note})
        parked = replace(run, wait=Wait(park.waiting, until, park.note, times, _since(run) or now))
        self.ledger.save(lease, parked, due_ms=until, release=True)


def halted(run: Run, halt: Halt, crew: Crew) -> Run:
    """The run after an ending: on to the gate when there is partial work to show, else halted."""
    if run.state in ENDS:  # the ending itself could not be told: it stays an ending
        return replace(run, explained=True)
    if run.state in SALVAGED and crew.salvage is not None:
        run = crew.salvage(run)
    record = halt.record if run.halt is None else _both(run.halt, halt.record)
    run = replace(run, halt=record)
    return run.moved(Signal.KEEP if _worth_keeping(run) else Signal.HALT)


def _both(first: HaltRecord, second: HaltRecord) -> HaltRecord:
    """The first reason stays the reason; the second is added to what is said."""
    return replace(first, details=(*first.details, f"Then: {second.message}"))


def _worth_keeping(run: Run) -> bool:
    if run.state not in KEEPABLE or run.candidate is None or not run.candidate.changes:
        return False
    if run.contract is None or run.contract.config.on_stop is OnStop.NOTHING:
        return False
    return run.halt is not None and run.halt.reason not in NEVER_KEPT


def _since(run: Run) -> int:
    """When this state's first wait for something began, 0 without one; waits for people aside."""
    return 0 if run.wait is None or run.wait.waiting.of_person else run.wait.since


def _given_up(park: Park) -> Halt:
    hours = PATIENCE_MS // 3_600_000
    return Halt(
        Reason.INFRASTRUCTURE,
        f"This run waited for {hours} hours ({park.waiting}) and gave up: {park.note}",
        "Label the issue again once that works.",
    )


def _quarantine(crashes: int) -> Halt:
    return Halt(
        Reason.QUARANTINED,
        f"This run ended its worker {crashes} times and was set aside.",
        "The operator's log holds the errors; a new label starts a new run.",
    )


def _untold(crashes: int) -> str:
    return f"Telling its ending ended its worker {crashes} times; the operator's log says more."


def _waiting(state: State) -> Waiting:
    if OWNER[state] is Role.DESK or state is State.PREPARE:
        return Waiting.GITHUB
    return Waiting.SANDBOX


def _away(run: Run, away: Unavailable) -> Park:
    return Park(_waiting(run.state), away.retry_after or 30.0, str(away))


def _charged(run: Run, began: float, ended: float) -> Run:
    spend = replace(run.spend, active_ms=run.spend.active_ms + round((ended - began) * 1000))
    return replace(run, spend=spend)


def _over(run: Run) -> bool:
    return run.state in ENDS and run.explained
