"""Gate: what was shown about the candidate, recomputed from the trees, becomes a verdict on it.

Works without a model: also for a run that stopped early and has partial work to show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from app.domain.edit import Delta
from app.domain.errors import Halt, Reason
from app.domain.evidence import readable
from app.domain.gate import NO_PLAN, Exhibits, judge
from app.domain.policy import Rules, never, rules_of
from app.domain.record import BLOB_CAP, Kept
from app.domain.run import Run
from app.domain.state import JUDGING, Kind, Signal
from worker.runner.stages.attempts import applies, changed_paths, measured
from worker.runner.stages.check_kit import CheckKit, charged
from worker.runner.stages.lines import free_of_secrets
from worker.runner.stages.own_ci import started
from worker.runner.stages.reapply import moved_on
from worker.runner.stages.since import told_since
from worker.runner.stages.testimony import testimony


def gate(kit: CheckKit) -> Callable[[Run], Run]:
    """The stage for one held run. Raises `Halt` with NO_CHANGE, BLOCKED_PATH or SECRET_FOUND, after
    which nothing of the candidate may be published, and what certifying raises."""

    def stage(run: Run) -> Run:
        contract, snapshot, candidate = run.contract, run.snapshot, run.candidate
        if contract is None or snapshot is None:
            raise LookupError("a run without contract and snapshot cannot be judged")
        if run.kind is Kind.REVISE:
            run, snapshot, candidate = moved_on(kit, run, snapshot, candidate)
        if candidate is None or candidate.tree in (snapshot.base_tree, snapshot.start):
            raise Halt(
                Reason.NO_CHANGE,
                "The run ended without a change: the candidate equals what it began from.",
                "Say in the issue what should differ, then label it again.",
            )
        start = snapshot.start
        own = None if start == snapshot.base_tree else kit.objects.deltas(start, candidate.tree)
        deltas = kit.objects.deltas(snapshot.base_tree, candidate.tree)
        foreign = run.kind in JUDGING  # what others made: told about, never withheld
        scope = contract.revision.scope if contract.revision else None
        rules = rules_of(contract.config, scope, foreign=foreign or own is not None)
        if not foreign:
            mine = deltas if own is None else own
            _free_of_blocked(mine, rules)
            free_of_secrets(kit, start, candidate.tree, mine)
        run = _with_results(kit, run)
        paths = changed_paths(kit, snapshot, candidate)
        checks = tuple(one for one in snapshot.checks if applies(one, paths))
        heard, ms = testimony(kit, run, snapshot, candidate.tree, deltas, rules, checks)
        verdict = judge(
            Exhibits(
                tree=candidate.tree,
                base_commit=contract.base_commit,
                plan=None if foreign else run.plan or NO_PLAN,
                deltas=deltas,
                rules=rules,
                limits=run.limits or contract.limits,
                checks=checks,
                results=run.results,
                baseline=run.baseline,
                restored=heard.restored,
                attempts=len(run.attempts),
                halt=run.halt,
                witness=replace(heard.witness, criteria=contract.criteria),
                passing=heard.passing,
                aside=heard.aside,
                own=own,
            )
        )
        _show(kit, snapshot.base_tree, candidate.tree, deltas)
        if own is not None:
            told_since(kit, run, snapshot, candidate, own)
        pushes = run.kind not in (Kind.VERIFY, Kind.RECHECK)  # a commit of ours
        ci = started(kit, run, contract, candidate.tree, deltas) if pushes else None
        verdict, restored = readable(verdict), heard.restored or ()
        run = replace(charged(run, ms), verdict=verdict, restored=restored, ci=ci)
        return run.moved(Signal.DONE)

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
        first, line = blocked[0]
        raise Halt(
            Reason.BLOCKED_PATH,
            f"The change touches a path that is blocked: `{first}`. It is not published.",
            f"{line[:1].upper()}{line[1:]}."
            if never(first)
            else f"If such changes are wanted, put into `.github/agent.yml`: `{line}`",
            tuple(f"{path}: {line}" for path, line in blocked[:20]),
        )


def _with_results(kit: CheckKit, run: Run) -> Run:
    """The run with results on its candidate. A run that stopped before its checks is measured here,
    so that partial work says what works; only when its time is over it says nothing ran."""
    over = run.halt is not None and run.halt.reason is Reason.BUDGET_TIME
    return run if run.results or over else measured(kit, run)
