"""A journal that was changed, shortened or reordered is found out, wherever it was touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from app.domain import chain
from app.domain.record import Kept, journal_key, run_key
from tests.worker.store.samples import opened
from worker.store.ledger import Ledger

KEY = journal_key("r1")


def written(ledger: Ledger, count: int = 4) -> None:
    opened(ledger)
    lease = ledger.claim("r1", "w1", 60_000)
    assert lease is not None
    hold = ledger.hold(lease, daily=1)
    for number in range(count):
        hold.note(Kept.NOTE, {"number": number, "text": "ünï\x00\n"})


def raw(redis: Redis) -> list[tuple[bytes, dict[bytes, bytes]]]:
    found: list[tuple[bytes, dict[bytes, bytes]]] = redis.xrange(KEY)
    return found


def rewritten(redis: Redis, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
    redis.delete(KEY)
    for name, fields in entries:
        redis.xadd(KEY, fields, id=name)


def test_an_untouched_journal_follows_from_itself(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    assert ledger.journal_fault("r1") == ""
    assert ledger.journal_fault("unknown") == ""
    redis.flushdb()
    written(ledger)
    assert ledger.journal_fault("r1") == ""
    stamps = [fields[b"chain"].decode() for _, fields in raw(redis)]
    assert len(set(stamps)) == 4
    assert redis.hget(run_key("r1"), "chain") == stamps[-1].encode()


def _flip(at: int) -> Callable[[list[Any]], None]:
    def flip(entries: list[Any]) -> None:
        data = bytearray(entries[at][1][b"data"])
        data[len(data) // 2] ^= 1
        entries[at][1][b"data"] = bytes(data)

    return flip


def _kind(entries: list[Any]) -> None:
    entries[1][1][b"kind"] = b"check"


def _swap(entries: list[Any]) -> None:
    entries[1], entries[2] = (entries[1][0], entries[2][1]), (entries[2][0], entries[1][1])


TOUCHED: dict[str, Callable[[list[Any]], None]] = {
    "first entry flipped": _flip(0),
    "middle entry flipped": _flip(2),
    "last entry flipped": _flip(3),
    "another kind": _kind,
    "first removed": lambda entries: entries.pop(0),
    "middle removed": lambda entries: entries.pop(2),
    "last removed": lambda entries: entries.pop(),
    "all removed": lambda entries: entries.clear(),
    "swapped": _swap,
    "stamp flipped": lambda entries: entries[1][1].update({b"chain": b"0" * 40}),
    "stamp gone": lambda entries: entries[2][1].pop(b"chain"),
}


@pytest.mark.parametrize("how", TOUCHED, ids=str)
def test_a_touched_journal_is_found_out(redis: Redis, how: str) -> None:
    ledger = Ledger(redis)
    written(ledger)
    entries = raw(redis)
    TOUCHED[how](entries)
    rewritten(redis, entries)
    assert ledger.journal_fault("r1")


def test_entries_of_before_the_chain_began_are_taken_as_they_are(redis: Redis) -> None:
    ledger = Ledger(redis)
    opened(ledger)
    redis.xadd(KEY, {"kind": "note", "data": "{}"}, id="1-1")
    assert ledger.journal_fault("r1") == ""
    lease = ledger.claim("r1", "w1", 60_000)
    assert lease is not None
    ledger.hold(lease, daily=1).note(Kept.NOTE, {})
    assert ledger.journal_fault("r1") == ""


def test_the_signed_head_is_of_this_run_and_of_every_entry(redis: Redis) -> None:
    ledger = Ledger(redis)
    written(ledger)
    kept = chain.links(ledger.journal("r1"))
    lease_end = chain.head("r1", kept)
    assert chain.head("r1", kept) == lease_end
    assert chain.head("r2", kept) != lease_end
    changed = (kept[0], chain.Link(kept[1].id, kept[1].kind, "0" * 64), *kept[2:])
    assert chain.head("r1", changed) != lease_end
    assert len({chain.head("r1", kept[:n]) for n in range(5)}) == 5
