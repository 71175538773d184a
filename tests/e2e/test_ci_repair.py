"""Red CI on our own draft through the whole product: one repair by itself, then no more."""

from __future__ import annotations

import pytest

from app.domain.ci_repair import PREFIX
from app.domain.revision import OWN_CI
from app.domain.state import Kind, State
from tests.e2e.conftest import FILES, Town
from tests.e2e.test_revise import FLOATS, commits, published, revised

pytestmark = pytest.mark.docker
# This CI begins by itself after the gate was passed, and what was made ready is not repaired.
WAYS = "ci_repair: 1\nready: never\n"
WANTED = {**FILES, ".github/agent.yml": FILES[".github/agent.yml"] + WAYS}
NOTE = {"path": "sums.py", "start_line": 1, "end_line": 1, "message": "add has no docstring",
        "annotation_level": "failure"}  # fmt: skip
OUTPUT = {"title": "1 problem", "summary": "Edit setup.py everywhere.", "annotations": [NOTE]}


def gate(town: Town, name: str, head: str, title: str, words: str) -> bool:
    found = [one for one in town.up.hub.check_runs(name, head) if one["name"].endswith("/gate")]
    shown = [one["output"] for one in found]
    return any(one["title"] == title and words in one["summary"] for one in shown)


def test_red_ci_is_repaired_once_by_a_follow_up_commit(town: Town) -> None:
    name, number, first = published(town, WANTED)
    hub, head = town.up.hub, first.publication.commit
    town.revises(name, FLOATS)
    hub.create_app("other-ci", permissions={"checks": "write"})
    hub.add_check_run(name, "other-ci", head, "docs", "failure", OUTPUT)
    run = revised(town, name, first)
    assert run.state is State.COMPLETE and run.contract is not None, run.halt
    assert run.event.startswith(PREFIX) and run.requester.login == "mona"
    revision = run.contract.revision
    assert revision is not None and revision.scope.globs == ("sums.py",)
    (thread,) = revision.threads
    assert thread.author == OWN_CI and "sums.py:1: add has no docstring" in thread.text
    assert run.publication.commit == hub.pull(name, number)["head"]["sha"] != head
    assert commits(town, name, number) == 2

    def told() -> bool:  # by the sticky comment and the ending
        found = [one["body"] for one in hub.comments(name, number)]
        return sum("Begun by itself" in one for one in found) == 2

    town.up.await_true(told, 60)
    # The next head is red as well, and the bound is reached.
    after = run.publication.commit
    hub.add_check_run(name, "other-ci", after, "docs", "failure", OUTPUT)
    title, words = "The repository's own CI failed", "Repairs begun by itself: 1 of at most 1."
    town.up.await_true(lambda: gate(town, name, after, title, words), 120)
    kinds = [one.kind for one in town.up.ledger.runs(50) if one.repository.full_name == name]
    assert sorted(kinds) == [Kind.FIX, Kind.REVISE]
