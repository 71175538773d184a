"""A check's digest is over all that decides what is run, and over nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.check import Check, Counts, Tier

CHECK = Check("tests", ("sh", "-euc", "make"), {"B": "2", "A": "1"}, "a", (), "r.xml")


@pytest.mark.parametrize(
    "other",
    [
        {"name": "test"},
        {"argv": ("sh", "-euc", "make test")},
        {"argv": ("sh", "-euc make")},
        {"env": {"A": "1"}},
        {"workdir": ""},
        {"report": ""},
        {"timeout": 301},
    ],
)
def test_what_is_run_decides_the_digest(other: dict[str, Any]) -> None:
    assert replace(CHECK, **other).digest() != CHECK.digest()


@pytest.mark.parametrize(
    "same",
    [{"env": {"A": "1", "B": "2"}}, {"selector": ("x", "{tests}")}, {"tier": Tier.QUICK}],
)
def test_order_and_use_do_not(same: dict[str, Any]) -> None:
    assert replace(CHECK, **same).digest() == CHECK.digest()


def test_counts_add_up() -> None:
    assert Counts(2, 3, 4).total == 9
