"""The merge gate before publishing: deterministic rules that turn exhibits into a verdict.

A verdict speaks of one tree. It is passed only when every rule holds and every required check
passed on that very tree; what nobody looked at is unknown, and unknown is never passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.domain import claims, witness
from app.domain.budget import Limits
from app.domain.check import Check, CheckResult, Standing, Tier, failing_ids, why_of
from app.domain.criteria import Support
from app.domain.edit import EXECUTABLE, FILE, Delta
from app.domain.errors import HaltRecord
from app.domain.evidence import Finding, Holds, Result, Verdict
from app.domain.plan import Action, Plan, action_of, declares
from app.domain.policy import Rules
from app.domain.witness import NOTHING, Witness

FREE_LINES = 40  # changed lines that need no plan (B8)
FACTOR = 3
SHOWN = 20  # paths or ids in one exhibit
NO_PLAN = Plan("", (), (), (), (), 0)  # declares nothing, so whatever is changed is undeclared


@dataclass(frozen=True)
class Exhibits:
    """All that the gate looks at.

    `tree` is the candidate's id and `deltas` its difference from the base's tree; `checks` are
    those that the base commit's configuration names; `results` are what they said about `tree`
    (any other tree's result is ignored); `baseline` is what they said about the base's tree.
    `restored` are the results with every test and referee file of the base put back over the
    candidate, None when that was not run. `attempts` counts the candidates that were verified;
    `halt` is why the run stopped early, None when it reached its end. `plan` is None for a change
    that somebody else made (kind verify): then no rule about plan, scope or size binds it.
    `own` are the differences that the run's own edits make, where it did not begin at the base (a
    revision): the rules about plan, scope and size are about those. None: they are `deltas`.
    `witness` is what was measured beside the checks, `passing` the ids that pass on the candidate.
    `aside` are required checks that the change does not concern by their `paths`, but whose tests
    or settings it touches: they count among `restored` alone.
    """

    tree: str
    base_commit: str
    plan: Plan | None
    deltas: Sequence[Delta]
    rules: Rules
    limits: Limits
    checks: Sequence[Check]
    results: Sequence[CheckResult]
    baseline: Sequence[CheckResult] = ()
    restored: Sequence[CheckResult] | None = None
    attempts: int = 0
    halt: HaltRecord | None = None
    witness: Witness = NOTHING
    passing: Sequence[str] = ()
    aside: Sequence[Check] = ()
    own: Sequence[Delta] | None = None

    @property
    def edits(self) -> Sequence[Delta]:
        return self.deltas if self.own is None else self.own


def judge(exhibits: Exhibits) -> Verdict:
    """The verdict on `exhibits.tree`. Failed when a rule or a check fails, partial when nothing
    fails but something is unknown or the run stopped early, else passed. The wall is the sentence
    of the first claim that does not hold, failing ones first. What only tells a reviewer where to
    look stands first and last among the findings and has no part in the verdict."""
    rules = _group("The change keeps to what was allowed", _rules(exhibits), exhibits)
    end = _end(exhibits)
    checks = _of("Every required check passed on this tree", _checks(exhibits))
    exhibits = replace(exhibits, witness=_with_flaky(exhibits))
    referee = _of(
        "The change did not decide about itself",
        (_tests_kept(exhibits), _restored(exhibits), *witness.deciding(exhibits.witness)),
    )
    secret = witness.secret(exhibits.witness)
    findings = (*secret, rules, end, checks, referee)
    measured = {one.standing for one in (*secret, rules, checks, referee)}
    if Holds.FAILS in measured:
        result = Result.FAILED
    elif Holds.UNKNOWN in measured or end.standing is not Holds.HOLDS:
        result = Result.PARTIAL
    else:
        result = Result.PASSED
    wall = "" if result is Result.PASSED else _wall(findings)
    told = (
        *witness.touched(exhibits.witness),
        *findings,
        *_unparsed(exhibits),
        *witness.looks(exhibits.witness, _support(exhibits, checks)),
    )
    return Verdict(exhibits.tree, exhibits.base_commit, result, wall, told)


def size_problem(plan: Plan, deltas: Sequence[Delta], limits: Limits, rules: Rules) -> str:
    """Empty when the change is no larger than planned, else the sentence that says by how much.

    At most max(40, 3 x planned) lines may change, or `limits.changed_lines` where that is set;
    source and tests are counted apart. Binary files count no lines.
    """
    for what, tests in (("source", False), ("tests", True)):
        changed = sum(
            max(d.added, 0) + max(d.removed, 0) for d in deltas if rules.test(d.path) is tests
        )
        planned = sum(f.lines for f in plan.files if rules.test(f.path) is tests)
        limit = limits.changed_lines or max(FREE_LINES, FACTOR * planned)
        if changed > limit:
            return (
                f"The change has {changed} changed lines of {what}; at most {limit} are allowed "
                f"with {planned} planned."
            )
    return ""


# -- rules: each answers "" when it holds, else the sentence that says why not --------------------


def _not_empty(exhibits: Exhibits) -> str:
    return "" if exhibits.edits else "The candidate equals the base: nothing was changed."


def _not_blocked(exhibits: Exhibits) -> str:
    paths = [d.path for d in exhibits.edits if exhibits.rules.blocked(d.path) is not None]
    return _listed("The change touches paths that are blocked", paths)


def _declared(exhibits: Exhibits) -> str:
    plan = exhibits.plan or NO_PLAN
    paths = [d.path for d in exhibits.edits if not declares(plan, d.path, action_of(d))]
    return _listed("The change does to these paths what the plan does not declare", paths)


def _in_scope(exhibits: Exhibits) -> str:
    paths = [d.path for d in exhibits.edits if not exhibits.rules.in_scope(d.path)]
    what = "this repository allows" if exhibits.rules.scope is None else "the comments are about"
    return _listed(f"The change leaves the paths that {what}", paths)


def _same_kind(exhibits: Exhibits) -> str:
    paths = [d.path for d in exhibits.edits if not _plain(d)]
    return _listed("The change touches links, submodules, binary files or file modes", paths)


def _plain(delta: Delta) -> bool:
    if delta.added < 0:
        return False
    modes = {delta.old_mode, delta.new_mode} - {0}
    if action_of(delta) is Action.CREATE:
        return modes == {FILE}
    return len(modes) == 1 and modes <= {FILE, EXECUTABLE}


def _sized(exhibits: Exhibits) -> str:
    return size_problem(exhibits.plan or NO_PLAN, exhibits.edits, exhibits.limits, exhibits.rules)


_Rule = tuple[str, Callable[[Exhibits], str]]
_RULES: tuple[_Rule, ...] = (
    ("No blocked path is touched", _not_blocked),
    ("Every changed file is declared in the plan", _declared),
    ("Every changed file is in scope", _in_scope),
    ("Only plain files change, and none its mode", _same_kind),
    ("The change is no larger than planned", _sized),
    ("Something is changed", _not_empty),
)
_FOREIGN_RULES: tuple[_Rule, ...] = (("Something is changed", _not_empty),)


def _rules(exhibits: Exhibits) -> tuple[_Rule, ...]:
    return _RULES if exhibits.plan is not None else _FOREIGN_RULES


def _group(claim: str, rules: Sequence[_Rule], exhibits: Exhibits) -> Finding:
    parts = tuple(
        Finding(name, Holds.FAILS if said else Holds.HOLDS, (said,) if said else ())
        for name, said in ((name, rule(exhibits)) for name, rule in rules)
    )
    return _of(claim, parts)


def _end(exhibits: Exhibits) -> Finding:
    claim = "The run reached its end"
    if exhibits.halt is None:
        return Finding(claim, Holds.HOLDS, (f"Verified candidates: {exhibits.attempts}.",))
    return Finding(claim, Holds.FAILS, (exhibits.halt.message,))


# -- checks --------------------------------------------------------------------------------------


def _checks(exhibits: Exhibits) -> tuple[Finding, ...]:
    required = _required(exhibits)
    if not required:
        said = "The configuration names no required check, so nothing was shown."
        return (Finding("A required check is configured", Holds.UNKNOWN, (said,)),)
    own = [result for result in exhibits.results if result.tree == exhibits.tree]
    return tuple(_check(check, own, exhibits.baseline) for check in required)


def _required(exhibits: Exhibits) -> tuple[Check, ...]:
    return tuple(check for check in exhibits.checks if check.tier is Tier.REQUIRED)


def _check(
    check: Check, results: Sequence[CheckResult], baseline: Sequence[CheckResult]
) -> Finding:
    claim = f"`{check.name}` passed"
    mine = _results_of(check, results)
    known = _results_of(check, baseline)
    before = "; ".join(_told(result) for result in known)
    if known and all(result.standing is Standing.UNAVAILABLE for result in known):
        before = f"baseline unusable, {before}"
    earlier = ", measured by an earlier run" if any(result.cached for result in known) else ""
    on_base = f"On the base{earlier}: {before or 'not run'}."
    if not mine:
        return Finding(claim, Holds.UNKNOWN, (f"`{check.name}` did not run on this tree.", on_base))
    worst = max(mine, key=lambda result: _RANK[_standing(result)])
    said = f"`{check.name}`: {_told(worst)}."
    return Finding(claim, _standing(worst), (said, on_base))


def _unparsed(exhibits: Exhibits) -> tuple[Finding, ...]:
    """Checks that passed by their exit code alone: whether a test ran is not known."""
    found = [
        f"`{check.name}` passed by its exit code alone: its output is unparsed, so nothing shows "
        "that it ran a test."
        for check in _required(exhibits)
        for result in _results_of(check, exhibits.results)
        if result.tree == exhibits.tree
        and result.standing is Standing.PASSED
        and result.counts is None
        and not result.parsed
    ]
    told = tuple(dict.fromkeys(found))
    return (Finding(claims.UNPARSED, Holds.UNKNOWN, told),) if told else ()


_RANK = {Holds.HOLDS: 0, Holds.UNKNOWN: 1, Holds.FAILS: 2}


def _results_of(check: Check, results: Sequence[CheckResult]) -> list[CheckResult]:
    """The results of exactly this command: a result of another configuration is none."""
    digest = check.digest()
    return [r for r in results if r.check == check.name and r.digest == digest]


def _standing(result: CheckResult) -> Holds:
    if result.standing is Standing.FAILED:
        return Holds.FAILS
    ran = result.counts is None or result.counts.passed > 0
    clean = result.exit_code == 0 and (result.counts is None or not result.counts.failed)
    return Holds.HOLDS if result.standing is Standing.PASSED and ran and clean else Holds.UNKNOWN


def _told(result: CheckResult) -> str:
    """One result in words, without its standing being softened."""
    told = str(result.standing)
    if result.reason:
        told += f" ({result.reason})"
    if result.subset:
        told += ", subset: {} of {} tests".format(*result.subset)
    counts = result.counts
    if counts is None:
        code = result.exit_code
        return f"{told}, not started" if code is None else f"{told}, exit code {code}"
    return f"{told}, {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"


# -- referee -------------------------------------------------------------------------------------


def _tests_kept(exhibits: Exhibits) -> Finding:
    """Tests that the baseline knew and that are gone or skipped now (A20). A base that could not be
    measured knew none: nobody is blamed for what is gone from it (A19)."""
    claim = "No test of the base is gone or newly skipped"
    unusable = {r.digest for r in exhibits.baseline if r.standing is Standing.UNAVAILABLE}
    lost = sorted(
        {
            test
            for result in exhibits.results
            if result.tree == exhibits.tree
            and result.comparison is not None
            and result.digest not in unusable
            for test in (*result.comparison.gone, *result.comparison.newly_skipped)
        }
    )
    if not lost:
        return Finding(claim, Holds.HOLDS)
    said = _listed("Tests of the base are gone or newly skipped", lost)
    if exhibits.restored is not None and _base_version(exhibits)[0] is Holds.HOLDS:
        said += " Put back, they pass; the change would pass with them."
    return Finding(claim, Holds.FAILS, (said,))


def _restored(exhibits: Exhibits) -> Finding:
    """What decides about the change was touched by it: then the base's version decides too."""
    claim = claims.BASE_TESTS
    more = exhibits.witness.deciding
    touched = [d.path for d in exhibits.deltas if _decides(d, exhibits.rules) or d.path in more]
    if exhibits.restored is None:
        if not touched:
            return Finding("No test of the base and no referee file is touched", Holds.HOLDS)
        said = _listed("The base's version was not run, although the change touches", touched)
        return Finding(claim, Holds.UNKNOWN, (said,))
    standing, said = _base_version(exhibits)
    named = _listed("Touched", touched)
    reasons = _reasons(exhibits) if standing is Holds.FAILS else ()
    return Finding(claim, standing, tuple(text for text in (said, *reasons, named) if text))


