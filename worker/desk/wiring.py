"""The desk's composition root: the App key, the signing key, and everything that writes."""

from __future__ import annotations

import gc
import logging
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from app.domain.budget import LARGE, Limits
from app.domain.doctor import Unseen, summary
from app.domain.doctor_rules import examine as examine_settings
from app.domain.errors import Fault, Fenced, Halt
from app.domain.event import Repository
from app.domain.overdue import Labelled
from app.domain.permissions import Phase
from app.domain.record import JOB_EVENT, event_job
from app.domain.redact import Redactor
from app.domain.run import Run
from app.domain.state import ENDS, FOLLOWING, OWNER, Kind, Role, State
from worker import jobs, logs, settings
from worker.attest import bundle
from worker.attest.attestation import statements
from worker.attest.signing import Signer
from worker.carry import Carrier, Crew
from worker.config_file import config_of
from worker.desk import doctor
from worker.desk.approval import ApprovalDesk
from worker.desk.connect import Access
from worker.desk.events import EventDesk, handle_event
from worker.desk.gate_look import GateLook
from worker.desk.github.auth import App, KeyProblem, fresh_key, load_key
from worker.desk.github.deliveries import Deliveries
from worker.desk.github.survey import installations, labelled, repositories
from worker.desk.kit import RUNNING, DeskKit, counted
from worker.desk.missed import Redeliver
from worker.desk.next_turn import NextTurn
from worker.desk.overdue import Overdue
from worker.desk.pace import HURRIED_MS, LONGEST_MS
from worker.desk.polling import Poll
from worker.desk.progress import Progress
from worker.desk.remains import of_update, remains
from worker.desk.removed import Removed
from worker.desk.stages.admit import admit
from worker.desk.stages.aside import aside
from worker.desk.stages.certify_again import certify_again
from worker.desk.stages.examine import examine
from worker.desk.stages.explain import explain
from worker.desk.stages.follow import follow
from worker.desk.stages.publish import publish
from worker.desk.stages.readmit import readmit
from worker.desk.stages.renew import renew
from worker.desk.stages.unhold import unhold
from worker.desk.stages.vouch import vouch
from worker.desk.stuck import Stuck
from worker.desk.tokens import Tokens, answer
from worker.keeping import every, keep, lead
from worker.lapse import owner_of
from worker.processes import supervise
from worker.queue import Bell, listen
from worker.store import retention
from worker.store.approvals import Approvals
from worker.store.caps import Caps
from worker.store.connect import connect
from worker.store.epoch import Epoch, OtherLedger
from worker.store.hold import LedgerHold
from worker.store.ledger import Ledger
from worker.store.pacing import Pacing
from worker.store.sealing import Seal
from worker.store.turns import Turns

