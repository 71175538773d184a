"""The state machine, as properties of its one table."""

from __future__ import annotations

import pytest

from app.domain.errors import IllegalMove
from app.domain.state import ENDS, FOLLOWING, JUDGING, MOVES, OWNER, Kind, Role, Signal, State, move

MODEL = {State.LOCATE, State.PLAN, State.EDIT}
WRITING = {State.PLAN, State.EDIT, State.VERIFY, State.GATE, State.PUBLISH}
STATES = {
    Kind.FIX: set(State),
    Kind.REVISE: set(State),
    Kind.VERIFY: set(State) - MODEL,
    Kind.EXPLAIN: set(State) - WRITING,
    Kind.RECHECK: set(State) - MODEL,
    Kind.UPDATE: set(State) - MODEL,
    Kind.UNHOLD: {State.ADMIT, State.PUBLISH, *ENDS},
}


def reached(kind: Kind, start: State, without: State | None = None) -> set[State]:
    """All states that can be reached, not passing through `without`."""
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for (state, _), target in MOVES[kind].items():
            if state is here and target not in found and target is not without:
                found.add(target)
                waiting.append(target)
    return found


def goes(state: State, kind: Kind = Kind.FIX) -> set[State]:
    """Where a run may go from `state`, endings and kept partial work left aside."""
    aside = (Signal.KEEP, Signal.HALT)
    return {to for (here, by), to in MOVES[kind].items() if here is state and by not in aside}


@pytest.mark.parametrize("kind", list(Kind))
def test_every_state_is_reached_from_the_first_and_every_run_can_end(kind: Kind) -> None:
    assert reached(kind, State.ADMIT) == STATES[kind]
    for state in STATES[kind]:
        assert reached(kind, state) & ENDS


@pytest.mark.parametrize("kind", list(Kind))
def test_an_end_has_no_way_out_and_every_state_an_owner(kind: Kind) -> None:
    assert not [state for state, _ in MOVES[kind] if state in ENDS]
    assert set(OWNER) == set(State)
    assert Role.SANDBOX not in OWNER.values(), "the sandbox owns no state"


@pytest.mark.parametrize("kind", [Kind.FIX, Kind.REVISE])
def test_a_fix_and_a_revision_move_only_as_promised(kind: Kind) -> None:
    assert goes(State.LOCATE, kind) == {State.LOCATE, State.PLAN}
    assert goes(State.PLAN, kind) == {State.EDIT, State.LOCATE}
    assert goes(State.EDIT, kind) == {State.VERIFY}
    assert goes(State.VERIFY, kind) == {State.GATE, State.PLAN}


def test_only_a_revision_whose_head_moved_is_judged_again_and_never_edited_again() -> None:
    back = {(kind, to) for kind in Kind for (_, by), to in MOVES[kind].items()
            if by is Signal.MOVED}  # fmt: skip
    assert back == {(Kind.REVISE, State.GATE)}
    assert not reached(Kind.REVISE, State.GATE) & MODEL


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.UNHOLD])
def test_the_only_way_into_publishing_is_the_gate(kind: Kind) -> None:
    into = {state for (state, _), to in MOVES[kind].items() if to is State.PUBLISH}
    assert into == ({State.GATE} if State.PUBLISH in STATES[kind] else set())
    assert State.PUBLISH not in reached(kind, State.ADMIT, without=State.GATE)


@pytest.mark.parametrize("kind", list(Kind))
def test_from_every_state_before_an_end_a_run_can_be_halted(kind: Kind) -> None:
    for state in STATES[kind] - ENDS:
        assert move(kind, state, Signal.HALT) is State.HALTED


def test_evidence_about_a_foreign_change_never_meets_the_model_and_repairs_nothing() -> None:
    verify = MOVES[Kind.VERIFY]
    assert not {state for state, _ in verify} & MODEL
    assert not set(verify.values()) & MODEL
    assert Signal.REPAIR not in {signal for _, signal in verify}


def test_an_explanation_can_neither_plan_nor_edit_nor_publish() -> None:
    assert not set(MOVES[Kind.EXPLAIN].values()) & WRITING


def test_partial_work_is_kept_only_from_where_there_can_be_some() -> None:
    kept = {state for state, signal in MOVES[Kind.FIX] if signal is Signal.KEEP}
    assert kept == MODEL | {State.VERIFY}


def test_the_model_speaks_only_where_the_runner_works() -> None:
    assert {OWNER[state] for state in MODEL} == {Role.RUNNER}


def test_a_move_that_is_not_in_the_table_raises() -> None:
    for state in State:
        for signal in Signal:
            if (state, signal) not in MOVES[Kind.FIX]:
                with pytest.raises(IllegalMove, match=state):
                    move(Kind.FIX, state, signal)


def test_what_is_published_without_a_gate_of_its_own_is_never_made_or_judged_anew() -> None:
    assert set(MOVES[Kind.UNHOLD].values()) == {State.PUBLISH, *ENDS}


def test_kinds_that_judge_never_reach_the_model_and_those_that_follow_judge() -> None:
    assert FOLLOWING - {Kind.UNHOLD} < JUDGING
    for kind in JUDGING:
        assert MOVES[kind] == MOVES[Kind.VERIFY]
        assert not MODEL & reached(kind, State.ADMIT)
