"""SIGTERM in the middle of a check: the run is handed over in time, and another runner goes on."""

from __future__ import annotations

import signal
import time

import pytest

from app.domain.evidence import Result
from app.domain.record import Kept
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FILES, FIX, PYTEST, Town
from worker.processes import GRACE

pytestmark = pytest.mark.docker
# Only the candidate's check takes long; the base's is quick.
SLOW = (
    "import time\nfrom sums import add\n\n\ndef test_add():\n    if add(2, 2) == 4:\n"
    "        time.sleep(16)\n    assert add(2, 2) == 4\n\n\n"
    "def test_nothing():\n    assert add(0, 0) == 0\n"
)


def test_a_run_in_a_long_check_is_handed_over(town: Town) -> None:
    name = town.repository({**FILES, "tests/test_sums.py": SLOW, ".github/agent.yml": PYTEST})
    town.patches(name, FIX)
    number = town.ask(name)

    def at_work() -> Run:
        return town.up.await_run(lambda run: run.repository.full_name == name, 120)

    run = at_work()
    town.up.await_true(
        lambda: at_work().state is State.VERIFY and bool(town.up.containers(run.id)), 240
    )
    assert town.up.model is not None
    asked = len(town.up.model.requests())
    ending = town.up.processes.pop("runner")
    town.up.start("runner")  # the new version is up before the old one goes
    began = time.monotonic()
    ending.send_signal(signal.SIGTERM)
    assert ending.wait(GRACE + 10) == 0
    assert time.monotonic() - began < GRACE
    notes = [e.data for e in town.up.ledger.journal(run.id) if e.kind is Kept.NOTE]
    assert {"handover": "verify"} in notes

    ended = town.end(name, number, seconds=240)
    assert ended.verdict is not None and ended.verdict.result is Result.PASSED
    row = town.up.ledger.row(run.id)
    assert row is not None and row.crashes == 0
    assert len(town.up.model.requests()) == asked  # no reply was asked for again
    town.up.await_true(lambda: town.up.containers(run.id) == [], 120)
    assert len(town.up.hub.pulls(name)) == 1
