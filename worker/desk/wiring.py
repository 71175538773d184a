"""The desk's composition root: the App key, the signing key, and everything that writes."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator, Mapping
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
from app.domain.record import JOB_EVENT
from app.domain.redact import Redactor
from app.domain.run import Run
from app.domain.state import ENDS, FOLLOWING, OWNER, Kind, Role, State
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
from worker.desk.github.auth import App, fresh_key
from worker.desk.github.survey import labelled, repositories
from worker.desk.greeting import greet_waiting
from worker.desk.kit import RUNNING, DeskKit, counted
from worker.desk.next_turn import NextTurn
from worker.desk.pace import LONGEST_MS
from worker.desk.remains import of_update, remains
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
from worker.desk.tokens import Tokens, answer
from worker.lapse import owner_of
from worker.queue import Bell
from worker.settings.desk import DeskSettings
from worker.settings.doctor import doctor_settings_of
from worker.store.approvals import Approvals
from worker.store.caps import Caps
from worker.store.connect import connect
from worker.store.epoch import Epoch
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

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Desk:
    """Everything that lives as long as the process."""

    held: DeskSettings
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
            acts=self.access.acts,
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
            greet_waiting(event, self.front())
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
                self.app, doctor_settings_of(self.held), run.repository.owner, run.repository.name
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


def desk_of(held: DeskSettings, key: RSAPrivateKey, longest: int = LONGEST_MS) -> Desk:
    """Everything of one process; `longest` is how long it waits for its turn to write (ms)."""
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