def _reasons(exhibits: Exhibits) -> tuple[str, ...]:
    """In short why the base's own tests fail on the change, a sentence a check."""
    found = [
        (result.check, why_of(result))
        for result in exhibits.restored or ()
        if result.standing is Standing.FAILED
    ]
    return tuple(f"`{check}` said: {why}" for check, why in found if why)


def _decides(delta: Delta, rules: Rules) -> bool:
    """Whether the change of this path could make a check pass: a referee, or a test of the base."""
    return rules.referee(delta.path) or (delta.old_mode != 0 and rules.test(delta.path))


def _base_version(exhibits: Exhibits) -> tuple[Holds, str]:
    """The worst standing of the required checks over the candidate with the base's tests."""
    worst, said = Holds.UNKNOWN, "No required check was run with the base's tests put back."
    asked = (*_required(exhibits), *exhibits.aside)
    findings = [_check(check, exhibits.restored or (), ()) for check in asked]
    for finding in sorted(findings, key=lambda one: _RANK[one.standing], reverse=True)[:1]:
        worst, said = finding.standing, f"With the base's tests put back: {finding.exhibits[0]}"
    failing = dict.fromkeys(
        test
        for result in exhibits.restored or ()
        if result.standing is Standing.FAILED
        for test in failing_ids(result)
    )
    listed = _listed("Of the base's own tests fail", list(failing))
    return worst, f"{said} {listed}" if listed else said


