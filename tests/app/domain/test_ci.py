"""Whether the repository's own workflows run on what was pushed, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.ci import Ci, CiMode, decide
from app.domain.repo_config import ConfigError, read
from app.domain.report import commit_message, pull_body
from app.domain.told import skip_directive
from app.domain.workflows import Judgement, Reason, Right
from tests.app.domain.report_world import facts, passed

CI = ".github/workflows/ci.yml"
SECRET = Reason(CI, "test", "push", Right.SEES, "it sees a secret")
TARGET = Reason(CI, "label", "pull_request_target", Right.WRITE, "it runs with rights")


@pytest.mark.parametrize(
    ("mode", "reasons", "held"),
    [
        (CiMode.AUTO, (), False),
        (CiMode.AUTO, (SECRET,), True),
        (CiMode.AUTO, (TARGET,), False),  # a trailer would not hold it back
        (CiMode.HOLD, (), True),
        (CiMode.RUN, (SECRET, TARGET), False),
    ],
)
def test_what_holds_back(mode: CiMode, reasons: tuple[Reason, ...], held: bool) -> None:
    found = decide(mode, Judgement((CI,), reasons))
    assert found.held is held
    assert found.started == (CI,)
    assert bool(found.why) is (SECRET in reasons) and bool(found.beyond) is (TARGET in reasons)


def test_a_held_commit_carries_the_trailer_last_and_another_none() -> None:
    held = replace(passed(), ci=Ci(held=True))
    lines = commit_message(held).splitlines()
    assert lines[-1] == "skip-checks: true"
    first = next(at for at, line in enumerate(lines) if line.startswith("Co-authored-by"))
    assert lines[first - 2 : first] == ["", ""]
    assert "Agent-Run: 0a1b2c" in lines
    assert skip_directive(commit_message(held))
    for free in (passed(), replace(passed(), ci=Ci(started=(CI,)))):
        assert "skip-checks" not in commit_message(free)
        assert not skip_directive(commit_message(free))


def test_the_pull_request_names_workflow_and_word() -> None:
    run = replace(passed(), ci=decide(CiMode.AUTO, Judgement((CI,), (SECRET, TARGET))))
    body = pull_body(run, facts())
    assert "held back" in body and "/agent ci" in body
    assert f"{CI}, job test: it sees a secret" in body.replace("\\", "")
    assert "cannot be held back" in body
    assert "held back" not in pull_body(replace(run, ci=Ci(started=(CI,))), facts())


def test_the_key_is_one_of_three() -> None:
    assert read({}).ci is CiMode.AUTO
    assert read({"ci": "hold"}).ci is CiMode.HOLD
    with pytest.raises(ConfigError, match="one of auto, hold, run"):
        read({"ci": True})
