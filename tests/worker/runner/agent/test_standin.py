"""The stages with the real SDK against the provider's stand-in, which acts out diffs and faults."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pygit2
import pytest

from app.domain.errors import Halt, Park
from app.domain.state import State
from tests.standins.anthropic import AnthropicStandin
from tests.worker.runner.agent.world import CALC, TEST, World, halted_by, tree_of, tried, world
from tests.worker.runner.stages.test_locate_plan_edit import carried
from worker.runner.model.client import AnthropicModel

KEY = "sk-ant-standin-0000"
FIRST = """\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a * b
diff --git a/notes.txt b/notes.txt
new file mode 100644
--- /dev/null
+++ b/notes.txt
@@ -0,0 +1 @@
+add multiplied
"""
SECOND = FIRST.replace("a * b", "a + b").replace("add multiplied", "add adds")


@pytest.fixture(scope="module")
def provider() -> Iterator[AnthropicStandin]:
    with AnthropicStandin(key=KEY) as standin:
        yield standin


@pytest.fixture
def w(tmp_path: Path) -> World:
    return world(tmp_path)


@pytest.fixture
def model(provider: AnthropicStandin) -> Iterator[AnthropicModel]:
    provider.reset()
    made = AnthropicModel(KEY, provider.url, stall=120, patience=0.2, sleep=lambda _s: None)
    yield made
    made.close()


@pytest.fixture
def played(provider: AnthropicStandin, tmp_path: Path) -> AnthropicStandin:
    """The stand-in acting out FIRST, and SECOND in the repair."""
    source = tmp_path / "source"
    commit(source)
    provider.patch([FIRST, SECOND], str(source))
    return provider


def commit(folder: Path) -> None:
    repo = pygit2.init_repository(str(folder), bare=True)
    tree = tree_of(folder, {"calc.py": CALC, "tests/test_calc.py": TEST})
    who = pygit2.Signature("t", "t@example.org", 0, 0)
    repo.set_head("refs/heads/main")
    repo.create_commit("HEAD", who, who, "base", tree, [])


def test_a_diff_acted_out_becomes_exactly_that_tree_and_the_repair_the_next(
    w: World, model: AnthropicModel, played: AnthropicStandin
) -> None:
    run = carried(w.run(), w.kit(model))
    assert run.state is State.VERIFY
    assert run.candidate is not None
    assert b"a * b" in w.read(run.candidate.tree, "calc.py")
    assert w.read(run.candidate.tree, "notes.txt") == b"add multiplied\n"

    run = carried(tried(run), w.kit(model))
    assert run.candidate is not None
    assert b"a + b" in w.read(run.candidate.tree, "calc.py")
    assert w.read(run.candidate.tree, "notes.txt") == b"add adds\n"
    assert run.spend.usage.cache_read > 0
    assert run.spend.dollars == w.hold.spent


@pytest.mark.parametrize("request_number", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["529", "drop", "cut", "error-mid-stream"])
def test_a_fault_at_any_call_parks_and_the_run_goes_on_where_it_was(
    w: World, model: AnthropicModel, played: AnthropicStandin, kind: str, request_number: int
) -> None:
    played.fault(kind, request=request_number, times=1)
    run, parked = w.run(), 0
    while run.state is not State.VERIFY:
        try:
            run = carried(run, w.kit(model))
        except Park:
            parked += 1
            assert w.hold.reserved == 0
    assert parked == 1
    assert run.candidate is not None
    assert b"a * b" in w.read(run.candidate.tree, "calc.py")
    answered = [r for r in played.requests() if not r.fault]
    assert run.spend.calls == len(answered), "no paid reply was asked for twice"


@pytest.mark.parametrize("kind", ["max-tokens", "empty", "pause"])
def test_an_odd_reply_in_between_is_gone_past(
    w: World, model: AnthropicModel, played: AnthropicStandin, kind: str
) -> None:
    played.fault(kind, request=1, times=1)
    run = carried(w.run(), w.kit(model))
    assert run.state is State.VERIFY


@pytest.mark.parametrize(
    ("kind", "reason"), [("refusal", "model-refused"), ("unknown-stop", "model-failed")]
)
def test_an_ending_in_between_is_an_ending(
    w: World, model: AnthropicModel, played: AnthropicStandin, kind: str, reason: str
) -> None:
    played.fault(kind, request=3, times=1)
    with pytest.raises(Halt) as caught:
        carried(w.run(), w.kit(model))
    assert halted_by(caught.value) == reason


def test_all_requests_of_a_run_share_their_beginning_byte_for_byte(
    w: World, model: AnthropicModel, played: AnthropicStandin
) -> None:
    carried(w.run(), w.kit(model))
    bodies: list[dict[str, Any]] = [r.body for r in played.requests()]
    for before, later in itertools.pairwise(bodies):
        assert later["tools"] == before["tools"]
        assert later["system"] == before["system"]
        assert later["messages"][: len(before["messages"])] == before["messages"]
