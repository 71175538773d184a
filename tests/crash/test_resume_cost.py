"""What a crash costs: killed in turn 9 of 10, the model sees at most one request again."""

from __future__ import annotations

import pytest

from app.domain.record import Kept
from app.domain.state import State
from tests.crash.case import Bench, Case
from tests.crash.matrix import recorded
from tests.crash.points import AFTER, BEFORE, Point
from tests.crash.stories import TEN_TURNS

BEFORE_TURN = 3  # replies until the first edit: read, finish, plan


def test_without_a_kill_each_reply_is_asked_for_once(made: Bench) -> None:
    recorded(made, TEN_TURNS.name)
    (run,) = made.town.ledger.runs(2)
    assert run.state is State.COMPLETE and run.spend.turns == 10
    assert len(made.town.model.requests()) == run.spend.calls == BEFORE_TURN + 10 + 1


@pytest.mark.parametrize(
    ("effect", "moment", "again"),
    [
        ("model.reply", BEFORE, 0),
        ("model.reply", AFTER, 1),  # the reply came, and nobody had written it down yet
        ("journal.model", AFTER, 0),
        ("journal.tool", AFTER, 0),
    ],
)
def test_killed_in_turn_9_of_10_one_request_is_repeated_at_most(
    made: Bench, effect: str, moment: str, again: int
) -> None:
    # In the state edit the first reply is turn 1; locate and plan have their own counts.
    case = Case(TEN_TURNS.name, "kill", Point("edit", effect, 9, moment))
    verdict = made.run(case)
    assert verdict.reached and verdict.broken == (), verdict.log
    (run,) = made.town.ledger.runs(2)
    assert run.spend.turns == 10
    kept = [e for e in made.town.ledger.journal(run.id) if e.kind is Kept.MODEL]
    assert len(kept) == run.spend.calls == BEFORE_TURN + 10 + 1
    asked = made.town.model.requests()
    assert len(asked) - len(kept) == again
