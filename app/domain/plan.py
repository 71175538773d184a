"""The plan that the model submits: typed, validated against the tree, enforced from there on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from app.domain.budget import Limits
from app.domain.edit import EXECUTABLE, FILE, Delta, Entry
from app.domain.errors import Halt, Reason
from app.domain.paths import PathRefused, canon, folded, fresh
from app.domain.policy import Rules, never

MAX_LINES = 2_000  # planned in all: three times as many may change
MAX_STEPS = 40
MAX_TESTS = 40
MAX_AMENDMENTS = 2


class PlanRefused(ValueError):
    """A plan or an amendment that is not accepted; the text is the answer to the model."""


class Action(StrEnum):
    """What happens to a planned file."""

    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True)
class PlannedFile:
    """A file that may change; `lines` is how many lines the plan expects to change in it."""

    path: str
    action: Action
    why: str
    lines: int


@dataclass(frozen=True)
class Step:
    """One step; `needs` names the ids of its prerequisites."""

    id: str
    what: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Amendment:
    """A change of the plan inside the contract, shown to the reviewer."""

    reason: str
    added: tuple[PlannedFile, ...]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Files (enforced), tests that must pass, tests to write, steps as a graph, turn budget."""

    summary: str
    files: tuple[PlannedFile, ...]
    tests_must_pass: tuple[str, ...]
    tests_to_write: tuple[str, ...]
    steps: tuple[Step, ...]
    turns: int
    amendments: tuple[Amendment, ...] = ()

    @property
    def planned_lines(self) -> int:
        return sum(f.lines for f in self.files)


def most_files(plan: Plan | None) -> int:
    """How many files it named at most, before and after its amendments; 0 without a plan."""
    if plan is None:
        return 0
    files = most = len(plan.files)
    for one in reversed(plan.amendments):
        files += len(one.removed) - len(one.added)
        most = max(most, files)
    return most


def parse(arguments: Mapping[str, Any]) -> Plan:
    """The plan that the model wrote; `arguments` fit the schema of `submit_plan`. Raises
    `PlanRefused` where they do not. Nothing is compared with the tree here."""
    try:
        return Plan(
            summary=str(arguments["summary"]).strip(),
            files=_files(arguments["files"]),
            tests_must_pass=tuple(map(str, arguments["tests_must_pass"])),
            tests_to_write=tuple(map(str, arguments["tests_to_write"])),
            steps=tuple(
                Step(str(one["id"]), str(one["what"]), tuple(map(str, one["needs"])))
                for one in arguments["steps"]
            ),
            turns=int(arguments["turns"]),
        )
    except (KeyError, TypeError, ValueError) as wrong:
        raise PlanRefused(f"The plan does not fit its schema: {wrong!r}.") from None


def _files(planned: Iterable[Mapping[str, Any]]) -> tuple[PlannedFile, ...]:
    return tuple(
        PlannedFile(str(f["path"]), Action(f["action"]), str(f["why"]).strip(), int(f["lines"]))
        for f in planned
    )


def validate(
    plan: Plan, paths: Mapping[str, Entry], rules: Rules, limits: Limits
) -> tuple[str, ...]:
    """What is wrong with `plan`, as sentences for the model; () when it is accepted.

    `paths` are all entries of the working snapshot. Raises `Halt(BLOCKED_PATH)` for the first
    planned path that is blocked, with the configuration line that would unlock it.
    """
    problems = list(_shape(plan, limits))
    problems += _places(plan.files, paths, rules)
    try:
        order(plan.steps)
    except PlanRefused as wrong:
        problems.append(str(wrong))
    return tuple(problems)


def _shape(plan: Plan, limits: Limits) -> Iterable[str]:
    if not plan.summary:
        yield "`summary` is empty: say what will change and why."
    if not plan.files:
        yield "`files` is empty: name every file that will change."
    if len(plan.files) > limits.files:
        yield (
            f"The plan names {len(plan.files)} files; at most {limits.files} may change in one run."
        )
    if plan.planned_lines > MAX_LINES:
        yield f"The plan expects {plan.planned_lines} changed lines; at most {MAX_LINES} may be."
    if not 1 <= plan.turns <= limits.turns:
        yield f"`turns` is {plan.turns}; this run has 1 to {limits.turns}."
    if len(plan.steps) > MAX_STEPS:
        yield f"The plan has {len(plan.steps)} steps; at most {MAX_STEPS} are read."
    if max(len(plan.tests_must_pass), len(plan.tests_to_write)) > MAX_TESTS:
        yield f"At most {MAX_TESTS} tests can be named in each of the two lists of tests."


def _places(
    files: Sequence[PlannedFile], paths: Mapping[str, Entry], rules: Rules
) -> Iterable[str]:
    """Problems of the planned files, each against the tree and the rules."""
    taken = {folded(path): path for path in _and_folders(paths)}
    seen: set[str] = set()
    for planned in files:
        try:
            path = fresh(planned.path) if planned.action is Action.CREATE else canon(planned.path)
        except PathRefused as wrong:
            yield f"A planned path is refused: {wrong}."
            continue
        halt_if_blocked(path, rules)
        if folded(path) in seen:
            yield f"`{path}` is planned twice."
        seen.add(folded(path))
        if not rules.in_scope(path):
            yield f"`{path}` is outside {_allowed(rules, path)}."
        if planned.lines < 1:
            yield f"`{path}`: `lines` is {planned.lines}; say how many lines you expect to change."
        yield from _place(planned, paths, taken)


