"""The desk's processes: its workers, and beside them whoever looks, sweeps, polls and shows."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from functools import partial

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from app.domain.errors import Fault
from app.domain.record import JOB_EVENT, event_job
from app.domain.run import Run
from app.domain.state import Role, State
from worker import jobs, logs
from worker.attest.signing import Signer
from worker.desk.github.auth import KeyProblem, load_key
from worker.desk.github.deliveries import Deliveries
from worker.desk.github.survey import installations
from worker.desk.missed import Redeliver
from worker.desk.overdue import Overdue
from worker.desk.pace import HURRIED_MS
from worker.desk.polling import Poll
from worker.desk.progress import Progress
from worker.desk.removed import Removed
from worker.desk.stuck import Stuck
from worker.desk.wiring import Desk, desk_of
from worker.keeping import every, keep, lead
from worker.processes import supervise
from worker.queue import Bell, listen
from worker.settings.desk import DeskSettings, desk_settings
from worker.settings.door import Door
from worker.store import retention
from worker.store.connect import connect
from worker.store.epoch import OtherLedger
from worker.store.ledger import Ledger
from worker.store.sealing import Seal

TIDY = 300.0  # seconds between two looks for what is past its days
SEARCH_MS = 60_000  # between two searches for pull requests whose approval nobody looks at
SEARCHED = 200  # newest runs
UNHANDLED_MS = 5_000  # how long an event may wait for its wake-up before the keeper rings


def main(door: Door, _arguments: list[str]) -> int:
    """`python -m worker desk`: admit, publish, explain until told to stop."""
    held = desk_settings(door)
    logs.configure([held.app_key.value, held.seal.value])
    for warning in door.warnings:
        sys.stderr.write(f"desk: warning: {warning}\n")
    if not held.owners:
        sys.stderr.write(
            "desk: warning: PATCHWARRANT_OWNERS is empty, so every request is refused; "
            "set it to the accounts that may use this instance, separated by commas\n"
        )
    try:
        key = load_key(held.app_key.value)
        Seal(held.seal.value)
        Signer.load(held.signing_key)
    except (KeyProblem, ValueError, OSError) as problem:
        sys.stderr.write(f"patchwarrant desk: {problem}\n")
        return 2
    Ledger(connect(held.redis_url)).check_server()
    try:
        desk_of(held, key).epoch().look()
    except OtherLedger as other:  # asked again before each job, so that the word needs no restart
        sys.stderr.write(f"patchwarrant desk: {other}\n")
    gc.collect()
    gc.freeze()  # what is imported by now stays shared between the forked workers
    bodies: dict[str, Callable[[], None]] = {
        f"worker-{number}": partial(_work, held, key) for number in range(held.workers)
    }
    bodies["keeper"] = partial(_keep, held, key)
    bodies["progress"] = partial(_show, held, key)
    if held.intake != "webhook":
        bodies["poller"] = partial(_listen_in, held, key)
    bodies["sweeper"] = partial(_sweep, held, key)
    bodies["approvals"] = partial(_weigh, held, key)
    supervise(bodies)
    return 0


def _work(held: DeskSettings, key: RSAPrivateKey) -> None:
    desk = desk_of(held, key)
    jobs.install(
        event=desk.event,
        run=desk.carry,
        token=desk.token,
    )
    listen(Role.DESK, partial(connect, held.redis_url))


def _keep(held: DeskSettings, key: RSAPrivateKey) -> None:
    desk = desk_of(held, key)

    def unheard(ledger: Ledger, bell: Bell) -> None:
        """Events whose wake-up was lost."""
        for event in ledger.unhandled_events(100, UNHANDLED_MS):
            ring_again(ledger, bell, event)

    def leftovers(ledger: Ledger, _bell: Bell) -> None:
        """Tokens of phases that are over, of processes that died."""
        desk.tokens.revoke_leftovers(ledger.now(), partial(fetches, ledger))

    def past(ledger: Ledger, _bell: Bell) -> None:
        """Finished runs past the days that they are kept."""
        retention.expire(ledger, held.keep_days * 86_400_000)

    def turns(_ledger: Ledger, _bell: Bell) -> None:
        """Review comments that waited for a run which ended."""
        desk.next_turn.sweep()

    def epoch(_ledger: Ledger, _bell: Bell) -> None:
        desk.epoch().bump()

    tidy = every(TIDY, past)
    keep(Role.DESK, partial(connect, held.redis_url), epoch, unheard, leftovers, turns, tidy)


def _show(held: DeskSettings, key: RSAPrivateKey) -> None:
    """A process of its own, so that a slow GitHub never holds up the keeper's wake-ups. It hardly
    waits for a turn to write: another installation's run may have something to show."""
    desk = desk_of(held, key, HURRIED_MS)
    progress = Progress(
        desk.access.write,
        desk.ledger.now,
        journal=desk.ledger.journal,
        latest=partial(_newest, desk.ledger),
    )

    def shown(ledger: Ledger, _bell: Bell) -> None:
        for run_id in ledger.runs_without_end():
            run = ledger.readable(run_id)
            if run is not None:
                progress(run)
        progress.settle()

    lead(f"{Role.DESK}-progress", partial(connect, held.redis_url), shown)


