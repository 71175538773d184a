"""What goes from the ledger, and when: finished runs past their days, and removed installations.

docs/retention.md has the table of all row families; a test holds it against the key names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from app.domain import record
from app.domain.errors import Halt, IntegrityError, Reason
from app.domain.run import Run
from app.domain.scripts.forgetting import FORGET
from app.domain.state import ENDS, Signal
from worker.store import codec
from worker.store.ledger import Ledger

BATCH = 500  # runs in one pass
LEASE_MS = 30_000
_EVENTS = record.event_key("")


def expire(ledger: Ledger, keep_ms: int) -> int:
    """Forget runs that ended `keep_ms` ago or more; how many went. What is at work, waits, or has
    an open pull request stays."""
    before = ledger.now() - keep_ms
    gone = 0
    old = ledger.calls.command("ZRANGEBYSCORE", record.RUNS, "-inf", before)
    for run_id in old:
        gone += forget(ledger, run_id.decode(), keep_ms)
        if gone >= BATCH:
            break
    ledger.calls.command(
        "ZREMRANGEBYSCORE", record.STORES, "-inf", ledger.now() - record.STORES_SECONDS * 1000
    )
    return gone


def forget(ledger: Ledger, run_id: str, keep_ms: int, *, erase: bool = False) -> bool:
    """Take a run that is over out of the ledger with all that is its own; False where it may not
    go yet. `erase` is for a removed installation."""
    row = record.run_key(run_id)
    change, event = (
        (part or b"").decode() for part in ledger.calls.command("HMGET", row, "change", "event")
    )
    journal, held = record.journal_key(run_id), record.held_key(run_id)
    rest = [key for key in record.rows_of_run(run_id) if key not in (row, journal, held)]
    keys = (
        row, record.DUE, record.RUNS, record.EVENTS_OPEN, held, record.change_key(change),
        journal, record.event_key(event), *rest,
    )  # fmt: skip
    words = (
        run_id, keep_ms, int(erase), change, event, record.SCHEMA,
        record.blob_key(""), record.holders_key(""), record.memory_key(""), record.run_key(""),
        record.issue_prefix(), record.APPROVALS, record.WAITS, record.approvals_prefix(),
        *record.rows_of_change(change),
    )  # fmt: skip
    return bool(ledger.calls.script(FORGET, keys, words))


def erase(ledger: Ledger, installation: int) -> int:
    """Take out everything of a removed installation; how many runs are still held by a worker and
    have to be asked for again. Runs end here without a word: there is nobody to tell."""
    left, repositories = 0, set()
    for run in _runs_of(ledger, installation):
        repositories.add(run.repository.id)
        if not (_ended(ledger, run) and forget(ledger, run.id, 0, erase=True)):
            left += 1
    for key in _events_of(ledger, installation):
        ledger.calls.command("ZREM", record.EVENTS_OPEN, key)
        ledger.calls.command("DEL", record.event_key(key))
    ledger.calls.command("DEL", record.pace_key(installation))
    for repository in repositories:
        ledger.calls.command("ZADD", record.STORES, ledger.now(), repository)
    if not left:
        ledger.stays(installation)
    return left


def _runs_of(ledger: Ledger, installation: int) -> Iterator[Run]:
    for run_id in ledger.calls.command("ZRANGE", record.RUNS, 0, -1):
        run = ledger.readable(run_id.decode())
        if run is not None and run.installation == installation:
            yield run


def _events_of(ledger: Ledger, installation: int) -> Iterator[str]:
    cursor: bytes | int = 0
    while True:
        cursor, keys = ledger.calls.command("SCAN", cursor, "MATCH", f"{_EVENTS}*", "COUNT", 500)
        for key in keys:
            if key.decode().startswith(record.EVENTS_OPEN):
                continue
            name = key.decode().removeprefix(_EVENTS)
            try:
                event = ledger.event(name)
            except (codec.NewerSchema, IntegrityError):
                continue
            if event is not None and event.installation == installation:
                yield name
        if int(cursor) == 0:
            return


def _ended(ledger: Ledger, run: Run) -> bool:
    """Whether the run is over; one that nobody holds is ended here."""
    if run.state in ENDS and run.explained:
        return True
    ledger.cancel(run.id)  # whoever holds it stops
    lease = ledger.claim(run.id, "erasure", LEASE_MS)
    if lease is None:
        return False
    run = lease.run
    if run.state not in ENDS:
        why = Halt(Reason.INSTALLATION, "The App was removed from this account.").record
        run = replace(run, halt=why).moved(Signal.HALT)
    ledger.save(lease, replace(run, wait=None, explained=True), release=True)
    return True