# What an operator's instance allows at most; a repository's configuration moves inside it.
CEILING = Limits(
    turns=40, calls=200, repairs=10, dollars=20_000_000, wall=7_200, repeats=5, try_outs=60
)
# The same for a run of class large; its dollars are a setting.
LARGE_CEILING = Limits(
    turns=100, calls=500, repairs=10, wall=14_400, repeats=5, try_outs=120, files=LARGE.files
)
LOOK_MS = 3_600_000  # between two looks at one repository's settings, for the evidence
TIDY = 300.0  # seconds between two looks for what is past its days
SEARCH_MS = 60_000  # between two searches for pull requests whose approval nobody looks at
SEARCHED = 200  # newest runs
UNHANDLED_MS = 5_000  # how long an event may wait for its wake-up before the keeper rings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Desk:
    """Everything that lives as long as the process."""

    held: settings.DeskSettings
    ledger: Ledger
    bell: Bell
    access: Access
    tokens: Tokens
    signer: Signer
    app: App
    next_turn: NextTurn
    name: str

    def approvals(self) -> ApprovalDesk:
        """How approvals are looked at, in this process's name."""
        return ApprovalDesk(
            ledger=self.ledger,
            rows=Approvals(self.ledger.calls),
            weigh=self.access.weigh,
            gates=GateLook(self.access.reports, self.access.write, self.ledger),
            write=self.access.write,
            config_of=config_of,
            owner=self.name,
            owners=frozenset(owner.lower() for owner in self.held.owners),
        )

    def crew(self, run: Run, hold: LedgerHold) -> Crew:
        """The stages for one held run."""
        dear = self.held.large_dollars
        kit = DeskKit(
            hold=hold,
            read=partial(self.access.read, own=hold.own),
            write=partial(self.access.write, own=hold.own),
            event=self.ledger.event,
            config_of=config_of,
            statements=statements,
            sign=self.signer.sign,
            bundle=bundle.make,
            attach=bundle.packed,
            journal_fault=self.ledger.journal_fault,
            paused=lambda: bool(self.ledger.paused()),
            now=self.ledger.now,
            owners=frozenset(owner.lower() for owner in self.held.owners),
            ceiling=CEILING,
            large=replace(LARGE_CEILING, dollars=dear) if dear else None,
            last_edit=self.ledger.last_edit,
            taking_off=self.ledger.taking_off,
            taken_off=self.ledger.taken_off,
            heard=self.ledger.heard,
            newer_trigger=self.ledger.newer_trigger,
            waiting=self.ledger.waiting,
            taken=self.ledger.taken,
            bots=self.held.bots,
            over_cap=self._over_cap,
            uncount=self._uncount,
            settings_of=partial(self._settings_of, hold),
            history=self.ledger.history,
            tell_oneself=self.ledger.add_event,
            journal=self.ledger.journal,
        )
        if run.kind is Kind.VERIFY:  # writes nothing that would have to be found again
            foreign = {State.ADMIT: examine(kit), State.PUBLISH: vouch(kit)}
            return Crew(stages=foreign, explain=explain(kit), aside=aside(kit))
        if run.kind in FOLLOWING:
            admits = unhold(kit) if run.kind is Kind.UNHOLD else follow(kit)
            again = {State.ADMIT: admits, State.PUBLISH: certify_again(kit)}
            return Crew(again, explain(kit), salvage=of_update(kit), aside=aside(kit))
        stages = {State.ADMIT: admit(kit), State.PUBLISH: publish(kit)}
        if run.kind is Kind.REVISE:
            stages = {State.ADMIT: readmit(kit), State.PUBLISH: renew(kit)}
        return Crew(stages, explain(kit), salvage=remains(kit), aside=aside(kit))

    def carrier(self) -> Carrier:
        return Carrier(
            role=Role.DESK,
            ledger=self.ledger,
            crew=self.crew,
            wake=self.wake,
            clock=time.monotonic,
            owner=owner_of(Role.DESK),
            lease_ms=self.held.lease_ms,
            daily=self.held.daily,
        )

    def epoch(self) -> Epoch:
        return Epoch(self.ledger.calls, self.held.signing_key.parent / "ledger.json")

    def carry(self, run_id: str) -> None:
        """Carry a run; where it ended, the review comments that waited for it have their turn, and
        where it published something, its approval is looked at."""
        self.epoch().look()
        self.carrier().carry(run_id)
        run = self.ledger.run(run_id)
        if run is not None and run.state in ENDS and run.explained:
            self.next_turn(run.change)
        if run is not None and run.publication.commit:
            approvals = self.approvals()
            approvals.look(approvals.published(run))

    def wake(self, run_id: str, role: Role) -> None:
        self.bell.run(role, run_id, self.ledger.wake(run_id, role))

    def event(self, key: str) -> None:
        """Open or answer a run for an event, and carry it on at once.

        Events of one issue are handled one after the other, in the order in which they came: two
        answers at the same moment would not see each other.
        """
        self.epoch().look()
        event = self.ledger.event(key)
        if event is None:
            return
        turns = Turns(self.ledger.calls, event.repository.id, event.issue)
        if not turns.take(token := secrets.token_hex(8), key):
            return  # whoever has the turn rings for this one
        try:
            run_id = handle_event(key, self.front())
        finally:
            waiting = turns.passed(token)
            if waiting:
                self.bell.ring(Role.DESK, JOB_EVENT, waiting, f"turn-{token}-{waiting}")
        if run_id is None:
            return
        run = self.ledger.run(run_id)
        if run is not None and run.state is not State.ADMIT:
            self.wake(run_id, OWNER[run.state])  # it got its answer, its approval or its end
            return
        self.carry(run_id)

    def front(self) -> EventDesk:
        """What every event is given."""
        return EventDesk(
            ledger=self.ledger,
            write=self.access.write,
            new_run_id=lambda: secrets.token_hex(6),
            now=self.ledger.now,
            owners=frozenset(owner.lower() for owner in self.held.owners),
            read=self.access.look,
            caps=Caps(self.ledger.calls, self.held.caps),
            bots=self.held.bots,
            own=self._own,
            approvals=self.approvals(),
            forgot=self.epoch().renewed,
        )

    @contextmanager
    def repositories(self, installation: int) -> Iterator[Iterator[Repository]]:
        """The repositories of an installation, as long as the block lasts."""
        with self.tokens.survey(installation, self.app.mint_survey) as held:
            yield repositories(self.app, held.token.secret)

    def _settings_of(self, hold: LedgerHold, run: Run) -> Mapping[str, Any]:
        """See `DeskKit.settings_of`; looked at once an hour for each repository."""
        name, now = f"doctor:{run.repository.id}", self.ledger.now()
        known = hold.recall(name)
        if known is not None and now - int(known["at"]) < LOOK_MS:
            return dict(known["summary"])
        try:
            with self.access.client(run, Phase.DOCTOR, hold.own) as client:
                facts = doctor.looked(client, doctor.unseen(), admin=False)
            if isinstance(facts.repository, Unseen):
                return {}
            beside = doctor.around(
                self.app, settings.doctor_of(self.held), run.repository.owner, run.repository.name
            )
        except Fenced:
            raise
        except (Fault, Halt) as no:
            log.info("the settings of %s were not looked at: %s", run.repository.full_name, no)
            return {}
        seen = replace(
            beside, repository=facts.repository, rulesets=facts.rulesets, branch=facts.branch,
            files=facts.files,
        )  # fmt: skip
        found = summary(examine_settings(seen))
        hold.remember(name, {"at": now, "summary": found})
        return found

    def _own(self) -> str:
        """The login of the App's own bot, from GitHub; asked only where a bot is allowed at all."""
        return f"{self.app.slug()}[bot]"

    def _over_cap(self, run: Run, limits: Mapping[str, int]) -> str:
        """See `DeskKit.over_cap`."""
        caps, scopes = Caps(self.ledger.calls, limits), counted(run)
        full = caps.over(scopes, run.event)
        if full:
            caps.give_back(scopes, run.event)
        return full

    def _uncount(self, run: Run) -> None:
        """See `DeskKit.uncount`."""
        shared = {name: whose for name, whose in counted(run).items() if name != "user"}
        Caps(self.ledger.calls, self.held.caps).give_back(shared, run.event)

    @contextmanager
    def running(self, asking: Run) -> Iterator[Iterator[Labelled]]:
        """The open issues of a repository that say that a run is at work."""
        with self.access.client(asking, Phase.SURVEY) as client:
            yield labelled(client, asking.installation, RUNNING)

    def token(self, request_id: str) -> None:
        """Answer the runner's token request."""
        request = self.ledger.take_request(request_id)
        if request is not None:
            found: Mapping[str, object] = answer(request, self._held, self.tokens)
            self.ledger.answer_request(request_id, found, 120)

    def _held(self, run_id: str) -> tuple[Run, int] | None:
        row = self.ledger.row(run_id)
        if row is None or row.lease <= self.ledger.now():
            return None
        return row.run, row.fence


