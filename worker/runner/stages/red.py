"""Red to green: the tests that a change adds or changes, run over the base's sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.changed_tests import changed_tests, of_file
from app.domain.check import CaseStatus, Check, CheckResult
from app.domain.edit import Delta
from app.domain.policy import Rules
from app.domain.run import Run, Snapshot
from app.domain.witness import RedGreen
from worker.runner.checks.narrow import selectable
from worker.runner.stages.check_kit import RED, CheckKit
from worker.runner.stages.lines import REGULAR
from worker.runner.stages.seen import passed_cases, statuses

NOT_TOLD = (
    "No check says which tests ran, so the tests of the change could not be told apart. A check "
    "that names a JUnit `report` does."
)


@dataclass(frozen=True)
class Ground:
    """Where the tests are run: the candidate's test files over the base's tree."""

    tree: str
    changed: tuple[Delta, ...]


def red_green(
    kit: CheckKit,
    run: Run,
    snapshot: Snapshot,
    candidate: str,
    deltas: Sequence[Delta],
    rules: Rules,
    checks: Sequence[Check],
) -> tuple[RedGreen | None, int]:
    """(what the tests of the change say over the base's sources, ms that it took).

    None where the change brings no test that ran and passed. Raises what certifying raises.
    """
    changed = tuple(
        d
        for d in deltas
        if rules.test(d.path) and d.new_mode in REGULAR and d.old_mode in (0, *REGULAR)
    )
    if not changed:
        return None, 0
    over = kit.objects.put_back(snapshot.base_tree, candidate, [one.path for one in changed])
    ground = Ground(over, changed)
    shown: set[str] = set()
    idle: set[str] = set()
    unread: set[str] = set()
    told, ms = False, 0
    for check in checks:
        mine = next((one for one in run.results if one.digest == check.digest()), None)
        if mine is None or not mine.cases:
            continue
        told = True
        wanted = _wanted(kit, snapshot, candidate, ground, mine)
        if not wanted:
            continue
        if ground.tree == candidate:  # nothing but tests was changed
            idle |= wanted
            continue
        result = kit.certify(
            run.id,
            RED,
            check,
            ground.tree,
            snapshot.image,
            selectors=selectable(sorted(wanted)) if check.selector else (),
        )
        ms += result.ms
        red, same, dark = _told(kit, result, wanted)
        shown, idle, unread = shown | red, idle | same, unread | dark
    if not told:
        return RedGreen(note=NOT_TOLD), ms
    if not (shown or idle or unread):
        return None, ms
    idle -= shown
    unread -= shown | idle
    return RedGreen(tuple(sorted(shown)), tuple(sorted(idle)), tuple(sorted(unread))), ms


def _wanted(
    kit: CheckKit, snapshot: Snapshot, candidate: str, ground: Ground, mine: CheckResult
) -> set[str]:
    """The ids that pass on the candidate and whose test is new or changed."""
    passing = passed_cases(kit, mine)
    new = set(mine.comparison.new) if mine.comparison else set()
    found = {test for test in passing if test in new}
    for delta in ground.changed:
        old = None
        if delta.old_mode in REGULAR:
            old = kit.objects.read(snapshot.base_tree, delta.path).decode("utf-8", "replace")
        text = kit.objects.read(candidate, delta.path).decode("utf-8", "replace")
        found.update(changed_tests(delta.path, old, text, passing))
    return found


def _told(
    kit: CheckKit, result: CheckResult, wanted: set[str]
) -> tuple[set[str], set[str], set[str]]:
    """(failing there, passing there, neither). A file that cannot be collected fails as a whole."""
    cases = statuses(kit, result)
    failing, passing = set(), set()
    for test in wanted:
        status = cases.get(test, cases.get(of_file(test)))
        if status is CaseStatus.FAILED:
            failing.add(test)
        elif status is CaseStatus.PASSED:
            passing.add(test)
    return failing, passing, wanted - failing - passing
