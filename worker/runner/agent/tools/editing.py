"""edit: one proposed change, through every gate before anything changes, and then as a whole.

The order is that of cheapness and of blame: shape, plan, hashes and text, what git would keep,
size. Only what passes all of them makes a new candidate; all else is an answer to the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain import edit as editing
from app.domain.budget import before_turn
from app.domain.edit import Candidate, Change, Delete, Edit, EditRefused
from app.domain.errors import Halt, Reason, Refused
from app.domain.gate import size_problem
from app.domain.paths import PathRefused, canon
from app.domain.plan import Action, Plan, declares
from app.domain.record import Kept
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.codec import candidate_json
from worker.runner.agent.quote import named
from worker.runner.agent.tools.reading import header

AMENDMENTS = 2
OUTSIDE = 3  # attempts outside the plan, in all, that end a run

Written = Mapping[str, tuple[int, bytes | None]]


def edit(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Apply one call's edits to the candidate: all of them or none.

    Raises `Halt(BUDGET_TURNS)` when no turn is left, `Halt(SCOPE)` for the last tolerated attempt
    outside the plan.
    """
    plan = bench.plan
    if plan is None:
        return refused("edit: there is no accepted plan.")
    before_turn(bench.limits, _spent(bench))
    try:
        edits = editing.parse(arguments)
        paths = sorted({canon(one.path) for one in edits})
    except EditRefused as wrong:
        return refused(f"Nothing was changed. {wrong}")
    except PathRefused as wrong:
        return refused(f"Nothing was changed. The path is refused: {wrong}.")
    outside = [path for path in paths if not _declared(bench, plan, path, edits)]
    if outside:
        return _outside(bench, plan, outside)
    return proposed(bench, plan, edits)


def proposed(bench: Bench, plan: Plan, edits: Sequence[Edit]) -> Answer:
    """Edits whose paths the plan declares, through the gates of content, git and size."""
    try:
        written = editing.apply(edits, lambda path: bench.views.read(bench.tree, path))
    except EditRefused as wrong:
        return refused(f"Nothing was changed. {wrong}")
    return _accepted(bench, plan, written)


def _spent(bench: Bench) -> Any:
    return bench.tally.onto(bench.run, bench.kit.card).spend


def _declared(bench: Bench, plan: Plan, path: str, edits: Sequence[Edit]) -> bool:
    """Whether the plan names what becomes of `path` against the base."""
    gone = any(isinstance(one, Delete) for one in edits if one.path == path)
    if path not in bench.views.files(bench.base):
        return declares(plan, path, Action.CREATE)
    return declares(plan, path, Action.DELETE if gone else Action.EDIT)


def _outside(bench: Bench, plan: Plan, paths: Sequence[str]) -> Answer:
    """An attempt outside the plan: journalled with its paths, then refused or the end (B6)."""
    use = bench.talk.use
    if use not in bench.talk.refused:
        bench.note(
            Kept.REFUSAL,
            {
                "conversation": bench.talk.conversation,
                "state": bench.state,
                "use": use,
                "tool": "edit",
                "paths": list(paths),
            },
        )
    attempts = {**bench.tally.outside, use: tuple(paths)}
    shown = ", ".join(named(path) for path in paths)
    if len(plan.amendments) >= AMENDMENTS or len(attempts) >= OUTSIDE:
        every = sorted({path for some in attempts.values() for path in some})
        raise Halt(
            Reason.SCOPE,
            f"The model tried to change what its plan does not name: {shown}.",
            "Say in the issue which files the change may touch, or narrow what is asked.",
            tuple(every),
        )
    return refused(
        f"Nothing was changed: the plan does not let this call change {shown}. Stay inside the "
        f"plan, or use `amend_plan` with a reason ({AMENDMENTS - len(plan.amendments)} left). "
        f"Attempt {len(attempts)} of {OUTSIDE}; the last one ends the run."
    )


def _accepted(bench: Bench, plan: Plan, written: Written) -> Answer:
    changes = _merged(bench, written)
    objects = bench.kit.objects
    try:
        tree = objects.build(bench.base, changes, bench.views.blob)
    except Refused as wrong:
        return refused(f"Nothing was changed. Git would not keep this: {wrong}")
    problem = size_problem(plan, objects.deltas(bench.base, tree), bench.limits, bench.rules)
    if problem:
        return refused(f"Nothing was changed. {problem}")
    candidate = Candidate(tree, changes)
    bench.views.derive(bench.base, candidate)
    lines = [_line(path, data) for path, (_mode, data) in sorted(written.items())]
    return Answer(
        f"Accepted: the candidate is tree {tree} now.\n" + "\n".join(lines),
        effect={"candidate": candidate_json(candidate)},
    )


def _merged(bench: Bench, written: Written) -> tuple[Change, ...]:
    """The candidate's changes with these on top, against the base: what is as in the base again is
    no change."""
    changes = {c.path: c for c in bench.candidate.changes} if bench.candidate else {}
    for path, (mode, data) in written.items():
        before = bench.views.read(bench.base, path)
        if data is None and before is None:
            changes.pop(path, None)
        elif data is None:
            changes[path] = Change(path, 0, "")
        elif before == (data, mode):
            changes.pop(path, None)
        else:
            changes[path] = Change(path, mode, bench.kit.hold.put(data))
            bench.views.remember(changes[path].blob, data)
    return tuple(changes[path] for path in sorted(changes))


def _line(path: str, data: bytes | None) -> str:
    if data is None:
        return f"path: {named(path)}  deleted"
    lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    return header(path, data, min(1, lines), lines, lines)
