"""The base's own tests, settings and scripts put back over the candidate, and what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from app.domain.check import Check, CheckResult
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
    more: Collection[str],
    checks: Sequence[Check],
) -> tuple[tuple[CheckResult, ...] | None, int]:
    """(what the required `checks` say with the base's tests put back, ms that it took).

    `more` are paths that decide although no rule names them. None where nothing that decides was
    touched: then one run serves both; () where the base's version cannot be put back.
    """
    touched = [d for d in deltas if rules.test(d.path) or rules.referee(d.path) or d.path in more]
    if not touched or not run.results:
        return None, 0
    if any(not _plain(delta) for delta in touched):  # only somebody else's change can have those
        return (), 0
    changes = tuple(_put_back(kit, snapshot.base_tree, touched))
    restored = kit.objects.build(tree, changes, kit.hold.get)
    if restored == snapshot.base_tree:  # only tests were changed: the baseline has said it
        known = [baseline_of(run, check) for check in checks]
        return tuple(result for result in known if result is not None), 0
    results = tuple(
        kit.certify(run.id, BASE_TESTS, one, restored, snapshot.image, baseline_of(run, one))
        for one in checks
    )
    return results, sum(result.ms for result in results)


def _plain(delta: Delta) -> bool:
    """Whether both sides are files: links and submodules cannot be put back."""
    return {delta.old_mode, delta.new_mode} <= {0, *REGULAR}


def _put_back(kit: CheckKit, base: str, touched: Sequence[Delta]) -> Iterator[Change]:
    """Changes that give every touched path the base's bytes and mode, or remove a new one."""
    for delta in touched:
        if delta.old_mode:
            digest = kit.hold.put(kit.objects.read(base, delta.path))
            yield Change(delta.path, delta.old_mode, digest)
        else:
            yield Change(delta.path, 0, "")
