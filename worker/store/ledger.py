"""The ledger: events, runs, Changes and leases as rows in Redis; the truth of the whole product.

Obeys the design's page on durable runs. Every method may raise `Unavailable`: Redis stayed away
longer than `patience`, or cannot write. All times are Redis milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from redis import Redis

from app.domain import record
from app.domain.branch import branch_name
from app.domain.errors import Fenced, IntegrityError, Missing, Waiting
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from app.domain.scripts.leases import BEAT, CLAIM, EXCUSE
from app.domain.scripts.runs import ANSWER, CANCEL, DUE, OPEN_RUN, SAVE, WAKE
from app.domain.scripts.spending import SPENT
from app.domain.state import ENDS, FOLLOWING, OWNER, Kind, Role, State
from worker.store import artifacts, codec, connect
from worker.store.calls import Calls, operation
from worker.store.changes import Changes
from worker.store.events import Events
from worker.store.exchange import Exchange
from worker.store.hold import LedgerHold, intent, journal, journal_fault
from worker.store.rows import Due, Lease, Opened, Opening, Row, Wake

GRACE = 2_000  # ms after a lease's end until the run is due again
HANDOVER = 5_000  # ms that the next role's wake-up gets before the keeper rings again
AGAIN_MS = 30_000  # until a wake-up that nobody answered is repeated (doubling)

RUNS = record.run_key("")
_ROLES, _STATES = frozenset(Role), frozenset(State)
CHANGES = record.change_key("")
SPEND = record.spend_key("")


class Ledger(Events, Changes, Exchange):
    """All rows. `durable=False` is for benchmarks: it skips the check of the server's settings."""

    def __init__(self, redis: Redis, *, durable: bool = True, patience: float = 10.0) -> None:
        super().__init__(Calls(redis, patience))
        self.redis = redis
        self.durable = durable

    def check_server(self) -> None:
        """Raise `Halt(NEEDS_OPERATOR)` unless the server keeps what it acknowledges."""
        if self.durable:
            connect.check_server(self.redis)

    def now(self) -> int:
        return self.calls.now()

    # -- runs

    def open_run(self, event_key: str, run: Run) -> Opened:
        """Open `run` for an event: one open Change an issue, one active run a Change.

        `run.change` is set here, but for kinds that go on with a Change: those name it, and answer
        `gone` where it is not the issue's open one. Called again after a crash it answers `known`.
        With `new` and `known` the event has its outcome. Raises `Missing` when there is no such
        event.
        """
        repository, wanted = run.repository.id, ""
        goes_on = run.kind in FOLLOWING or run.kind is Kind.REVISE
        follows = run.change if goes_on else ""
        if goes_on and not follows:
            raise ValueError(f"run {run.id} names no Change to go on with")
        keys = (
            record.event_key(event_key),
            record.run_key(run.id),
            record.issue_key(repository, run.issue),
            record.DUE,
            record.RUNS,
            record.EVENTS_OPEN,
        )
        while True:
            opened = replace(run, change=wanted or run.id)
            answer = self.calls.script(
                OPEN_RUN,
                keys,
                (
                    run.id,
                    codec.encode(opened),
                    record.SCHEMA,
                    OWNER[run.state],
                    run.state,
                    event_key,
                    wanted,
                    CHANGES,
                    RUNS,
                    repository,
                    run.issue,
                    branch_name(run.issue, run.id),
                    follows,
                ),
            )
            outcome, *rest = (part.decode() for part in answer)
            if outcome == "newer":
                codec.guard(rest[0], f"the Change of issue {run.issue}")
            if outcome == "missing":
                raise Missing(f"there is no event {event_key} in the ledger to open a run for")
            if outcome != "again":
                run_id, change, pull, waiting = rest
                return Opened(Opening(outcome), run_id, change, int(pull or 0), waiting)
            wanted = rest[0]  # the issue has an open Change: the run continues it

    def run(self, run_id: str) -> Run | None:
        """The run as last saved, without a lease."""
        version, data = self.calls.fields(record.run_key(run_id), "v", "data")
        if version is None or data is None:
            return None
        codec.guard(version, f"run {run_id}")
        return codec.run(data)

    def row(self, run_id: str) -> Row | None:
        """The run with its row's bookkeeping, for people and tests."""
        run = self.run(run_id)
        if run is None:
            return None
        names = ("rev", "fence", "lease", "crashes", "wakes", "cancel")
        numbers = [int(n or 0) for n in self.calls.fields(record.run_key(run_id), *names)]
        rev, fence, lease, crashes, wakes, cancel = numbers
        owner = self.calls.fields(record.run_key(run_id), "owner")[0] or b""
        due = int(self.calls.command("ZSCORE", record.DUE, run_id) or 0)
        return Row(run, rev, fence, owner.decode(), lease, crashes, wakes, due, cancel == 1)

    def runs(self, limit: int) -> list[Run]:
        """The newest runs first; rows of a newer schema are left out."""
        ids = self.calls.command("ZREVRANGE", record.RUNS, 0, limit - 1)
        found = []
        for run_id in ids:
            run = self.readable(run_id.decode())
            if run is not None:
                found.append(run)
        return found

    def readable(self, run_id: str) -> Run | None:
        """The run as `run` gives it; None also for a row that a newer version wrote."""
        try:
            return self.run(run_id)
        except codec.NewerSchema:
            return None

    def runs_without_end(self) -> list[str]:
        """Ids of runs that have not ended and told so, by wake time."""
        return [run.decode() for run in self.calls.command("ZRANGE", record.DUE, 0, -1)]

    def history(self, run: Run) -> list[Run]:
        """The runs of a run's Change, oldest first."""
        change = self.change(run.change)
        found = [self.run(one) for one in change.runs] if change is not None else []
        return [one for one in found if one is not None]

    # -- leases

    def claim(
        self, run_id: str, owner: str, lease_ms: int, role: Role | None = None
    ) -> Lease | None:
        """Take the run's lease; None when somebody holds it, the run is over, or its state belongs
        to another role than `role`.

        The fence grows with every claim. Raises `NewerSchema` (an `Unavailable`) for a row that a
        newer version wrote, which is left as it is.
        """
        answer = self.calls.script(
            CLAIM,
            (record.run_key(run_id), record.DUE),
            (owner, lease_ms, GRACE, record.SCHEMA, operation(), run_id, role or ""),
        )
        if answer[0] == b"newer":
            codec.guard(answer[1], f"run {run_id}")
        if answer[0] != b"ok":
            return None
        fence, rev, crashes, data, until, cancel, reply = answer[1:]
        return Lease(
            run=codec.run(data),
            rev=int(rev),
            fence=int(fence),
            owner=owner,
            crashes=int(crashes),
            lease_ms=lease_ms,
            until=int(until),
            cancelled=cancel == b"1",
            answer=reply.decode(),
        )

    def excuse(self, run_id: str, owner: str) -> bool:
        """`owner` lost Redis and lives to say so: its lease is given back, or its lapse counts as a
        crash no more. False where neither was there."""
        keys = (record.run_key(run_id), record.DUE)
        return bool(self.calls.script(EXCUSE, keys, (owner, record.SCHEMA, run_id)))

    def save(
        self, lease: Lease, run: Run, *, due_ms: int | None = None, release: bool = False
    ) -> Lease:
        """Keep `run`, if nobody else did since: compare-and-set on rev and fence, else `Fenced`.

        `due_ms` (Redis ms) is when to wake a run that waits. Without it a released run is due
        after a short while, in case the next role's wake-up gets lost, and a held one after its
        lease. The Change's row names its branch as the run's contract does. A run that ended and
        told so gives up lease and due time and frees its Change.
        """
        if run.id != lease.run_id:
            raise IntegrityError(f"lease of run {lease.run_id} cannot save run {run.id}")
        over = run.state in ENDS and run.explained
        answer = self.calls.fenced(
            SAVE,
            lease.fence,
            (record.run_key(run.id), record.DUE, record.change_key(run.change)),
            (
                lease.rev,
                codec.encode(run),
                run.state,
                OWNER[run.state],
                run.wait.waiting if run.wait else "",
                run.publication.pull,
                int(over),
                int(release),
                "" if due_ms is None else due_ms,
                HANDOVER if release else GRACE,
                run.id,
                SPEND,
                int(run.state in ENDS),
                record.SCHEMA,
                record.LARGE if run.large else "",
                run.branch if run.contract else "",
            ),
        )
        return replace(lease, run=run, rev=int(answer))

    def beat(self, lease: Lease, lease_ms: int) -> bool:
        """Keep the lease alive; True when a person asked for the end. Raises `Fenced`."""
        answer = self.calls.script(
            BEAT,
            (record.run_key(lease.run_id), record.DUE),
            (lease.fence, lease_ms, GRACE, lease.run_id),
        )
        if answer[0] != b"ok":
            raise Fenced(f"run {lease.run_id}: the lease with fence {lease.fence} is over")
        return bool(answer[2] == b"1")

    def hold(
        self,
        lease: Lease,
        *,
        daily: int,
        lease_ms: int | None = None,
        on_lost: Callable[[], None] | None = None,
        leave: Callable[[], bool] = lambda: False,
    ) -> LedgerHold:
        """The lease as `ports.Hold`; use it as a context, which keeps it alive by heartbeats.

        `daily` is the day's cap over everything, micro-dollars. `on_lost` is called once, from the
        heart's thread, when another worker took over or Redis was away for a whole lease. Once
        `leave()` is true, `look` raises `Handover`.
        """
        lasts = lease_ms or lease.lease_ms
        return LedgerHold(self.calls, lease, daily, lasts, GRACE, on_lost, leave)

    # -- what people say

    def cancel(self, run_id: str, why: str = "") -> bool:
        """Ask a run to end; False when there is none or it is over. One that ends already is left
        to tell its ending. `why` is as `cancelled.kept` makes it; the first one stays."""
        keys = (record.run_key(run_id), record.DUE)
        return bool(self.calls.script(CANCEL, keys, (run_id, why, *sorted(ENDS))))

    def answer(self, run_id: str, event_key: str, text: str) -> bool:
        """Hand a run that waits for an answer its answer (`text` goes into its journal as a note
        `{"answer", "event"}`) and make it due now; False when it does not wait for one."""
        self.run(run_id)  # a row of a newer version is not answered from here
        entry = codec.encode({"answer": text, "event": event_key})
        keys = (record.run_key(run_id), record.DUE, record.journal_key(run_id))
        words = (run_id, event_key, Waiting.ANSWER, Kept.NOTE, entry)
        return bool(self.calls.script(ANSWER, keys, words))

    def approve(self, run_id: str, event_key: str, digest: str, by: str) -> bool:
        """Let a run that waits for its plan's approval go on with the plan of that hash; False
        when it does not wait for one."""
        self.run(run_id)
        entry = codec.encode({"approved": digest, "by": by, "event": event_key})
        keys = (record.run_key(run_id), record.DUE, record.journal_key(run_id))
        words = (run_id, event_key, Waiting.PLAN, Kept.NOTE, entry)
        return bool(self.calls.script(ANSWER, keys, words))

    def publish(self, run_id: str, event_key: str, tree: str, by: str) -> bool:
        """Let a run that waits for that word publish the tree of that id; False when it does not
        wait for one."""
        entry = codec.encode({"publish": tree, "by": by, "event": event_key})
        keys = (record.run_key(run_id), record.DUE, record.journal_key(run_id))
        words = (run_id, event_key, Waiting.PUBLISH, Kept.NOTE, entry)
        return bool(self.calls.script(ANSWER, keys, words))

    # -- wake-ups

    def wake(self, run_id: str, role: Role, again_ms: int = AGAIN_MS) -> Wake:
        """Count a wake-up (for the job's id), 0 where the last one waits in its queue still; the
        run is due again after `again_ms`, doubled with each wake-up that no claim answered. Raises
        `Missing`."""
        queues = (record.queue_of(role, large=large) for large in (False, True))
        keys = (record.run_key(run_id), record.DUE, *map(record.waiting_jobs, queues))
        count, size = self.calls.script(WAKE, keys, (run_id, again_ms))
        if not int(count):
            raise Missing(f"there is no run {run_id} in the ledger")
        return Wake(max(0, int(count)), size.decode() == record.LARGE)

    def due(self, now: int, limit: int) -> list[Due]:
        """Runs past their wake time without a live lease, longest first."""
        flat = self.calls.script(DUE, (record.DUE,), (now, limit, RUNS))
        parts = [part.decode() for part in flat]
        found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        # A newer version's run is rung for, too; a state that is not known here is only named.
        return [
            Due(run_id, Role(role), State(state) if state in _STATES else state)
            for run_id, role, state in found
            if role in _ROLES
        ]

    # -- what a run leaves

    def journal(self, run_id: str) -> list[JournalEntry]:
        """A run's journal, oldest first, without a lease."""
        return journal(self.calls, run_id)

    def journal_fault(self, run_id: str) -> str:
        """Where a run's journal was tampered with, "" where it is as it was written."""
        return journal_fault(self.calls, run_id)

    def intent(self, run_id: str, key: str) -> dict[str, Any] | None:
        """The record of an external write of a run, or None, without a lease."""
        return intent(self.calls, run_id, key)

    def artifact(self, digest: str) -> bytes:
        """Bytes kept before. Raises `Missing`, `IntegrityError`."""
        return artifacts.get(self.calls, digest)

    def spent_today(self) -> int:
        """Micro-dollars spent and reserved today (UTC) over everything."""
        return int(self.calls.script(SPENT, (), (SPEND,)))
