"""A small soak, so that the large one cannot rot, and what makes it fail."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from tests.bench.soak import ZEROS, failed
from tests.bench.soak_mail import Letter, twice
from tests.shared_data import REPOSITORY

GOOD = {"runs": 8.0, "lost": 0.0, "duplicates": 0.0, "broken_invariants": 0.0, "kills": 3.0}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_eight_issues_told_twice_while_processes_die_are_eight_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "soak", "--json", "--issues", "8"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr[-8_000:]
    figures = json.loads(done.stdout)["figures"]
    assert done.returncode == 0, done.stderr[-8_000:]
    assert figures["runs"] == 8
    assert figures["kills"] >= 1
    assert {figures[name] for name in ZEROS} == {0}


@pytest.mark.parametrize("name", ZEROS)
def test_one_of_any_makes_it_fail(name: str) -> None:
    assert not failed(GOOD)
    assert failed({**GOOD, name: 1.0})


def test_a_soak_without_a_run_proves_nothing() -> None:
    assert failed({**GOOD, "runs": 0.0})


def test_each_letter_comes_twice_in_an_order_that_the_seed_says() -> None:
    letters = [Letter(str(number), b"{}") for number in range(20)]
    copies = twice(letters, random.Random(1))
    assert sorted(one.guid for one in copies) == sorted(2 * [one.guid for one in letters])
    assert copies == twice(letters, random.Random(1)) != twice(letters, random.Random(2))