def main(door: settings.Door, _arguments: list[str]) -> int:
    """`python -m worker desk`: admit, publish, explain until told to stop."""
    held = settings.desk(door)
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
        _desk(held, key).epoch().look()
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


def _desk(held: settings.DeskSettings, key: RSAPrivateKey, longest: int = LONGEST_MS) -> Desk:
    redis = connect(held.redis_url)
    ledger = Ledger(redis)
    app = App(
        held.app_id,
        key,
        held.api_url,
        now=lambda: ledger.now() / 1000,
        clock=time.monotonic,
        sleep=time.sleep,
        fresh=partial(fresh_key, held.app_key_file, held.app_key.value),
    )
    tokens = Tokens(ledger, app, Seal(held.seal.value), lambda: secrets.token_hex(4), ledger.now)
    access = Access(
        tokens,
        held.api_url,
        held.app_id,
        held.write_pause,
        time.monotonic,
        time.sleep,
        Redactor((held.app_key.value, held.seal.value)).redact,
        Pacing(ledger.calls, round(held.write_pause * 1000), longest, held.writes_an_hour),
    )
    bell = Bell(redis)
    next_turn = NextTurn(ledger, lambda event, name: bell.ring(Role.DESK, JOB_EVENT, event, name))
    name = f"desk-{secrets.token_hex(6)}"
    signer = Signer.load(held.signing_key)
    return Desk(held, ledger, bell, access, tokens, signer, app, next_turn, name)


