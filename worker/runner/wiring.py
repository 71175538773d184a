"""The runner's composition root: the only place that sees its logic and its adapters together."""

from __future__ import annotations

import gc
import logging
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial

from redis import Redis

from app.domain.check import Check, CheckResult
from app.domain.edit import Candidate
from app.domain.errors import Fault, Fenced, Stop, Unavailable
from app.domain.record import BLOB_CAP, JOB_TOKEN, Kept
from app.domain.redact import Redactor
from app.domain.repo_config import RepoConfig
from app.domain.run import Run
from app.domain.state import JUDGING, OWNER, Role, State
from worker import jobs, logs
from worker.carry import Carrier, Crew, Stage
from worker.config_file import config_of, workflow_of
from worker.keeping import keep
from worker.lapse import owner_of
from worker.processes import supervise
from worker.queue import Bell, listen
from worker.runner.agent.kit import Found, Kit, Search
from worker.runner.agent.salvage import salvage
from worker.runner.boxes import SandboxClient
from worker.runner.checks.environment import InEnvironment
from worker.runner.checks.run import Certifier
from worker.runner.checks.selected import Selected
from worker.runner.model.client import AnthropicModel
from worker.runner.model.pricing import CARD_ID, card
from worker.runner.repository.mirror import Store, store_path
from worker.runner.repository.search import Searcher
from worker.runner.repository.tidy import tidy
from worker.runner.stages.approval import approved
from worker.runner.stages.check_kit import CheckKit
from worker.runner.stages.edit import edit
from worker.runner.stages.gate import gate
from worker.runner.stages.locate import locate
from worker.runner.stages.plan import plan
from worker.runner.stages.prepare import prepare
from worker.runner.stages.verify import verify
from worker.runner.token_request import TokenRequests
from worker.settings.door import Door
from worker.settings.runner import RunnerSettings, runner_settings
from worker.store.connect import connect
from worker.store.hold import LedgerHold
from worker.store.ledger import Ledger

TIDY = 300.0  # seconds between two looks through the object stores
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Runner:
    """Everything that lives as long as the process."""

    held: RunnerSettings
    ledger: Ledger
    bell: Bell
    model: AnthropicModel
    sandbox: SandboxClient

    def crew(self, run: Run, hold: LedgerHold) -> Crew:
        """The stages for one held run."""
        objects = Store(store_path(self.held.stores, run.repository.id))
        requests = TokenRequests(self.ledger, self._ring_desk, self.held.server_url)
        fence = hold.lease.fence

        def fetch(wanted: Run) -> AbstractContextManager[tuple[str, str]]:
            return requests.fetch(wanted, fence)

        sandbox = self.sandbox.of(str(run.installation))
        checks = CheckKit(
            hold=hold,
            objects=objects,
            sandbox=sandbox,
            certify=InEnvironment(
                hold,
                objects,
                sandbox,
                run.contract.config if run.contract else RepoConfig(),
                Certifier(hold, objects, sandbox),
            ),
            fetch=fetch,
            config_of=config_of,
            workflow_of=workflow_of,
            draw=partial(secrets.token_hex, 16),
            knows=Redactor([self.held.model_key.value]).knows,
            earlier=self.ledger.run,
        )
        # A run that has begun keeps its model: thinking blocks are bound to it.
        name = run.model or self.held.model
        kit = Kit(
            hold=hold,
            model=self.model,
            rate=card(name),
            card=CARD_ID,
            objects=objects,
            sandbox=sandbox,
            search=_searching(Searcher(objects), hold),
            run_selected=_no_selection,
            delimiter=secrets.token_hex(8),
            clock=_milliseconds(self.ledger),
        )
        if hold.lease.crashes:  # a runner that died may have left its box behind
            with suppress(Unavailable):  # then its own limits end it
                sandbox.stop(run.id)
        return Crew(
            stages={
                State.PREPARE: prepare(checks),
                State.LOCATE: locate(kit),
                State.PLAN: plan(kit),
                State.EDIT: self._with_box(kit, hold, objects),
                State.VERIFY: verify(checks),
                State.GATE: gate(checks),
            },
            # What others made is whole as it is, and not ours to show as a patch.
            salvage=None if run.kind in JUDGING else self._salvage(kit, hold, objects),
        )

    def _salvage(self, kit: Kit, hold: LedgerHold, objects: Store) -> Stage:
        """What the journal knows better than the row; a cancelled run's work stays as a patch."""
        bring = salvage(kit)

        def brought(run: Run) -> Run:
            run = bring(run)
            if hold.heart.cancelled and run.candidate is not None and run.snapshot is not None:
                try:
                    _keep_patch(hold, objects, run.snapshot.start, run.candidate)
                except Fenced:
                    raise
                except Fault as gone:  # an ending is told without its patch rather than not at all
                    log.warning("run %s: its partial work could not be shown: %s", run.id, gone)
            return run

        return brought

    def _with_box(self, kit: Kit, hold: LedgerHold, objects: Store) -> Stage:
        """The edit stage with a long-lived container for its in-between checks."""

        def stage(run: Run) -> Run:
            assert run.snapshot is not None
            base, image = run.snapshot.start, run.snapshot.image
            approved(hold, kit.clock, run)
            with Selected(run.id, image, base, hold, objects, kit.sandbox) as box:
                told = edit(replace(kit, run_selected=box.run_selected))(run)
            approved(hold, kit.clock, told)  # an amended plan is another plan
            return told

        return stage

    def _ring_desk(self, request: str) -> None:
        # A worker waits for it: behind a backlog of events it would give up, and come again.
        self.bell.ring(Role.DESK, JOB_TOKEN, request, f"token-{request}", first=True)

    def carrier(self) -> Carrier:
        return Carrier(
            role=Role.RUNNER,
            ledger=self.ledger,
            crew=self.crew,
            wake=self._wake,
            clock=time.monotonic,
            owner=owner_of(Role.RUNNER),
            lease_ms=self.held.lease_ms,
            daily=self.held.daily,
            large_daily=self.held.large_daily,
        )

    def carry(self, run_id: str, *, large: bool) -> None:
        """Carry a run as a worker of one queue. One of class large that came to a worker of the
        others (its plan made it one meanwhile) is rung for where it belongs."""
        run = None if large else self.ledger.readable(run_id)
        if run is not None and run.large and OWNER[run.state] is Role.RUNNER:
            self._wake(run_id, Role.RUNNER)
            return
        self.carrier().carry(run_id)

    def _wake(self, run_id: str, role: Role) -> None:
        self.bell.run(role, run_id, self.ledger.wake(run_id, role))