def _place(
    planned: PlannedFile, paths: Mapping[str, Entry], taken: Mapping[str, str]
) -> Iterable[str]:
    path, found = planned.path, paths.get(planned.path)
    if planned.action is Action.CREATE:
        at = taken.get(folded(path))
        if at is not None:
            yield f"`{path}` cannot be created: there is `{at}` already."
            return
        for above in _above(path):
            at = taken.get(folded(above))
            if at is not None and (at != above or at in paths):
                yield f"`{path}` cannot be created: `{at}` stands where its folder would be."
                return
    elif found is None:
        near = taken.get(folded(path))
        hint = f"; did you mean `{near}`?" if near else "; list the folder to see what is there."
        yield f"`{path}` is not a file of this repository{hint}"
    elif found.mode not in (FILE, EXECUTABLE):
        yield f"`{path}` is a link or a submodule, which is never edited."


def _and_folders(paths: Iterable[str]) -> set[str]:
    """All paths and all folders that they lie in."""
    found = set(paths)
    for path in tuple(found):
        for above in _above(path):
            if above in found:
                break
            found.add(above)
    return found


def _above(path: str) -> Iterable[str]:
    """The folders of `path`, the innermost first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _allowed(rules: Rules, path: str) -> str:
    if rules.scope is not None and (not rules.allow or Rules(rules.allow).in_scope(path)):
        globs = ", ".join(f"`{glob}`" for glob in rules.scope.globs)
        return f"what the review comments are about ({globs}); a comment has to name it"
    globs = ", ".join(f"`{glob}`" for glob in rules.allow)
    return f"the paths that this repository allows ({globs})"


def halt_if_blocked(path: str, rules: Rules) -> None:
    """Raise `Halt(BLOCKED_PATH)` naming `path` and the configuration line that would unlock it."""
    line = rules.blocked(path)
    if line is None:
        return
    raise Halt(
        Reason.BLOCKED_PATH,
        f"The plan needs `{path}`, which this app may not change.",
        f"{line[:1].upper()}{line[1:]}."
        if never(path)
        else f"To allow it, add to `.github/agent.yml` on the default branch: `{line}`",
        (path,),
    )


def amend(
    plan: Plan,
    arguments: Mapping[str, Any],
    paths: Mapping[str, Entry],
    rules: Rules,
    limits: Limits,
) -> Plan:
    """`plan` with the files of one amendment added and removed; `arguments` fit the schema of
    `amend_plan`. Raises `PlanRefused`, and `Halt(BLOCKED_PATH)` as `validate` does. Files created
    by this run need not be absent from `paths` when they are planned already."""
    if len(plan.amendments) >= MAX_AMENDMENTS:
        raise PlanRefused(f"A plan is amended at most {MAX_AMENDMENTS} times; both are used.")
    try:
        reason = str(arguments["reason"]).strip()
        added = _files(arguments["add"])
        removed = tuple(map(str, arguments["remove"]))
    except (KeyError, TypeError, ValueError) as wrong:
        raise PlanRefused(f"The amendment does not fit its schema: {wrong!r}.") from None
    planned = {f.path: f for f in plan.files}
    problems = list(_amendment(reason, added, removed, planned))
    problems += _places(added, paths, rules)
    kept = tuple(f for f in plan.files if f.path not in removed)
    amended = replace(
        plan,
        files=kept + added,
        amendments=(*plan.amendments, Amendment(reason, added, removed)),
    )
    problems += _shape(amended, limits)
    if problems:
        raise PlanRefused(" ".join(problems))
    return amended


def _amendment(
    reason: str,
    added: Sequence[PlannedFile],
    removed: Sequence[str],
    planned: Mapping[str, PlannedFile],
) -> Iterable[str]:
    if not reason:
        yield "`reason` is empty: a reviewer reads it."
    if not added and not removed:
        yield "The amendment changes nothing."
    for path in removed:
        if path not in planned:
            yield f"`{path}` cannot be removed: it is not in the plan."
    for one in added:
        if one.path in planned and one.path not in removed:
            yield f"`{one.path}` is planned already; to change that, remove it in the same call."


def order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with prerequisites first, else in the plan's order. Raises `PlanRefused` naming
    what cannot be ordered: a twin id, an unknown prerequisite, a cycle."""
    known = {step.id: step for step in steps}
    if len(known) != len(steps):
        raise PlanRefused("Two steps have the same id.")
    for step in steps:
        for need in step.needs:
            if need not in known:
                raise PlanRefused(f"Step `{step.id}` needs `{need}`, which is no step of the plan.")
    done: dict[str, Step] = {}
    while len(done) < len(known):
        ready = [s for s in steps if s.id not in done and all(n in done for n in s.needs)]
        if not ready:
            left = ", ".join(f"`{s.id}`" for s in steps if s.id not in done)
            raise PlanRefused(f"The steps {left} wait for each other in a circle.")
        done[ready[0].id] = ready[0]
    return tuple(done.values())


def declares(plan: Plan, path: str, action: Action) -> bool:
    """Whether the plan lets `action` happen to `path`. A file that the plan creates may also be
    edited and taken back."""
    return any(f.path == path and f.action in (action, Action.CREATE) for f in plan.files)


def action_of(delta: Delta) -> Action:
    """What a difference between two trees does to its path."""
    if not delta.old_mode:
        return Action.CREATE
    return Action.EDIT if delta.new_mode else Action.DELETE
