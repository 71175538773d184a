"""The base's own tests, settings and scripts put back over the candidate, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.check import Check, CheckResult
from app.domain.deciding import Deciding
from app.domain.edit import Change, Delta
from app.domain.policy import Rules
from app.domain.run import Run, Snapshot
from worker.runner.stages.check_kit import BASE_TESTS, CheckKit, baseline_of
from worker.runner.stages.lines import REGULAR


def base_tests(
    kit: CheckKit,
    run: Run,
    snapshot: Snapshot,
    tree: str,
    deltas: Sequence[Delta],
    rules: Rules,
    decided: Deciding,
    checks: Sequence[Check],
) -> tuple[tuple[CheckResult, ...] | None, int]:
    """(what the required `checks` say with the base's tests put back, ms that it took).

    Each check runs over the candidate with all that decides for it as the base has it. None where
    nothing that decides was touched: then one run serves both; () where the base's version cannot
    be put back.
    """
    back = {check.digest(): decided.of(check, deltas, rules) for check in checks}
    if not (any(back.values()) or decided.spliced) or not run.results:
        return None, 0
    if None in decided.spliced.values() or any(_unsafe(one, deltas, rules) for one in deltas):
        return (), 0
    results: list[CheckResult] = []
    ms = 0
    for check in checks:
        restored = _restored(kit, snapshot.base_tree, tree, back[check.digest()], decided)
        known = _known(run, snapshot, tree, restored, check)
        if known is not None:
            results.append(known)
        elif restored != snapshot.base_tree:
            base = baseline_of(run, check)
            found = kit.certify(run.id, BASE_TESTS, check, restored, snapshot.image, base)
            results.append(found)
            ms += found.ms
    return tuple(results), ms


def _unsafe(delta: Delta, deltas: Sequence[Delta], rules: Rules) -> bool:
    """Whether a link or a submodule stands for a test, a setting, or a folder of the base: where
    else it leads is not put back with it. Only somebody else's change can have those."""
    if {delta.old_mode, delta.new_mode} <= {0, *REGULAR}:
        return False
    inside = any(one.old_mode and one.path.startswith(f"{delta.path}/") for one in deltas)
    return inside or rules.test(delta.path) or rules.referee(delta.path)


def _restored(kit: CheckKit, base: str, tree: str, paths: Sequence[str], decided: Deciding) -> str:
    """The candidate with the base's version of `paths` and of the examples in its code."""
    made = kit.objects.put_back(tree, base, paths) if paths else tree
    entries = {entry.path: entry.mode for entry in kit.objects.entries(made)}
    changes = tuple(
        Change(path, entries[path], kit.hold.put(text.encode()))
        for path, text in sorted(decided.spliced.items())
        if text is not None and path in entries and path not in paths
    )
    return kit.objects.build(made, changes, kit.hold.get) if changes else made


def _known(
    run: Run, snapshot: Snapshot, tree: str, restored: str, check: Check
) -> CheckResult | None:
    """A result that was measured already: nothing but tests was changed, or none for this check."""
    if restored == snapshot.base_tree:
        return baseline_of(run, check)
    if restored != tree:
        return None
    mine = (one for one in run.results if one.digest == check.digest() and one.tree == tree)
    return next((one for one in mine if one.reason != "paths"), None)
