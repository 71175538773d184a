"""All that the gate hears beside the checks' own results, in the order of what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain import unrun as extra
from app.domain.check import Check, CheckResult, Standing, Tier
from app.domain.contract import hidden_words
from app.domain.deciding import Deciding
from app.domain.edit import Delta
from app.domain.errors import Reason
from app.domain.policy import Rules
from app.domain.run import Run, Snapshot
from app.domain.state import JUDGING, Kind
from app.domain.witness import Witness
from worker.runner.stages.attempts import applies
from worker.runner.stages.check_kit import CheckKit
from worker.runner.stages.deciding import decided_by
from worker.runner.stages.lines import (
    referee_sentences,
    secrets_in,
    sign_sentences,
    started,
    strange_sentences,
)
from worker.runner.stages.red import red_green
from worker.runner.stages.restored import base_tests
from worker.runner.stages.seen import passed_cases
from worker.runner.stages.sentinels import sentinels


@dataclass(frozen=True)
class Testimony:
    """`restored` are the results with the base's tests put back (None: not needed, one run serves
    both), `passing` the ids that pass on the candidate. `aside` are required checks that the change
    does not concern by their `paths`, and whose tests or settings it touches all the same."""

    witness: Witness
    restored: tuple[CheckResult, ...] | None
    passing: tuple[str, ...]
    aside: tuple[Check, ...] = ()


def testimony(
    kit: CheckKit,
    run: Run,
    snapshot: Snapshot,
    tree: str,
    deltas: Sequence[Delta],
    rules: Rules,
    checks: Sequence[Check],
) -> tuple[Testimony, int]:
    """(what was heard about `tree`, ms that it took). `checks` are those that the change concerns.

    Red to green and the sentinels are run only where they can still decide something: every
    required check passed, also with the base's tests. Raises what certifying raises.
    """
    base = snapshot.base_tree
    required = [one for one in checks if one.tier is Tier.REQUIRED]
    decided = what_decides(kit, run, snapshot, tree, deltas, rules)
    aside = skipped_by_paths(snapshot, deltas, rules, decided)
    restored, ms = base_tests(kit, run, snapshot, tree, deltas, rules, decided, (*required, *aside))
    # Somebody else's change is not withheld for a secret: it is said, and not quoted.
    foreign = run.kind in JUDGING
    secrets = list(secrets_in(kit, base, tree, deltas)) if foreign else []
    silent = {path for path, _ in secrets}
    touched = referee_sentences(kit, base, tree, deltas, rules, decided, silent)
    held = _held(secrets)
    odd = strange_sentences(kit, base, tree, deltas) if foreign else ()
    near, far = extra.folders(snapshot.untested, [delta.path for delta in deltas])
    signs = sign_sentences(kit, base, tree, deltas, rules, checks, silent)
    witness = Witness(
        touched=touched,
        deciding=decided.paths,
        signs=signs,
        strange=odd,
        secrets=held,
        unrun=(*(extra.base_tests(restored) if run.results else ()), *far),
        untested=near,
        hidden=_hidden(run),
    )
    passing = tuple(
        test
        for result in run.results
        if result.standing is Standing.PASSED
        for test in passed_cases(kit, result)
    )
    over = run.halt is not None and run.halt.reason is Reason.BUDGET_TIME
    if why := _idle(over, run, required, restored, aside):
        unrun = (*witness.unrun, *extra.neither(why))
        return Testimony(replace(witness, unrun=unrun), restored, passing, aside), ms
    red, red_ms = red_green(kit, run, snapshot, tree, deltas, rules, required)
    seen, flaky, seen_ms = sentinels(kit, run, snapshot, tree, required)
    unrun = (*witness.unrun, *extra.red_green(red), *extra.sentinels(run.results, required, seen))
    witness = replace(witness, sentinels=seen, flaky=flaky, red=red, unrun=unrun)
    return Testimony(witness, restored, passing, aside), ms + red_ms + seen_ms


def _hidden(run: Run) -> tuple[str, ...]:
    """What is said of hidden text in the request; of somebody else's change nobody read one."""
    if run.contract is None or run.kind is Kind.VERIFY:
        return ()
    return hidden_words(run.contract.request, run.issue)


def _held(secrets: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """A sentence a path; the secret itself is in none."""
    kinds: dict[str, list[str]] = {}
    for path, kind in secrets:
        kinds.setdefault(path, []).append(kind)
    return tuple(
        f"A secret is in the change: `{path}` adds what looks like one ({'; '.join(found)})."
        for path, found in kinds.items()
    )


def _idle(
    over: bool,
    run: Run,
    required: Sequence[Check],
    restored: Sequence[CheckResult] | None,
    aside: Sequence[Check],
) -> str:
    """Why nothing more that is run could decide anything, "" where it could."""
    if over:
        return "the time of the run is over"
    if not _passed(run.results, required):
        return "not every required check passed, so it could decide nothing"
    if not _passed(restored, (*required, *aside)):
        return "the base's own tests do not all pass over the change, so it could decide nothing"
    return ""


def what_decides(
    kit: CheckKit, run: Run, snapshot: Snapshot, tree: str, deltas: Sequence[Delta], rules: Rules
) -> Deciding:
    """What decides about the candidate, for all of the base's checks."""
    base, checks = snapshot.base_tree, snapshot.checks
    decided = decided_by(kit, run, base, tree, deltas, rules, checks)
    scripts = started(kit, base, deltas, checks)
    every = {**dict.fromkeys(sorted(scripts), "a check starts it"), **decided.every}
    return replace(decided, every=every)


def skipped_by_paths(
    snapshot: Snapshot, deltas: Sequence[Delta], rules: Rules, decided: Deciding
) -> tuple[Check, ...]:
    """Required checks whose `paths` the change does not touch, while it touches what decides for
    them: the base's version of it is asked."""
    paths = [delta.path for delta in deltas]
    return tuple(
        check
        for check in snapshot.checks
        if check.tier is Tier.REQUIRED
        and not applies(check, paths)
        and decided.touches(check, deltas, rules)
    )


def _passed(results: Sequence[CheckResult] | None, required: Sequence[Check]) -> bool:
    """Whether each required check passed; None are results that were not needed."""
    if results is None:
        return True
    passed = {one.digest for one in results if one.standing is Standing.PASSED}
    return bool(required) and all(check.digest() in passed for check in required)
