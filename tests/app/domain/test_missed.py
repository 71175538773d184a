"""Which deliveries are asked for once more, and from when on is looked next time."""

from __future__ import annotations

from app.domain.missed import BATCH, FIRST_MS, Attempt, Sweep, sweep

NOW = 1_800_000_000_000
AGO = NOW - 10 * FIRST_MS


def failed(number: int, guid: str = "", at: int = AGO, code: int = 502) -> Attempt:
    return Attempt(number, guid or f"g{number}", at, code)


def test_nothing_kept_is_nothing_to_do() -> None:
    assert sweep([], NOW, 5) == Sweep((), 5, 0)


def test_what_was_taken_once_is_taken() -> None:
    found = sweep([failed(1, "a"), failed(2, "a", AGO + 1, 202)], NOW, 0)
    assert (found.again, found.open, found.mark) == ((), 0, AGO + 1)


def test_the_newest_attempt_of_an_event_is_repeated_and_the_mark_stays_before_it() -> None:
    attempts = [failed(3, "b", AGO + 5, 202), failed(2, "a", AGO + 2), failed(1, "a", AGO)]
    found = sweep(attempts, NOW, 0)
    assert (found.again, found.mark, found.open) == ((2,), AGO, 1)


def test_each_failure_waits_longer_up_to_five_minutes() -> None:
    def repeated(attempts: int, after: int) -> bool:
        made = [failed(n, "a", AGO) for n in range(1, attempts + 1)]
        return bool(sweep(made, AGO + after, 0).again)

    assert not repeated(1, FIRST_MS - 1) and repeated(1, FIRST_MS)
    assert not repeated(2, 2 * FIRST_MS - 1) and repeated(2, 2 * FIRST_MS)
    assert not repeated(40, 5 * FIRST_MS - 1) and repeated(40, 5 * FIRST_MS)


def test_while_the_receiver_is_away_one_event_is_tried_and_then_all_in_batches() -> None:
    missed = [failed(n) for n in range(1, 101)]
    assert len(sweep(missed, NOW, 0).again) == 1
    back = [*missed, failed(101, "g1", NOW - 1, 202)]
    found = sweep(back, NOW, 0)
    assert found.again == tuple(range(2, 2 + BATCH))
    assert found.open == 99


def test_what_the_receiver_refuses_three_times_is_left() -> None:
    refused = [failed(n, "a", AGO, 400) for n in (1, 2)]
    assert sweep(refused, NOW, 0).again == (2,)
    assert sweep([*refused, failed(3, "a", AGO, 400)], NOW, 0).open == 0
