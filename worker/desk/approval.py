"""The checks `patchwarrant/approval` and `patchwarrant/gate` on our pull requests, looked at
anew whenever one may change.

The event only says where to look; what is said comes from live reads alone (docs/approval.md). One
process looks at a Change at a time; whoever finds it taken leaves the mark for that one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from app.domain.approval import CHECK, Facts, Standing, output, seal_of, standing
from app.domain.branch import BRANCH
from app.domain.ci_repair import TOLD as RED
from app.domain.errors import Halt, Missing, Refused, Stop, Unavailable, Uncertain
from app.domain.event import Event, EventKind
from app.domain.merge_gate import CHECK as GATE
from app.domain.permissions import Phase
from app.domain.ports.approval import ApprovalReader, CheckView
from app.domain.ports.views import PullAct, PullView
from app.domain.ready import Passed
from app.domain.record import ChangeRow, JournalEntry
from app.domain.repo_config import Approval, RepoConfig
from app.domain.run import Run
from app.domain.triggers import CI_TOLD, PUSH
from worker.desk.authority import require_repository
from worker.desk.bystanders import Bystanders
from worker.desk.gate_look import EXTERNAL as GATES
from worker.desk.gate_look import GateLook
from worker.desk.kit import Write
from worker.desk.readying import Readying
from worker.desk.weighed import Known, facts_of
from worker.store.approvals import Approvals

AGAIN_MS = 30 * 60_000  # until the keeper looks again without an event: lost roles
RETRY_MS = 20_000  # after a look that could not be finished
LOCK_MS = 120_000
BATCH = 20
ROUNDS = 5  # looks in a row, while events keep coming
EXTERNAL = "approval:"
DRAFTED = "pull_request.converted_to_draft"
PRESSED = "check_run.rerequested"
log = logging.getLogger(__name__)


class Rows(Protocol):
    """What of the ledger is read here."""

    def event(self, key: str) -> Event | None: ...

    def run(self, run_id: str) -> Run | None: ...

    def runs(self, limit: int) -> list[Run]: ...

    def change(self, change_id: str) -> ChangeRow | None: ...

    def journal(self, run_id: str) -> list[JournalEntry]: ...

    def now(self) -> int: ...


@dataclass(frozen=True)
class ApprovalDesk:
    """Looks at approvals. `weigh` gives live reads for a run's repository; `owner` names this
    process; `owners` is the operator's allow-list in lower case. Without `gates` only approvals are
    looked at; `acts` is `Readying`'s."""

    ledger: Rows
    rows: Approvals
    weigh: Callable[[Run], AbstractContextManager[ApprovalReader]]
    write: Write
    config_of: Callable[[bytes], RepoConfig]
    owner: str
    owners: frozenset[str]
    gates: GateLook | None = None
    acts: Callable[[Run, int], Sequence[PullAct]] = lambda _run, _pull: ()

    def others(self, event: Event, asking: Run) -> str:
        """What is said on a pull request that is not ours. Raises `Unavailable`, `Uncertain`."""
        theirs = Bystanders(self.ledger, self.weigh, self.write, self.config_of, self.owners)
        return theirs.told(event, asking)

    def mark(self, event: Event) -> tuple[str, ...]:
        """Note that what `event` tells of may change approvals; the Changes concerned."""
        changes = tuple(self._concerned(event))
        now = self.ledger.now()
        for change in changes:
            if (event.told, event.issue) == (DRAFTED, change.pull):
                self.rows.drafted(change.id)  # first: a look that is under way may see it still
            if event.told == PRESSED:
                self.rows.try_again(change.id)
            self.rows.mark(change.repository, change.id, now)
            told = (event.told, event.issue) == ("pull_request.synchronize", change.pull)
            if told and event.sender.kind == "User" and event.sender.id:
                self.rows.pushed(change.id, event.sender)
        return tuple(change.id for change in changes)

    def published(self, run: Run) -> tuple[str, ...]:
        """A run has a pull request, or new evidence for one: look at once."""
        change = self.ledger.change(run.change) if run.publication.commit else None
        if change is None or not change.pull or not change.open:
            return ()
        self.rows.mark(change.repository, change.id, self.ledger.now())
        return (change.id,)

    def look(self, changes: Iterable[str]) -> None:
        """Look at each Change now. Never raises a `Stop`: what fails stays due."""
        for change in changes:
            try:
                self._alone(change)
            except Stop as stop:
                log.warning("approval of Change %s: %s", change, stop)

    def pass_over(self) -> None:
        """The keeper's pass: everything that is due."""
        self.look(self.rows.due(self.ledger.now(), BATCH))

    def enrol(self, newest: int) -> None:
        """Find Changes with an open pull request among the newest runs; a crash may have come
        between the publication and its first look."""
        now = self.ledger.now()
        for run in self.ledger.runs(newest):
            change = self.ledger.change(run.change) if run.publication.commit else None
            if change is not None and change.open and change.pull:
                self.rows.enrol(change.repository, change.id, now)

    # -- which

    def _concerned(self, event: Event) -> Iterable[ChangeRow]:
        if event.told == PRESSED:
            kind, _, name = event.text.partition(":")
            found = [self.ledger.change(name)] if f"{kind}:" in (EXTERNAL, GATES) else []
        elif event.told == PUSH or event.told.startswith("member."):
            # A push is looked at where it may go into; a person's role may count anywhere.
            found = self._looked_at(event.repository.id)
            if event.told == PUSH:
                found = [one for one in found if one and self._goes_into(one, event.branch)]
        elif event.told.startswith("pull_request") or event.told in (*CI_TOLD, RED):
            name_of = BRANCH.fullmatch(event.branch)
            found = [self.ledger.change(name_of["change"])] if name_of else []
            found += self._with_head(event)
        elif event.kind is EventKind.REVIEW:  # a command in a review that may approve as well
            found = self._looked_at(event.repository.id)
            found = [one for one in found if one and one.pull == event.issue]
        else:
            found = []
        here = event.repository.id
        return [one for one in found if one is not None and one.repository == here and one.pull]

    def _with_head(self, event: Event) -> list[ChangeRow | None]:
        """The Changes whose head another pull request shows as well: a check belongs to the commit,
        and would count there."""
        if not event.head or BRANCH.fullmatch(event.branch):
            return []
        here = self._looked_at(event.repository.id)
        return [one for one in here if one is not None and event.head in self._commits(one)]

    def _commits(self, change: ChangeRow) -> set[str]:
        """What a Change's head may be: what we published, and where a check was shown last."""
        shown = str(self.rows.shown(change.id).get("head", ""))
        return {shown, *(run.publication.commit for run in self._runs(change))} - {""}

    def _looked_at(self, repository: int) -> list[ChangeRow | None]:
        """The Changes of a repository that are looked at; what the ledger lost is dropped."""
        found = []
        for name in self.rows.of(repository):
            change = self.ledger.change(name)
            if change is None:
                self.rows.drop(repository, name)
            found.append(change)
        return found

    def _goes_into(self, change: ChangeRow, branch: str) -> bool:
        contracts = [run.contract for run in self._runs(change) if run.contract is not None]
        return not contracts or contracts[-1].base_branch == branch

    def _runs(self, change: ChangeRow) -> list[Run]:
        found = (self.ledger.run(one) for one in change.runs)
        return [run for run in found if run is not None]

    # -- one look

    def _alone(self, name: str) -> None:
        if not self.rows.lock(name, self.owner, LOCK_MS):
            return
        try:
            for _ in range(ROUNDS):
                mine = self.ledger.now() + RETRY_MS
                self.rows.set(name, mine)
                following = self._looked(name)
                if following is None or self.rows.settle(name, mine, following):
                    return
        finally:
            self.rows.unlock(name, self.owner)

    def _looked(self, name: str) -> int | None:
        """When to look again, None for a Change that is over."""
        change = self.ledger.change(name)
        runs = self._runs(change) if change is not None else []
        if change is None or not runs:  # gone with its installation, or past its days
            self.rows.forget(name)
            return None
        try:
            return self._weighed(change, runs)
        except (Unavailable, Uncertain) as away:
            log.info("approval of Change %s: %s", name, away)
            return self.ledger.now() + RETRY_MS
        except (Refused, Halt) as refusal:
            log.warning("approval of Change %s cannot be told: %s", name, refusal)
            return self.ledger.now() + AGAIN_MS

    def _weighed(self, change: ChangeRow, runs: list[Run]) -> int | None:
        known = Known(runs, self.ledger.event, self.ledger.journal, self.rows.pushers(change.id))
        with self.weigh(runs[-1]) as reader:
            require_repository(reader, self.owners)
            view = self._pull(reader, change)
            if view is None:
                self.rows.drop(change.repository, change.id)
                return None
            facts = self._facts(reader, view, known)
            shown = reader.checks(view.head_sha, CHECK)
            gate_shown = reader.checks(view.head_sha, GATE)
        found = standing(facts)
        self._superseded(change, runs[-1], view)
        self._shown(change, runs[-1], facts, found, shown)
        if self.gates is not None and facts.state == "open":
            through = self.gates.gate(runs, facts)
            self._mine(change.id)
            ready = Readying(self.rows, self.write, self.acts, self._mine, self.ledger.now)
            said = ready.said(change.id, through)
            self.gates.show(change.id, runs[-1], facts.head, through, gate_shown, said)
            self._mine(change.id)
            ready.act(change.id, runs, facts, Passed(through.passed, found.approved), view)
            now = ready.said(change.id, through)
            if now != said:
                self.gates.show(change.id, runs[-1], facts.head, through, (), now)
        if facts.state == "open":
            return self.ledger.now() + AGAIN_MS
        self.rows.drop(change.repository, change.id)
        return None

    def _mine(self, change: str) -> None:
        """Raise `Unavailable` where the lock ran out: what was read may be of before by now."""
        if not self.rows.keep_lock(change, self.owner, LOCK_MS):
            raise Unavailable("somebody else may have looked at this pull request by now")

    def _pull(self, reader: ApprovalReader, change: ChangeRow) -> PullView | None:
        """The Change's pull request, None where that is none any more."""
        try:
            view = reader.pull(change.pull)
        except Missing:
            return None
        mine = view.head_ref == change.branch and view.head_repository == change.repository
        return view if mine else None

    def _facts(self, reader: ApprovalReader, view: PullView, known: Known) -> Facts:
        """The facts; where GitHub refuses to tell one of them, that is the fact."""
        try:
            return facts_of(reader, view, known, self.config_of)
        except Refused as refusal:
            state = "merged" if view.merged else view.state
            mode, least = Approval.NOT_REQUESTER, "write"
            return Facts(state, view.head_sha, view.base_ref, mode, least, None, amiss=str(refusal))

    def _shown(
        self,
        change: ChangeRow,
        run: Run,
        facts: Facts,
        found: Standing,
        shown: tuple[CheckView, ...],
    ) -> None:
        """Write the check run where it does not say that already; a merged one stays as it was."""
        title, summary = output(found, facts)
        conclusion = "success" if found.approved else "action_required"
        external, seal = f"{EXTERNAL}{change.id}", seal_of(summary)
        there = next((one for one in shown if one.external_id == external), None)
        said = there is not None and (there.status, there.conclusion) == ("completed", conclusion)
        if facts.state == "merged" or (said and there and seal_of(there.summary) == seal):
            return
        self._written(change, run, facts.head, conclusion, title, summary)

    def _superseded(self, change: ChangeRow, run: Run, view: PullView) -> None:
        """A green check on a head of before would count for whoever opens that commit again."""
        last = self.rows.shown(change.id)
        head = str(last.get("head", ""))
        if head in ("", view.head_sha) or last.get("conclusion") != "success":
            return
        title = "Another head came"
        text = f"This was approved, and then the branch moved on to `{view.head_sha[:12]}`."
        self._written(change, run, head, "action_required", title, text)

    def _written(
        self, change: ChangeRow, run: Run, head: str, conclusion: str, title: str, summary: str
    ) -> None:
        """One check run a head, found again by its external id; recorded before and after."""
        self._mine(change.id)
        about = {"head": head, "conclusion": conclusion, "seal": seal_of(summary)}
        if conclusion == "success" or self.rows.shown(change.id).get("head") != head:
            self.rows.show(change.id, {**about, "done": False})
        external = f"{EXTERNAL}{change.id}"
        with self.write(run, Phase.EVIDENCE) as writer:
            check = writer.check_run(CHECK, head, external, conclusion, title, summary, "")
        self.rows.show(change.id, {**about, "check": check, "done": True})
