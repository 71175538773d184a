"""Money, calls, turns, time: what a call costs, and which limit stops it before it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.budget import (
    NOTHING,
    Limits,
    Rate,
    Spend,
    Usage,
    before_call,
    before_repair,
    before_step,
    before_turn,
    cost,
    worst_case,
)
from app.domain.errors import Halt, Reason

RATE = Rate("m", 2_000_000, 10_000_000, 200_000, 2_500_000, 4_000_000, 1_000_000, 128_000)
TOKENS = st.integers(0, 10_000_000)
USAGE = st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS)


def test_a_call_costs_each_kind_of_token_at_its_rate() -> None:
    assert cost(RATE, Usage(10, 20, 30, 40, 50)) == 20 + 4 + 75 + 160 + 500


def test_a_call_of_one_token_is_not_free() -> None:
    assert cost(RATE, Usage(cache_read=1)) == 1
    assert cost(RATE, Usage()) == 0


@given(one=USAGE, two=USAGE)
def test_usage_adds_up_and_costs_no_less_apart(one: Usage, two: Usage) -> None:
    both = one + two
    assert both.total_input == one.total_input + two.total_input
    assert both.output == one.output + two.output
    assert cost(RATE, both) <= cost(RATE, one) + cost(RATE, two) <= cost(RATE, both) + 1


@given(usage=st.builds(Usage, TOKENS, TOKENS, TOKENS, st.just(0), TOKENS))
def test_the_worst_case_is_never_below_the_cost_of_what_it_allows(usage: Usage) -> None:
    assert worst_case(RATE, usage.total_input, usage.output) >= cost(RATE, usage)


LIMITS = Limits(turns=2, calls=3, repairs=1, dollars=100, wall=10)
CHECKS: list[tuple[Callable[[Spend], Any], Spend, Spend, Reason]] = [
    (lambda s: before_call(LIMITS, s, 0), Spend(calls=2), Spend(calls=3), Reason.BUDGET_CALLS),
    (
        lambda s: before_call(LIMITS, s, 40),
        Spend(dollars=60),
        Spend(dollars=61),
        Reason.BUDGET_DOLLARS,
    ),
    (
        lambda s: before_call(LIMITS, s, 0),
        Spend(active_ms=9_999),
        Spend(active_ms=10_000),
        Reason.BUDGET_TIME,
    ),
    (
        lambda s: before_step(LIMITS, s),
        Spend(active_ms=9_999),
        Spend(active_ms=10_000),
        Reason.BUDGET_TIME,
    ),
    (lambda s: before_turn(LIMITS, s), Spend(turns=1), Spend(turns=2), Reason.BUDGET_TURNS),
    (lambda s: before_repair(LIMITS, s), Spend(), Spend(repairs=1), Reason.BUDGET_REPAIRS),
]


@pytest.mark.parametrize(("check", "last", "over", "reason"), CHECKS)
def test_the_last_one_inside_a_limit_is_let_through_and_the_next_is_not(
    check: Callable[[Spend], Any], last: Spend, over: Spend, reason: Reason
) -> None:
    check(NOTHING)
    check(last)
    with pytest.raises(Halt) as caught:
        check(over)
    record = caught.value.record
    assert record.reason is reason
    assert "The budget stopped this run" in record.message
    assert "`limits` in `.github/agent.yml`" in record.next_step


def test_the_dollar_limit_names_both_sums() -> None:
    with pytest.raises(Halt) as caught:
        before_call(Limits(dollars=2_500_000), Spend(dollars=2_400_000), 350_000)
    for part in ("$2.40", "$2.50", "$0.35"):
        assert part in caught.value.record.message
