"""GitHub does every write and answers 502, many times in a row: one of each thing is left.

Every write's outcome is unknown then, so its effect is looked for before anything is sent again.
Git objects cannot be found by what they are for: the run waits and sends them once more, which
makes at most a commit that nothing points to.
"""

from __future__ import annotations

import pytest

from tests.crash.case import Bench
from tests.crash.invariants import Told, broken
from tests.crash.office import Office

MANY = 12
EVERY, COMMIT, TREE = "^/repos/", "/git/commits$", "/git/trees$"
FOUND = ("/git/refs$", "/pulls$", "/check-runs$", "/issues/[0-9]+/comments$")


@pytest.mark.parametrize("path", [EVERY, COMMIT, TREE, *FOUND])
def test_twelve_writes_in_a_row_that_are_done_and_answered_502(made: Bench, path: str) -> None:
    town = made.town
    town.quiet()
    name = made.stories["fix"].begin(town)
    log = town.folder / "log"
    log.write_bytes(b"")
    town.hub.fault("do_then_status", path, method="POST", times=MANY, status=502)
    waits = list[str]()

    def noted(_job: str) -> None:
        waits.extend(run.wait.waiting for run in town.ledger.runs(1) if run.wait)

    with Office(town.place, taken=noted) as office:
        assert office.work() == "settled"
    (fault,) = town.hub.faults()
    town.hub.clear_faults()
    assert fault["fired"] == (1 if path in FOUND else MANY)
    assert set(waits) == (set() if path in FOUND else {"waiting-github"})
    assert broken(town, name, made.wanted["fix"], Told(), log) == []
