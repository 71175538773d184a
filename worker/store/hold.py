"""A live lease as the stages see it: `ports.Hold` on Redis, kept alive by a heart of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from app.domain import chain, record
from app.domain.cancelled import halt_of
from app.domain.errors import Fenced, Halt, Handover, Reason, Unavailable
from app.domain.record import JournalEntry, Kept
from app.domain.scripts.journal import INTENT, NOTE, REMEMBER
from app.domain.scripts.leases import BEAT
from app.domain.scripts.spending import PAID, RESERVE, SETTLE
from worker.store import artifacts, codec
from worker.store.calls import Calls
from worker.store.rows import Lease

LOOK_SECONDS = 2.0  # seconds between two looks at the cancel flag, less for short leases
SPEND = record.spend_key("")
KEEP_SPEND = 400 * 86_400  # seconds
log = logging.getLogger(__name__)


class Heart:
    """A thread that keeps a lease alive, and notices when it is lost or the run was cancelled.

    Redis away for a whole lease counts as lost, by this process's own clock: by then another worker
    may have taken over.
    """

    def __init__(
        self, calls: Calls, lease: Lease, lease_ms: int, grace: int, lost: Callable[[], None] | None
    ) -> None:
        self.calls = Calls(calls.redis, 0)
        self.lease = lease
        self.seconds = lease_ms / 1000
        self.words = (lease.fence, lease_ms, grace, lease.run_id)
        self.on_lost = lost
        self.lost = ""
        self.cancelled = lease.cancelled
        self.good = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"heart {lease.run_id}", daemon=True)

    def beat(self) -> None:
        """One beat; after it, `lost` or `cancelled` may be set. Raises `Unavailable`."""
        began = time.monotonic()
        keys = (record.run_key(self.lease.run_id), record.DUE)
        answer = self.calls.script(BEAT, keys, self.words)
        if answer[0] == b"released":
            self.lost = "the lease was given back"
            self.ended.set()
        elif answer[0] != b"ok":
            self._lose("another worker took the run over")
        else:
            self.good = began
            self.cancelled = answer[2] == b"1"

    def late(self) -> bool:
        """No beat got through for a whole lease."""
        return time.monotonic() - self.good > self.seconds

    def look(self) -> None:
        """Raise `Fenced` or `Halt(CANCELLED)`; reads two flags and a clock."""
        if not self.lost and (self.late() or self.cancelled):
            self._ask()
        self.own()
        if self.cancelled:
            why = self.calls.command("HGET", record.run_key(self.lease.run_id), "cancel_why")
            raise halt_of(why.decode() if why else "")

    def own(self) -> None:
        """Raise `Fenced` unless the lease is still ours; a cancel is no matter here."""
        if not self.lost and self.late():
            self._ask()
        if self.lost:
            raise Fenced(f"run {self.lease.run_id}: {self.lost}; this worker stops")

    def _ask(self) -> None:
        """Before giving up: this process may have slept through its beats with the lease still its
        own, and a cancel is over once the run's ending was saved."""
        try:
            self.beat()
        except Unavailable as away:
            if self.late():
                self._lose(f"no heartbeat got through for {self.seconds:.0f} s ({away})")

    def _run(self) -> None:
        while not self.ended.wait(min(self.seconds / 3, LOOK_SECONDS)):
            try:
                self.beat()
            except Unavailable as away:
                log.warning("run %s: heartbeat failed: %s", self.lease.run_id, away)
                if self.late():
                    self._lose(f"Redis was away for {self.seconds:.0f} s")

    def _lose(self, why: str) -> None:
        first, self.lost = not self.lost, self.lost or why
        self.ended.set()
        if first and self.on_lost is not None:
            self.on_lost()

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        self.thread.join(timeout=10)


