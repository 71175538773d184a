"""The state machine of a run: one table of moves, keyed by kind, and who owns which state."""

from __future__ import annotations

from enum import StrEnum

from app.domain.errors import IllegalMove


class Kind(StrEnum):
    """What a run is for."""

    FIX = "fix"
    REVISE = "revise"  # a follow-up commit on our own pull request, as review comments ask
    VERIFY = "verify"  # evidence about a change that somebody else made: no model, no edit
    EXPLAIN = "explain"  # a read-only answer: where the code is and what would be done
    RECHECK = "recheck"  # evidence about what people pushed to a Change's own branch: no model
    UPDATE = "update"  # the base merged into a Change's branch, and that checked: no model
    UNHOLD = "unhold"  # the checked tree once more, without what holds the repository's CI back


# Kinds that judge a tree which others made: no model takes part and nothing is edited.
JUDGING = frozenset({Kind.VERIFY, Kind.RECHECK, Kind.UPDATE})
# Kinds that go on with a Change whose pull request is open.
FOLLOWING = frozenset({Kind.RECHECK, Kind.UPDATE, Kind.UNHOLD})


class Role(StrEnum):
    """A process of its own, with its own secrets."""

    DESK = "desk"
    RUNNER = "runner"
    SANDBOX = "sandbox"


class State(StrEnum):
    """A state is one stage; the last two are ends."""

    ADMIT = "admit"
    PREPARE = "prepare"
    LOCATE = "locate"
    PLAN = "plan"
    EDIT = "edit"
    VERIFY = "verify"
    GATE = "gate"
    PUBLISH = "publish"
    COMPLETE = "complete"
    HALTED = "halted"


class Signal(StrEnum):
    """What a stage says at its end."""

    DONE = "done"
    MORE = "more"  # look again: locate once more, or back from plan to locate
    MOVED = "moved"  # the head went on meanwhile: the same edits are judged again on the new one
    REPAIR = "repair"  # required checks failed, budget left, progress made
    KEEP = "keep"  # a Halt that has a candidate: record what was shown about it
    HALT = "halt"  # an ending without a pull request


ENDS = frozenset({State.COMPLETE, State.HALTED})

OWNER: dict[State, Role] = {
    State.ADMIT: Role.DESK,
    State.PREPARE: Role.RUNNER,
    State.LOCATE: Role.RUNNER,
    State.PLAN: Role.RUNNER,
    State.EDIT: Role.RUNNER,
    State.VERIFY: Role.RUNNER,
    State.GATE: Role.RUNNER,
    State.PUBLISH: Role.DESK,
    State.COMPLETE: Role.DESK,
    State.HALTED: Role.DESK,
}

_FIX: dict[tuple[State, Signal], State] = {
    (State.ADMIT, Signal.DONE): State.PREPARE,
    (State.PREPARE, Signal.DONE): State.LOCATE,
    (State.LOCATE, Signal.MORE): State.LOCATE,
    (State.LOCATE, Signal.DONE): State.PLAN,
    (State.PLAN, Signal.MORE): State.LOCATE,
    (State.PLAN, Signal.DONE): State.EDIT,
    (State.EDIT, Signal.DONE): State.VERIFY,
    (State.VERIFY, Signal.REPAIR): State.PLAN,
    (State.VERIFY, Signal.DONE): State.GATE,
    (State.LOCATE, Signal.KEEP): State.GATE,
    (State.PLAN, Signal.KEEP): State.GATE,
    (State.EDIT, Signal.KEEP): State.GATE,
    (State.VERIFY, Signal.KEEP): State.GATE,
    (State.GATE, Signal.DONE): State.PUBLISH,
    (State.PUBLISH, Signal.DONE): State.COMPLETE,
    (State.ADMIT, Signal.HALT): State.HALTED,
    (State.PREPARE, Signal.HALT): State.HALTED,
    (State.LOCATE, Signal.HALT): State.HALTED,
    (State.PLAN, Signal.HALT): State.HALTED,
    (State.EDIT, Signal.HALT): State.HALTED,
    (State.VERIFY, Signal.HALT): State.HALTED,
    (State.GATE, Signal.HALT): State.HALTED,
    (State.PUBLISH, Signal.HALT): State.HALTED,
}

# C1's moves, those of a fix; within its group `complete` a head that moved is judged once more.
_REVISE: dict[tuple[State, Signal], State] = {
    **_FIX,
    (State.PUBLISH, Signal.MOVED): State.GATE,
}

_VERIFY: dict[tuple[State, Signal], State] = {
    (State.ADMIT, Signal.DONE): State.PREPARE,
    (State.PREPARE, Signal.DONE): State.VERIFY,
    (State.VERIFY, Signal.DONE): State.GATE,
    (State.VERIFY, Signal.KEEP): State.GATE,
    (State.GATE, Signal.DONE): State.PUBLISH,
    (State.PUBLISH, Signal.DONE): State.COMPLETE,
    (State.ADMIT, Signal.HALT): State.HALTED,
    (State.PREPARE, Signal.HALT): State.HALTED,
    (State.VERIFY, Signal.HALT): State.HALTED,
    (State.GATE, Signal.HALT): State.HALTED,
    (State.PUBLISH, Signal.HALT): State.HALTED,
}

_EXPLAIN: dict[tuple[State, Signal], State] = {
    (State.ADMIT, Signal.DONE): State.PREPARE,
    (State.PREPARE, Signal.DONE): State.LOCATE,
    (State.LOCATE, Signal.MORE): State.LOCATE,
    (State.LOCATE, Signal.DONE): State.COMPLETE,
    (State.ADMIT, Signal.HALT): State.HALTED,
    (State.PREPARE, Signal.HALT): State.HALTED,
    (State.LOCATE, Signal.HALT): State.HALTED,
}

# Nothing is judged: the evidence is of the very tree that another run's gate judged.
_UNHOLD: dict[tuple[State, Signal], State] = {
    (State.ADMIT, Signal.DONE): State.PUBLISH,
    (State.PUBLISH, Signal.DONE): State.COMPLETE,
    (State.ADMIT, Signal.HALT): State.HALTED,
    (State.PUBLISH, Signal.HALT): State.HALTED,
}

MOVES: dict[Kind, dict[tuple[State, Signal], State]] = {
    Kind.FIX: _FIX,
    Kind.REVISE: _REVISE,
    Kind.VERIFY: _VERIFY,
    Kind.EXPLAIN: _EXPLAIN,
    Kind.RECHECK: _VERIFY,
    Kind.UPDATE: _VERIFY,
    Kind.UNHOLD: _UNHOLD,
}


def move(kind: Kind, state: State, signal: Signal) -> State:
    """The next state; `IllegalMove` if the table has none."""
    try:
        return MOVES[kind][state, signal]
    except KeyError:
        raise IllegalMove(f"{kind}: no move from {state} on {signal}") from None
