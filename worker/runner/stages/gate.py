"""Gate: what was shown about the candidate, recomputed from the trees, becomes a verdict on it.

Works without a model: also for a run that stopped early and has partial work to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.domain.check import CheckResult, Tier
from app.domain.edit import EXECUTABLE, FILE, Candidate, Change, Delta
from app.domain.errors import Halt, Reason
from app.domain.gate import NO_PLAN, Exhibits, judge
from app.domain.policy import Rules, rules_of
from app.domain.record import BLOB_CAP, Kept
from app.domain.redact import secret_kinds
from app.domain.run import Run, Snapshot
from app.domain.state import Kind, Signal
from worker.runner.stages.attempts import applies, measured
from worker.runner.stages.check_kit import BASE_TESTS, CheckKit, baseline_of, charged


def gate(kit: CheckKit) -> Callable[[Run], Run]:
    """The stage for one held run. Raises `Halt` with NO_CHANGE, BLOCKED_PATH or SECRET_FOUND, after
    which nothing of the candidate may be published, and what certifying raises."""

    def stage(run: Run) -> Run:
        contract, snapshot, candidate = run.contract, run.snapshot, run.candidate
        if contract is None or snapshot is None:
            raise LookupError("a run without contract and snapshot cannot be judged")
        if candidate is None or candidate.tree == snapshot.base_tree:
            raise Halt(
                Reason.NO_CHANGE,
                "The run ended without a change: the candidate equals the base.",
                "Say in the issue what should differ, then label it again.",
            )
        rules = rules_of(contract.config)
        deltas = kit.objects.deltas(snapshot.base_tree, candidate.tree)
        foreign = run.kind is Kind.VERIFY  # somebody else's change: told about, never withheld
        if not foreign:
            _free_of_blocked(deltas, rules)
            _free_of_secrets(kit, snapshot, candidate, deltas)
        run = _with_results(kit, run)
        restored, ms = _base_tests(kit, run, snapshot, candidate, deltas, rules)
        verdict = judge(
            Exhibits(
                tree=candidate.tree,
                base_commit=contract.base_commit,
                plan=None if foreign else run.plan or NO_PLAN,
                deltas=deltas,
                rules=rules,
                limits=contract.limits,
                checks=tuple(one for one in snapshot.checks if applies(one, candidate)),
                results=run.results,
                baseline=run.baseline,
                restored=restored,
                attempts=len(run.attempts),
                halt=run.halt,
            )
        )
        _show(kit, snapshot.base_tree, candidate.tree, deltas)
        return replace(charged(run, ms), verdict=verdict).moved(Signal.DONE)

    return stage


def _show(kit: CheckKit, base: str, tree: str, deltas: Sequence[Delta]) -> None:
    """Leave what people are shown of the change where the desk finds it: it has no objects."""
    rows = [[one.path, one.old_mode, one.new_mode, one.added, one.removed] for one in deltas]
    kit.hold.note(Kept.NOTE, {"deltas": rows})
    patch = kit.objects.diff(base, tree)
    if len(patch) <= BLOB_CAP:
        kit.hold.note(Kept.NOTE, {"patch": kit.hold.put(patch)})


def _free_of_blocked(deltas: Sequence[Delta], rules: Rules) -> None:
    lines = [(one.path, rules.blocked(one.path)) for one in deltas]
    blocked = [(path, line) for path, line in lines if line is not None]
    if blocked:
        raise Halt(
            Reason.BLOCKED_PATH,
            f"The change touches a path that is blocked: `{blocked[0][0]}`. It is not published.",
            f"If such changes are wanted, put into `.github/agent.yml`: {blocked[0][1]}",
            tuple(f"{path}: {line}" for path, line in blocked[:20]),
        )


def _free_of_secrets(
    kit: CheckKit, snapshot: Snapshot, candidate: Candidate, deltas: Sequence[Delta]
) -> None:
    for delta in deltas:
        kinds = secret_kinds(_added(kit, snapshot.base_tree, candidate.tree, delta))
        if kinds:
            raise Halt(
                Reason.SECRET_FOUND,
                f"The change adds what looks like a secret to `{delta.path}`; nothing of it is "
                "published or shown.",
                "Look whether the issue or the repository holds a real secret, and revoke it.",
                tuple(f"{delta.path}: {kind}" for kind in kinds),
            )


def _added(kit: CheckKit, old: str, new: str, delta: Delta) -> list[str]:
    """The lines that the candidate adds to one file, however long; none for what is no file."""
    if delta.new_mode not in (FILE, EXECUTABLE):
        return []
    lines = kit.objects.read(new, delta.path).splitlines()
    regular = delta.old_mode in (FILE, EXECUTABLE)
    known = frozenset(kit.objects.read(old, delta.path).splitlines()) if regular else frozenset()
    return [line.decode("utf-8", "replace") for line in lines if line not in known]


def _with_results(kit: CheckKit, run: Run) -> Run:
    """The run with results on its candidate. A run that stopped before its checks is measured here,
    so that partial work says what works; only when its time is over it says nothing ran."""
    over = run.halt is not None and run.halt.reason is Reason.BUDGET_TIME
    return run if run.results or over else measured(kit, run)


def _base_tests(
    kit: CheckKit,
    run: Run,
    snapshot: Snapshot,
    candidate: Candidate,
    deltas: Sequence[Delta],
    rules: Rules,
) -> tuple[tuple[CheckResult, ...] | None, int]:
    """(what the required checks say with the base's tests put back, ms that it took).

    None where no test and no referee file was touched: then one run serves both.
    """
    touched = [one for one in deltas if rules.test(one.path) or rules.referee(one.path)]
    if not touched or not run.results:
        return None, 0
    changes = tuple(_put_back(kit, snapshot.base_tree, touched))
    tree = kit.objects.build(candidate.tree, changes, kit.hold.get)
    checks = [one for one in snapshot.checks if one.tier is Tier.REQUIRED]
    checks = [one for one in checks if applies(one, candidate)]
    if tree == snapshot.base_tree:  # only tests were changed: the baseline has said it
        known = [baseline_of(run, check) for check in checks]
        return tuple(result for result in known if result is not None), 0
    results = tuple(
        kit.certify(run.id, BASE_TESTS, one, tree, snapshot.image, baseline_of(run, one))
        for one in checks
    )
    return results, sum(result.ms for result in results)


def _put_back(kit: CheckKit, base: str, touched: Sequence[Delta]) -> Iterator[Change]:
    """Changes that give every touched path the base's bytes and mode, or remove a new one."""
    for delta in touched:
        if delta.old_mode:
            digest = kit.hold.put(kit.objects.read(base, delta.path))
            yield Change(delta.path, delta.old_mode, digest)
        else:
            yield Change(delta.path, 0, "")