def _work(held: settings.DeskSettings, key: RSAPrivateKey) -> None:
    desk = _desk(held, key)
    jobs.install(
        event=desk.event,
        run=desk.carry,
        token=desk.token,
    )
    listen(Role.DESK, partial(connect, held.redis_url))


def _keep(held: settings.DeskSettings, key: RSAPrivateKey) -> None:
    desk = _desk(held, key)

    def unheard(ledger: Ledger, bell: Bell) -> None:
        """Events whose wake-up was lost."""
        for event in ledger.unhandled_events(100, UNHANDLED_MS):
            ring_again(ledger, bell, event)

    def leftovers(ledger: Ledger, _bell: Bell) -> None:
        """Tokens of phases that are over, of processes that died."""
        desk.tokens.revoke_leftovers(ledger.now(), partial(_fetches, ledger))

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


def _show(held: settings.DeskSettings, key: RSAPrivateKey) -> None:
    """A process of its own, so that a slow GitHub never holds up the keeper's wake-ups. It hardly
    waits for a turn to write: another installation's run may have something to show."""
    desk = _desk(held, key, HURRIED_MS)
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


def _sweep(held: settings.DeskSettings, key: RSAPrivateKey) -> None:
    """A process of its own as well: looks for what GitHub could not deliver, unless its list is
    read anyway, and for labelled issues that nobody told of."""
    desk = _desk(held, key)
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


def _listen_in(held: settings.DeskSettings, key: RSAPrivateKey) -> None:
    """With `intake: poll` or `both`: deliveries are read from GitHub's own list every few
    seconds."""
    poll = _poll(_desk(held, key))

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


def _weigh(held: settings.DeskSettings, key: RSAPrivateKey) -> None:
    """A process of its own: approvals that are due, and pull requests that nobody looks at yet."""
    approvals = _desk(held, key).approvals()
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


def _fetches(ledger: Ledger, run_id: str) -> bool:
    """Whether the run may be fetching: it has a live lease and is where one fetches (the gate does
    where a revision's head moved)."""
    try:
        row = ledger.row(run_id)
    except Fault:
        return True  # a row that cannot be read now: nobody takes its token on a guess
    if row is None or row.lease <= ledger.now():
        return False
    return row.run.state in (State.PREPARE, State.GATE)