def _keep_patch(hold: LedgerHold, objects: Store, base: str, candidate: Candidate) -> None:
    """Leave the work so far where the desk finds it for the ending's comment."""
    patch = objects.diff(base, objects.build(base, candidate.changes, hold.get))
    if len(patch) <= BLOB_CAP:
        hold.note(Kept.NOTE, {"patch": hold.put(patch)})


def _milliseconds(ledger: Ledger) -> Callable[[], int]:
    """The ledger's time without asking it each time: carried on by a clock that only grows."""
    began, at = time.monotonic_ns(), ledger.now()
    return lambda: at + (time.monotonic_ns() - began) // 1_000_000


def _searching(searcher: Searcher, hold: LedgerHold) -> Search:
    """The repository's search, which notices a cancel while it looks."""

    def search(tree: str, pattern: str, regex: bool, glob: str, offset: int) -> Found:
        return searcher.lines(tree, pattern, regex=regex, glob=glob, offset=offset, look=hold.look)

    return search


def _no_selection(
    _check: Check, _selectors: Sequence[str], _tree: str, _seconds: int
) -> tuple[CheckResult, str]:
    raise ValueError("Tests can be run only while the change is edited.")


def main(door: Door, _arguments: list[str]) -> int:
    """`python -m worker runner`: carry runs from prepare to gate until told to stop."""
    held = runner_settings(door)
    logs.configure([held.model_key.value])
    for warning in door.warnings:
        sys.stderr.write(f"runner: warning: {warning}\n")
    card(held.model)
    Ledger(connect(held.redis_url)).check_server()
    try:
        held.stores.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        sys.stderr.write(
            f"patchwarrant runner: {held.stores} cannot be made ({error.strerror}); "
            "set PATCHWARRANT_STATE to a folder of this user\n"
        )
        return 2
    gc.collect()
    gc.freeze()  # what is imported by now stays shared between the forked workers
    connected: Callable[[], Redis] = partial(connect, held.redis_url)
    bodies: dict[str, Callable[[], None]] = {
        f"worker-{number}": partial(_work, held, large=False) for number in range(held.workers)
    }
    bodies |= {
        f"large-{number}": partial(_work, held, large=True) for number in range(held.large_workers)
    }
    bodies["keeper"] = partial(keep, Role.RUNNER, connected)
    bodies["tidier"] = partial(_tidy, held)
    supervise(bodies)
    return 0


def _work(held: RunnerSettings, *, large: bool) -> None:
    redis = connect(held.redis_url)
    runner = Runner(
        held=held,
        ledger=Ledger(redis),
        bell=Bell(redis),
        model=AnthropicModel(held.model_key.value, held.model_url),
        sandbox=SandboxClient(held.sandbox, held.sandbox_tls),
    )
    jobs.install(run=partial(runner.carry, large=large))
    listen(Role.RUNNER, partial(connect, held.redis_url), large=large)


def _tidy(held: RunnerSettings) -> None:
    """Without a leader: every runner has object stores of its own."""
    ledger = Ledger(connect(held.redis_url))
    while True:
        try:
            tidy(
                held.stores,
                ledger.stores_to_go(),
                partial(_needed, ledger),
                older=ledger.now() / 1000 - held.keep_days * 86_400,
            )
        except Stop as stop:
            log.warning("object stores could not be looked through: %s", stop)
        time.sleep(TIDY)


def _needed(ledger: Ledger, repository: int) -> bool:
    runs = (ledger.run(run_id) for run_id in ledger.runs_without_end())
    return any(run is not None and run.repository.id == repository for run in runs)
