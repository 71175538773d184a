"""The one comment on somebody else's pull request, for every state, and with hostile words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import HaltRecord, Reason, Waiting
from app.domain.report import status
from app.domain.run import Publication, Run, Wait
from app.domain.state import Kind, State
from tests.app.domain.report_world import passed

STATES = (State.ADMIT, State.PREPARE, State.VERIFY, State.GATE, State.PUBLISH, State.COMPLETE)


def look(state: State) -> Run:
    run = passed()
    assert run.contract is not None
    contract = replace(run.contract, head="a" * 40)
    return replace(run, kind=Kind.VERIFY, plan=None, contract=contract, state=state, halt=None)


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_told_under_the_marker_of_the_change(state: State) -> None:
    run = look(state)
    text = status(run, 61_000, "")
    assert text.startswith(f"<!-- patchwarrant:status:{run.change} -->\n")
    assert "1 min 1 s" in text and "No model took part" in text
    assert ("▶️" in text) == (state is not State.COMPLETE)
    assert "pull request" not in text.lower()


def test_the_outcome_names_tree_commit_and_base() -> None:
    run = look(State.COMPLETE)
    assert run.verdict is not None and run.contract is not None
    text = status(run, 0, "")
    for one in (run.verdict.tree, run.contract.head, run.contract.base_commit[:12]):
        assert one in text


def test_stale_stands_above_the_result() -> None:
    run = replace(look(State.COMPLETE), publication=Publication(overtaken="b" * 40))
    text = status(run, 0, "")
    assert "Stale" in text and "b" * 12 in text
    assert text.index("Stale") < text.index("| check")


def test_a_wait_is_told() -> None:
    run = replace(look(State.PREPARE), wait=Wait(Waiting.GITHUB, 1, "GitHub is away"))
    assert "waiting-github" in status(run, 0, "") and "GitHub is away" in status(run, 0, "")


def test_words_from_outside_break_out_of_nothing() -> None:
    halt = HaltRecord(
        Reason.BASE_INVALID, "<img src=x> @all `|`", "Label it again. Mend it.", ("![x](y)",)
    )
    text = status(replace(look(State.HALTED), halt=halt), 0, "")
    assert "<img" not in text and "![x](y)" not in text
    assert "Mend it" in text and "Label" not in text and "`/agent verify`" in text