class LedgerHold:
    """`ports.Hold`. As a context it beats; without it, it holds only as long as the lease lasts.

    For one thread; `look` may be called from any.
    """

    def __init__(
        self,
        calls: Calls,
        lease: Lease,
        daily: int,
        lease_ms: int,
        grace: int,
        on_lost: Callable[[], None] | None = None,
        leave: Callable[[], bool] = lambda: False,
    ) -> None:
        self.calls = calls
        self.leave = leave
        self.lease = lease
        self.daily = daily
        self.heart = Heart(calls, lease, lease_ms, grace, on_lost)

    def __enter__(self) -> Self:
        self.heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.heart.stop()

    def look(self) -> None:
        self.heart.look()
        if self.leave():
            raise Handover(f"run {self.lease.run_id}: this worker ends; another one goes on")

    def own(self) -> None:
        """Raise `Fenced` unless the lease is still ours; asked before every request to GitHub."""
        self.heart.own()

    def note(self, kind: Kept, data: Mapping[str, Any]) -> JournalEntry:
        text = codec.encode(data)
        keys = (self._row, record.journal_key(self.lease.run_id))
        name = self.calls.fenced(NOTE, self.lease.fence, keys, (kind, text)).decode()
        return JournalEntry(name, kind, codec.mapping(text))

    def entries(self) -> list[JournalEntry]:
        return journal(self.calls, self.lease.run_id)

    def put(self, data: bytes) -> str:
        return artifacts.put(self.calls, self.lease.run_id, self.lease.fence, data)

    def get(self, digest: str) -> bytes:
        return artifacts.get(self.calls, digest)

    def remember(self, name: str, data: Mapping[str, Any]) -> None:
        keys = (self._row, record.memory_key(name), record.held_key(self.lease.run_id))
        words = (codec.encode(data), record.MEMORY_SECONDS, name)
        self.calls.fenced(REMEMBER, self.lease.fence, keys, words)

    def recall(self, name: str) -> dict[str, Any] | None:
        found = self.calls.command("GET", record.memory_key(name))
        return None if found is None else codec.mapping(found)

    def reserve(self, dollars: int) -> None:
        words = (dollars, self.daily, self.lease.run_id, SPEND, KEEP_SPEND)
        left = self.calls.fenced(RESERVE, self.lease.fence, (self._row,), words).decode()
        if left:
            raise daily_cap(dollars, int(left), self.daily, large=self.lease.run.large)

    def settle(self, dollars: int) -> None:
        words = (dollars, self.lease.run_id, SPEND, KEEP_SPEND)
        self.calls.fenced(SETTLE, self.lease.fence, (self._row,), words)

    def paid(self, dollars: int, data: Mapping[str, Any]) -> JournalEntry:
        text = codec.encode(data)
        keys = (self._row, record.journal_key(self.lease.run_id))
        words = (dollars, self.lease.run_id, SPEND, KEEP_SPEND, Kept.MODEL, text)
        name = self.calls.fenced(PAID, self.lease.fence, keys, words).decode()
        return JournalEntry(name, Kept.MODEL, codec.mapping(text))

    def intent(self, key: str) -> dict[str, Any] | None:
        return intent(self.calls, self.lease.run_id, key)

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        self._intent(key, data, done=False)

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        self._intent(key, {**(self.intent(key) or {}), **data}, done=True)

    def _intent(self, key: str, data: Mapping[str, Any], *, done: bool) -> None:
        text = codec.encode({name: part for name, part in data.items() if name != "done"})
        keys = (self._row, record.intents_key(self.lease.run_id))
        self.calls.fenced(INTENT, self.lease.fence, keys, (key, text, int(done)))

    @property
    def _row(self) -> str:
        return record.run_key(self.lease.run_id)


def intent(calls: Calls, run_id: str, key: str) -> dict[str, Any] | None:
    """The record of an external write of a run: `{"done": bool, ...}`, or None."""
    found = calls.command("HGET", record.intents_key(run_id), key)
    if found is None:
        return None
    return {**codec.mapping(found[1:]), "done": found[:1] == b"1"}


def journal(calls: Calls, run_id: str) -> list[JournalEntry]:
    """The whole journal of a run, oldest first."""
    found = []
    for name, fields in calls.command("XRANGE", record.journal_key(run_id), "-", "+"):
        pairs = fields if isinstance(fields, dict) else dict(_pairs(fields))
        data = codec.mapping(pairs[b"data"])
        found.append(JournalEntry(name.decode(), Kept(pairs[b"kind"].decode()), data))
    return found


def journal_fault(calls: Calls, run_id: str) -> str:
    """Where the journal is not what was written, "" where every entry follows from the one before.

    Entries of before the chain began are taken as they are.
    """
    before = ""
    for name, fields in calls.command("XRANGE", record.journal_key(run_id), "-", "+"):
        pairs = fields if isinstance(fields, dict) else dict(_pairs(fields))
        said = pairs.get(b"chain", b"").decode()
        if said or before:
            expected = chain.stamp(before, pairs[b"kind"].decode(), pairs[b"data"])
            if said != expected:
                return f"journal entry {name.decode()} does not follow from the one before it"
        before = said
    newest = (calls.command("HGET", record.run_key(run_id), "chain") or b"").decode()
    if newest != before:
        return "the newest journal entries are missing"
    return ""


def _pairs(flat: list[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def daily_cap(wanted: int, left: int, cap: int, *, large: bool = False) -> Halt:
    """The ending of a run that the day's cap stops, or what of it runs of class large may take."""
    rest = ", beyond which the day's rest is kept for runs of ordinary size," if large else ""
    return Halt(
        Reason.DAILY_CAP,
        f"The operator's cap of ${cap / 1e6:.2f} a day over all runs{rest} leaves "
        f"${left / 1e6:.2f}, and the next call could cost ${wanted / 1e6:.2f}.",
        "Label the issue again tomorrow (UTC), or ask the operator for a higher cap.",
    )