# -- what is beside the checks -------------------------------------------------------------------


def _with_flaky(exhibits: Exhibits) -> Witness:
    """The witness with the tests that changed their mind when a check was run again."""
    flaky = {
        test
        for result in exhibits.results
        if result.tree == exhibits.tree and result.comparison is not None
        for test in result.comparison.flaky
    }
    flaky.update(exhibits.witness.flaky)
    return replace(exhibits.witness, flaky=tuple(sorted(flaky)))


def _support(exhibits: Exhibits, checks: Finding) -> Support:
    own = [result for result in exhibits.results if result.tree == exhibits.tree]
    fixed = [
        test for result in own if result.comparison is not None for test in result.comparison.fixed
    ]
    red = exhibits.witness.red
    return Support(
        red_green=sorted({*fixed, *(red.shown if red else ())}),
        passing=exhibits.passing,
        checks=[result.check for result in own if result.standing is Standing.PASSED],
        all_passed=checks.standing is Holds.HOLDS,
    )


# -- the tree of findings ------------------------------------------------------------------------


def _of(claim: str, parts: tuple[Finding, ...]) -> Finding:
    """A claim that stands as its weakest part does."""
    weakest = max((part.standing for part in parts), key=lambda standing: _RANK[standing])
    return Finding(claim, weakest, parts=parts)


def _wall(findings: Sequence[Finding]) -> str:
    leaves = [leaf for finding in findings for leaf in (finding.parts or (finding,))]
    leaves.sort(key=lambda leaf: _RANK[leaf.standing], reverse=True)  # stable: first failing first
    return leaves[0].exhibits[0]


def _listed(what: str, names: Sequence[str]) -> str:
    """`what` and the names, cut at `SHOWN`; "" when there are none."""
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{what}: {', '.join(f'`{name}`' for name in names[:SHOWN])}{more}."
