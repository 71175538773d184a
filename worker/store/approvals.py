"""Rows about approvals: which Changes are looked at and when again, one looker each, who pushed.

A sorted set holds every Change whose pull request is open with the time (Redis ms) of its next
look; an event sets that time to now, and a look sets it on only if no event came meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app.domain import record
from app.domain.event import Person
from app.domain.ready import Done, Past, Refusals
from app.domain.scripts.changes import SETTLE_LOOK
from app.domain.scripts.leases import LEAD, UNLOCK
from worker.store import codec
from worker.store.calls import Calls

KEPT = 30 * 86_400  # seconds that rows of a Change are kept after its last look


class Approvals:
    """All rows about approvals. Every method may raise `Unavailable`."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def enrol(self, repository: int, change: str, at: int) -> None:
        """Look at a Change from now on; one that is looked at already keeps its time."""
        self.calls.command("SADD", record.approvals_of_key(repository), change)
        self.calls.command("ZADD", record.APPROVALS, "NX", at, change)

    def mark(self, repository: int, change: str, now: int) -> None:
        """Something happened: the next look is due."""
        self.calls.command("SADD", record.approvals_of_key(repository), change)
        self.calls.command("ZADD", record.APPROVALS, now, change)

    def of(self, repository: int) -> list[str]:
        """The Changes of a repository that are looked at."""
        found = self.calls.command("SMEMBERS", record.approvals_of_key(repository))
        return sorted(change.decode() for change in found)

    def due(self, now: int, limit: int) -> list[str]:
        """Changes whose look is due, longest first."""
        words = (record.APPROVALS, "-inf", now, "LIMIT", 0, limit)
        return [change.decode() for change in self.calls.command("ZRANGEBYSCORE", *words)]

    def settle(self, change: str, was: int, following: int) -> bool:
        """Set the next look, if nothing happened since it was set to `was`; else False."""
        words = (change, was, following)
        return bool(self.calls.script(SETTLE_LOOK, (record.APPROVALS,), words))

    def set(self, change: str, at: int) -> None:
        """The next look, whatever was set before; a Change that is not looked at stays so."""
        self.calls.command("ZADD", record.APPROVALS, "XX", at, change)

    def drop(self, repository: int, change: str) -> None:
        """Its pull request is closed: nobody looks again."""
        self.calls.command("ZREM", record.APPROVALS, change)
        self.calls.command("SREM", record.approvals_of_key(repository), change)

    def forget(self, change: str) -> None:
        """The ledger knows this Change no more, nor whose it was."""
        self.calls.command("ZREM", record.APPROVALS, change)

    def lock(self, change: str, owner: str, ms: int) -> bool:
        """True when `owner` is the one that looks, for `ms` more."""
        keys = (record.approval_lock_key(change),)
        return bool(self.calls.script(LEAD, keys, (owner, ms)))

    def keep_lock(self, change: str, owner: str, ms: int) -> bool:
        """True when `owner` is still the one that looks, for `ms` more. A lock that ran out is not
        taken again: somebody else may have looked meanwhile and be done."""
        held = self.calls.command("GET", record.approval_lock_key(change))
        return held is not None and held.decode() == owner and self.lock(change, owner, ms)

    def unlock(self, change: str, owner: str) -> None:
        self.calls.script(UNLOCK, (record.approval_lock_key(change),), (owner,))

    def pushed(self, change: str, person: Person) -> None:
        """Remember who pushed, as a signed event said; it can only keep somebody from approving."""
        key = record.pushers_key(change)
        self.calls.command("HSET", key, str(person.id), person.login)
        self.calls.command("EXPIRE", key, 365 * 86_400)

    def pushers(self, change: str) -> tuple[Person, ...]:
        found = self.calls.command("HGETALL", record.pushers_key(change))
        if isinstance(found, list):
            found = dict(zip(found[::2], found[1::2], strict=True))
        return tuple(Person(int(i), login.decode()) for i, login in sorted(found.items()))

    def ready(self, change: str) -> Past:
        """What was done about making a Change's pull request ready."""
        found = self.calls.command("HGETALL", record.ready_key(change))
        if isinstance(found, list):
            found = dict(zip(found[::2], found[1::2], strict=True))
        kept = {name.decode(): value for name, value in found.items()}
        return Past(
            mark=Done(kept.get("mark", b"").decode()),
            back=bool(kept.get("back")),
            ask=Done(kept.get("ask", b"").decode()),
            said=tuple(codec.mapping(kept["said"])["said"]) if "said" in kept else (),
            no=Refusals(**codec.mapping(kept["no"])) if "no" in kept else Refusals(),
        )

    def drafted(self, change: str) -> None:
        """Somebody made it a draft again, as a signed event said."""
        self.calls.command("HSET", record.ready_key(change), "back", "1")

    def note_refusal(self, change: str, no: Refusals) -> None:
        self.calls.command("HSET", record.ready_key(change), "no", codec.encode(asdict(no)))

    def try_again(self, change: str) -> None:
        """A person wants it tried again, whatever GitHub refused so far."""
        self.calls.command("HDEL", record.ready_key(change), "no")

    def note_mark(self, change: str, done: Done) -> None:
        self.calls.command("HSET", record.ready_key(change), "mark", str(done))

    def note_ask(self, change: str, done: Done) -> None:
        self.calls.command("HSET", record.ready_key(change), "ask", str(done))

    def say(self, change: str, said: Sequence[str]) -> None:
        """The sentences about it that the gate's check run shows."""
        data = codec.encode({"said": list(said)})
        self.calls.command("HSET", record.ready_key(change), "said", data)

    def shown(self, change: str) -> dict[str, Any]:
        """What was written last, or is about to be: head, conclusion, seal, check, done; {}."""
        found = self.calls.command("GET", record.approval_key(change))
        return {} if found is None else codec.mapping(found)

    def show(self, change: str, data: Mapping[str, Any]) -> None:
        self.calls.command("SET", record.approval_key(change), codec.encode(data), "EX", KEPT)
