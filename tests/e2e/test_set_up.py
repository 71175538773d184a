"""Set-up in the whole product: what it makes is what checks use; when it fails nobody is asked."""

from __future__ import annotations

import pytest

from app.domain.errors import Reason
from app.domain.state import State
from tests.e2e.conftest import FILES, FIX, PYTEST, Town
from tests.e2e.test_endings import ending

pytestmark = pytest.mark.docker

NEEDS_IT = {
    **FILES,
    "tests/test_sums.py": "import wished  # made by set-up\n" + FILES["tests/test_sums.py"],
    "wish.txt": "granted\n",
}
MAKES = """setup:
  run:
    - |
      place=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
      mkdir -p $place && echo "SAID = '$(cat wish.txt)'" > $place/wished.py
  files: [wish.txt]
"""


def test_what_set_up_made_is_there_for_every_check_and_told_on_the_pull_request(
    town: Town,
) -> None:
    name = town.repository({**NEEDS_IT, ".github/agent.yml": PYTEST + MAKES})
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.state is State.COMPLETE, run.halt
    assert run.snapshot is not None
    assert {result.image for result in run.results} == {run.snapshot.image}
    (pull,) = town.up.hub.pulls(name)
    assert "Set-up: environment" in pull["body"]


def test_a_failing_set_up_ends_before_any_model_call_with_its_log(town: Town) -> None:
    broken = "setup: [\"echo 'no such package: wished' && exit 3\"]\n"
    name = town.repository({**NEEDS_IT, ".github/agent.yml": PYTEST + broken})
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.SETUP_FAILED
    assert run.spend.calls == 0
    assert town.up.model is not None
    assert town.up.model.requests() == []
    told = ending(town, name, number, run)
    assert "ended with 3" in told
    assert "no such package: wished" in told
