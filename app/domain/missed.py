"""What of the deliveries that GitHub keeps is asked for once more: a pure look at the attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

RETENTION_MS = 3 * 86_400_000  # how long GitHub keeps a delivery
FIRST_MS = 60_000  # after an attempt that failed; doubled with each, five times this at most
REFUSED = 3  # attempts of what the receiver refuses (4xx): one more is refused as well
BATCH = 50  # repetitions in one pass


class Attempt(NamedTuple):
    """One attempt to deliver: `at` in epoch milliseconds, `code` what the receiver answered."""

    id: int
    guid: str
    at: int
    code: int


@dataclass(frozen=True)
class Sweep:
    """`again` are the attempts to repeat, oldest first; `mark` is from when on to look next time,
    so that nothing unresolved is lost sight of; `open` counts the events that nobody took yet."""

    again: tuple[int, ...]
    mark: int
    open: int


def sweep(attempts: Iterable[Attempt], now: int, mark: int) -> Sweep:
    """What to repeat of `attempts` (all since `mark`, in any order) at `now`, epoch milliseconds.

    An event is taken when any of its attempts was. While the receiver is away (the newest attempt
    of all failed) one single event is tried, so that an outage of hours costs a few calls.
    """
    by_event: dict[str, list[Attempt]] = {}
    newest: Attempt | None = None
    for one in attempts:
        by_event.setdefault(one.guid, []).append(one)
        newest = one if newest is None or one.id > newest.id else newest
    if newest is None:
        return Sweep((), mark, 0)
    unresolved = [
        sorted(each)
        for each in by_event.values()
        if not any(_taken(one) for one in each) and not _hopeless(each)
    ]
    unresolved.sort(key=lambda each: (each[0].at, each[0].id))
    due = [each[-1].id for each in unresolved if each[-1].at + _pause(each) <= now]
    limit = BATCH if _taken(newest) or newest.code in range(400, 500) else 1
    earliest = unresolved[0][0].at if unresolved else newest.at
    return Sweep(tuple(due[:limit]), max(mark, earliest), len(unresolved))


def _taken(one: Attempt) -> bool:
    return 200 <= one.code < 300


def _hopeless(each: Sequence[Attempt]) -> bool:
    """The receiver looked at it and refused it every time."""
    return sum(400 <= one.code < 500 for one in each) >= REFUSED


def _pause(each: Sequence[Attempt]) -> int:
    return int(min(FIRST_MS * 2 ** (len(each) - 1), 5 * FIRST_MS))
