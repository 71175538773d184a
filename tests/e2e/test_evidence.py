"""What the pull request says beside exit codes: the referee, red to green, a shared baseline."""

from __future__ import annotations

import pytest

from app.domain.evidence import Result
from app.domain.record import Kept
from tests.e2e.conftest import FILES, FIX, Town

pytestmark = pytest.mark.docker

MORE = {
    **FIX,
    "tests/test_more.py": (
        "from sums import add\n\n\ndef test_add_of_three():\n    assert add(1, 2) == 3\n"
    ),
}
SKIPPED = {
    "tests/test_sums.py": FILES["tests/test_sums.py"].replace(
        "def test_add()", "@pytest.mark.skip\ndef test_add()"
    )
    + "\n\nimport pytest\n",
}


def test_a_fix_with_its_test_shows_red_to_green_and_the_next_run_shares_its_baseline(
    town: Town,
) -> None:
    name = town.repository()
    town.patches(name, MORE)
    first = town.end(name, town.ask(name))
    assert first.verdict is not None
    assert first.verdict.result is Result.PASSED, first.verdict.wall
    body = town.up.hub.pulls(name)[0]["body"]
    assert "fail on the base's sources and pass with the change" in body
    assert "tests/test_more.py::test_add_of_three" in body
    assert not first.baseline[0].cached
    journal = town.up.ledger.journal(first.id)
    phases = [one.data["phase"] for one in journal if one.kind is Kept.CHECK]
    assert phases == ["baseline", "verify", "base-tests", "red", "sentinel"]

    town.patches(name, FIX)
    second = town.end(name, town.ask(name), after=first.id)
    assert second.verdict is not None
    assert second.verdict.result is Result.PASSED, second.verdict.wall
    assert second.baseline[0].cached
    assert second.baseline[0].cases == first.baseline[0].cases


def test_a_skipped_test_is_named_first_and_never_passes(town: Town) -> None:
    broken = {**SKIPPED, "tests/test_sums.py": "import pytest\n" + SKIPPED["tests/test_sums.py"]}
    name = town.repository()
    town.patches(name, broken, broken, broken)
    run = town.end(name, town.ask(name))
    assert run.verdict is not None
    assert run.verdict.result is Result.FAILED
    body = town.up.hub.pulls(name)[0]["body"]
    assert "Touched the referee" in body
    assert "skips or expects failures" in body
    assert body.index("Touched the referee") < body.index("What was asked")