def _sweep(held: DeskSettings, key: RSAPrivateKey) -> None:
    """A process of its own as well: looks for what GitHub could not deliver, unless its list is
    read anyway, and for labelled issues that nobody told of."""
    desk = desk_of(held, key)
    redeliver = Redeliver(Deliveries(desk.app), desk.ledger, desk.ledger.now)
    survey = Overdue(
        desk.ledger,
        desk.front(),
        partial(installations, desk.app),
        desk.repositories,
        desk.access.client,
        Stuck(desk.ledger, desk.running, desk.access.write),
    )

    removed = Removed(desk.ledger, desk.app)

    def epoch(_ledger: Ledger, _bell: Bell) -> None:
        desk.epoch().look()

    def erased(_ledger: Ledger, _bell: Bell) -> None:
        removed()

    def missed(_ledger: Ledger, _bell: Bell) -> None:
        redeliver()

    def overdue(_ledger: Ledger, _bell: Bell) -> None:
        survey()

    passes = [epoch, every(held.sweep_seconds, erased), every(held.survey_seconds, overdue)]
    if held.intake == "webhook":
        passes.append(every(held.sweep_seconds, missed))
    lead(f"{Role.DESK}-sweeper", partial(connect, held.redis_url), *passes)


def _listen_in(held: DeskSettings, key: RSAPrivateKey) -> None:
    """With `intake: poll` or `both`: deliveries are read from GitHub's own list every few
    seconds."""
    poll = _poll(desk_of(held, key))

    def polled(_ledger: Ledger, _bell: Bell) -> None:
        poll()

    passes = every(held.poll_seconds, polled)
    lead(f"{Role.DESK}-poller", partial(connect, held.redis_url), passes)


def _poll(desk: Desk) -> Poll:
    ledger, bell = desk.ledger, desk.bell
    return Poll(
        Deliveries(desk.app),
        ledger,
        ring=lambda key: ring_again(ledger, bell, key),
        now=ledger.now,
        clock=time.monotonic,
        bots=desk.held.bots,
        missed=desk.held.intake == "both",
    )


def _weigh(held: DeskSettings, key: RSAPrivateKey) -> None:
    """A process of its own: approvals that are due, and pull requests that nobody looks at yet."""
    approvals = desk_of(held, key).approvals()
    searched = [0]

    def weighed(ledger: Ledger, _bell: Bell) -> None:
        if ledger.now() - searched[0] >= SEARCH_MS:
            approvals.enrol(SEARCHED)
            searched[0] = ledger.now()
        approvals.pass_over()

    lead(f"{Role.DESK}-approvals", partial(connect, held.redis_url), weighed)


def ring_again(ledger: Ledger, bell: Bell, key: str) -> None:
    """Ring the desk for an event, unless its last wake-up waits in the queue or was just now."""
    count = ledger.ring_again(key, UNHANDLED_MS)
    if count:
        bell.ring(Role.DESK, JOB_EVENT, key, event_job(key, count))


def _newest(ledger: Ledger, run_id: str) -> Run | None:
    """The run as it is now, None once its Change's sticky comment is a later run's."""
    run = ledger.run(run_id)
    change = ledger.change(run.change) if run is not None else None
    return run if change is not None and change.runs[-1] == run_id else None


def fetches(ledger: Ledger, run_id: str) -> bool:
    """Whether the run may be fetching: it has a live lease and is where one fetches (the gate does
    where a revision's head moved)."""
    try:
        row = ledger.row(run_id)
    except Fault:
        return True  # a row that cannot be read now: nobody takes its token on a guess
    if row is None or row.lease <= ledger.now():
        return False
    return row.run.state in (State.PREPARE, State.GATE)
