"""Runs the sentinels beside a check that passed: can its results be believed?"""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.check import Check, CheckResult
from app.domain.evidence import Holds
from app.domain.record import Kept
from app.domain.run import Run, Snapshot
from app.domain.sentinel import Sentinel, Sighting, sentinel, sighted
from app.domain.witness import Sighted
from worker.runner.checks.again import differing
from worker.runner.checks.narrow import selectable
from worker.runner.stages.check_kit import SENTINEL, SENTINEL_ON_BASE, CheckKit
from worker.runner.stages.lines import REGULAR
from worker.runner.stages.seen import cases_of, passed_cases, statuses

WHOLE = 120_000  # ms: what took longer is narrowed to the sentinels and some tests that it ran
SOME = 20


def sentinels(
    kit: CheckKit, run: Run, snapshot: Snapshot, tree: str, checks: Sequence[Check]
) -> tuple[tuple[Sighted, ...], tuple[str, ...], int]:
    """(what the sentinels of each check showed, ids whose two runs on `tree` differ, ms).

    A check of a tool that no sentinel is known for has none. Raises what certifying raises.
    """
    seen: list[Sighted] = []
    flaky: set[str] = set()
    spent = 0
    for check in checks:
        mine = next((one for one in run.results if one.digest == check.digest()), None)
        put = _put(kit, check, mine, tree) if mine is not None else None
        if mine is None or put is None:
            if mine is not None and mine.cases:
                said = f"`{check.name}`: none is known for its tool, so it was not tried."
                seen.append(Sighted(check.name, Holds.UNKNOWN, said))
            continue
        result = _ran(kit, run, SENTINEL, check, tree, snapshot, put, mine)
        spent += result.ms
        flaky.update(differing(cases_of(kit, mine), cases_of(kit, result)))
        sight, said = _sight(kit, check, put, result)
        standing = Holds.HOLDS
        if sight is not Sighting.RIGHT:
            base = _ran(kit, run, SENTINEL_ON_BASE, check, snapshot.base_tree, snapshot, put, mine)
            spent += base.ms
            possible = _sight(kit, check, put, base)[0] is Sighting.RIGHT
            standing = Holds.FAILS if possible else Holds.UNKNOWN
            said = f"`{check.name}`: {said}"
            said += " On the base it is as it must be." if possible else " So it is on the base."
        seen.append(Sighted(check.name, standing, said))
    return tuple(seen), tuple(sorted(flaky)), spent


def _put(kit: CheckKit, check: Check, mine: CheckResult, tree: str) -> Sentinel | None:
    paths = [entry.path for entry in kit.objects.entries(tree) if entry.mode in REGULAR]
    ran = [case.id for case in cases_of(kit, mine)]
    drawn = _drawn(kit, check, tree)
    return sentinel(check, ran, paths, lambda path: kit.objects.read(tree, path), drawn)


def _drawn(kit: CheckKit, check: Check, tree: str) -> str:
    """The digits of this check's sentinels, in the journal so that a new worker goes on."""
    key = {"sentinel": check.digest(), "tree": tree}
    for entry in kit.hold.entries():
        if entry.kind is Kept.NOTE and all(entry.data.get(k) == v for k, v in key.items()):
            return str(entry.data["drawn"])
    drawn = kit.draw()
    kit.hold.note(Kept.NOTE, {**key, "drawn": drawn})
    return drawn


def _ran(
    kit: CheckKit,
    run: Run,
    phase: str,
    check: Check,
    tree: str,
    snapshot: Snapshot,
    put: Sentinel,
    mine: CheckResult,
) -> CheckResult:
    selectors: tuple[str, ...] = ()
    if mine.ms > WHOLE and check.selector:
        selectors = selectable((put.path, *passed_cases(kit, mine)[:SOME]))
    extra = {put.path: put.text}
    return kit.certify(run.id, phase, check, tree, snapshot.image, extra=extra, selectors=selectors)


def _sight(kit: CheckKit, check: Check, put: Sentinel, result: CheckResult) -> tuple[Sighting, str]:
    if result.exit_code is None or result.reason.startswith("limit:"):
        return Sighting.ABSENT, f"The run with the sentinels did not end ({result.reason})."
    log = kit.hold.get(result.log).decode("utf-8", "replace")
    cases = statuses(kit, result) if check.report and result.cases else None
    return sighted(put, cases, result.exit_code, log)
