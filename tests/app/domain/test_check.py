"""A check's digest is over all that decides what is run, and over nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.check import Check, Counts, Outcome, Tier
from app.domain.ports.sandbox import Job

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


def test_the_job_of_a_check_has_its_digest() -> None:
    asked = Job(CHECK.argv, CHECK.env, CHECK.workdir, CHECK.report, CHECK.timeout, name=CHECK.name)
    assert asked.digest() == CHECK.digest()


@pytest.mark.parametrize(
    ("limit", "ceiling", "words"),
    [
        ("", 0, ""),
        ("time", 300, "timed out after 300 s"),
        ("memory", 2 << 30, "out of memory (limit 2 GiB)"),
        ("pids", 256, "too many processes (limit 256 processes)"),
        ("disk", 1 << 20, "its disk is full (limit 1 MiB)"),
        ("inodes", 100_000, "too many files (limit 100000 files)"),
        ("file-size", 3 << 10, "a file grew too large (limit 3 KiB)"),
        ("output", 1001, "it printed too much (limit 1001 bytes)"),
        ("memory", 0, "out of memory"),
        ("other", 0, "its other limit was hit"),
    ],
)
def test_a_limit_is_told_with_its_number(limit: str, ceiling: int, words: str) -> None:
    outcome = Outcome(1, limit, 5, b"", b"", (0, 0), None, ceiling=ceiling)
    assert outcome.limit_words == words
