"""Parts of a report that more than one page shows: standings, checks, spend, files, findings."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.budget import Limits, Spend
from app.domain.check import CheckResult, Standing
from app.domain.claims import TOUCHED
from app.domain.edit import Delta
from app.domain.evidence import Result
from app.domain.markdown import bullets, code, details, inline, table
from app.domain.plan import Plan
from app.domain.policy import rules_of
from app.domain.report_facts import Facts, Sizes
from app.domain.run import Attempt, Run
from app.domain.text import named

SIGNS = {
    Standing.PASSED: "✅ passed",
    Standing.FAILED: "❌ failed",
    Standing.SKIPPED: "⏭️ skipped",
    Standing.UNAVAILABLE: "❓ unavailable",
}
RESULTS = {
    Result.PASSED: "✅ **Passed.**",
    Result.PARTIAL: "🟡 **Partial: not ready for review.**",
    Result.FAILED: "❌ **Failed: not ready for review.**",
}
# The worst of several results of one check is what is shown.
_RANK = {
    Standing.PASSED: 0,
    Standing.SKIPPED: 1,
    Standing.UNAVAILABLE: 2,
    Standing.FAILED: 3,
}
OPEN_FILES = 25  # a longer list is folded away
UNCOUNTED = -2  # lines of a Delta that nobody measured


def short(digest: str) -> str:
    """The first twelve characters of an id, in code style; a dash without one."""
    return code(digest[:12]) if digest else "-"


def dollars(micro: int) -> str:
    """Micro-dollars as people read them, cents and below not rounded away."""
    return f"${micro / 1e6:.4f}" if 0 < micro < 1_000_000 else f"${micro / 1e6:.2f}"


def seconds(ms: int) -> str:
    """Milliseconds as `3.2 s` or `4 min 10 s`."""
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms // 60_000} min {ms % 60_000 // 1000} s"


def results_of(run: Run) -> tuple[CheckResult, ...]:
    """One result a check on the tree that the verdict is about, the worst where there are more;
    a result on another tree or of another command is none."""
    tree = run.verdict.tree if run.verdict else run.candidate.tree if run.candidate else ""
    digests = {check.name: check.digest() for check in run.snapshot.checks} if run.snapshot else {}
    worst: dict[str, CheckResult] = {}
    for result in run.results:
        if result.tree != tree or digests.get(result.check, result.digest) != result.digest:
            continue
        known = worst.get(result.check)
        if known is None or _RANK[result.standing] > _RANK[known.standing]:
            worst[result.check] = result
    return tuple(worst.values())


def deltas_of(run: Run, facts: Facts) -> tuple[Delta, ...]:
    """The differences as measured; without them the candidate's own paths, lines not counted."""
    if facts.deltas or run.candidate is None:
        return facts.deltas
    return tuple(
        Delta(change.path, change.mode, change.mode, UNCOUNTED, UNCOUNTED)
        for change in run.candidate.changes
    )


def outcome(result: CheckResult) -> str:
    """Exit code and what report or output claim: `exit 1 · 3 passed, 1 failed, 0 skipped`."""
    ended = "did not start" if result.exit_code is None else f"exit {result.exit_code}"
    cut = " · **subset: {:,} of {:,} tests**".format(*result.subset) if result.subset else ""
    if result.counts is None:
        unread = result.exit_code is not None and not result.parsed
        return f"{ended} · tests not counted{' (output unparsed)' if unread else ''}{cut}"
    counts = result.counts
    told = f"{counts.passed:,} passed, {counts.failed:,} failed, {counts.skipped:,} skipped"
    by = "" if result.parsed in ("", "report") else f" (by {inline(result.parsed, 60)}'s output)"
    return f"{ended} · {told}{by}{cut}"


def standing(result: CheckResult) -> str:
    """The standing with its reason."""
    sign = SIGNS[result.standing]
    why = f"{result.reason}: {result.limit}" if result.limit else result.reason
    return f"{sign} ({inline(why, 120)})" if why else sign


def timed(result: CheckResult) -> str:
    """How long it took; what was measured by an earlier run took nothing of this one's time."""
    return "measured before" if result.cached else seconds(result.ms)


def check_table(run: Run, sizes: Sizes, most: int) -> str:
    """One row a check: baseline → earlier attempts, if any → after, and with the base's own tests
    put back where that was run; checks that did not run on this tree say so."""
    before = {result.check: result for result in run.baseline}
    after = {result.check: result for result in results_of(run)}
    back = {result.check: result for result in run.restored}
    wanted = [check.name for check in run.snapshot.checks] if run.snapshot else []
    names = list(dict.fromkeys([*wanted, *after, *before]))
    earlier = [one for one in run.attempts if run.verdict and one.tree != run.verdict.tree]
    rows = [
        (
            *_row(name, before.get(name), sizes),
            *_between(name, earlier),
            *_end(after.get(name), back.get(name), bool(back)),
        )
        for name in names[:most]
    ]
    if not rows:
        return "No check is configured or was recognised, so nothing was shown about this change."
    between = ("attempts before",) if earlier else ()
    own = ("with base's own tests",) if back else ()
    lines = [table(("check", "baseline", *between, "after", "standing", *own), rows)]
    if len(names) > most:
        lines.append(f"… and {len(names) - most:,} more checks, listed under Evidence.")
    return "\n\n".join(lines)


def _row(name: str, before: CheckResult | None, sizes: Sizes) -> tuple[str, str]:
    shown = code(name, min(60, sizes.line))
    if before is None:
        return shown, "not run"
    unusable = before.standing is Standing.UNAVAILABLE  # why is asked there, not of the change
    sign = standing(before) if unusable else SIGNS[before.standing]
    return shown, f"{sign} · {outcome(before)}"


def _between(name: str, earlier: Sequence[Attempt]) -> tuple[str, ...]:
    """One cell: what this check said about the candidates that were given up, the last three."""
    if not earlier:
        return ()
    found = [r for one in earlier[-3:] for r in one.results if r.check == name]
    said = "; ".join(f"{SIGNS[one.standing]} · {outcome(one)}" for one in found)
    return (said or "not run",)


def _end(after: CheckResult | None, back: CheckResult | None, restored: bool) -> tuple[str, ...]:
    own = (f"{SIGNS[back.standing]} · {outcome(back)}" if back else "not run",) if restored else ()
    if after is None:
        return ("not run on this tree", "❓ **not shown**", *own)
    took = "" if after.exit_code is None else f" · {timed(after)}"
    return (f"{outcome(after)}{took}", standing(after), *own)


def compared(run: Run, sizes: Sizes) -> list[str]:
    """What changed against the baseline, test by test, one line a kind."""
    kinds = (
        ("Newly failing", "newly_failing"),
        ("Fixed", "fixed"),
        ("Flaky, two runs differed", "flaky"),
        ("Already failing before", "already_failing"),
        ("Newly skipped", "newly_skipped"),
        ("Gone", "gone"),
        ("New", "new"),
    )
    lines = []
    for words, field in kinds:
        ids = [
            test
            for result in results_of(run)
            if result.comparison is not None
            for test in getattr(result.comparison, field)
        ]
        if ids:
            lines.append(f"**{words}:** {names(ids, sizes)}")
    return lines


def names(ids: list[str], sizes: Sizes) -> str:
    """Ids in code style, in one line, saying how many are missing."""
    shown = ", ".join(code(one, min(100, sizes.line)) for one in ids[: sizes.ids])
    return shown if len(ids) <= sizes.ids else f"{shown} and {len(ids) - sizes.ids:,} more"


def spent(spend: Spend, limits: Limits | None) -> str:
    """Limits and spend in one line."""
    if limits is None:
        calls = _many(spend.calls, "model call")
        return f"**Spent:** {dollars(spend.dollars)} · {calls}{_broken(spend)}"
    card = f" · rate card {code(spend.card, 40)}" if spend.card else ""
    return (
        f"**Spent:** {dollars(spend.dollars)} of {dollars(limits.dollars)}"
        f" · {spend.calls} of {limits.calls} model calls · {spend.turns} of {limits.turns} turns"
        f" · {spend.repairs} of {limits.repairs} repairs"
        f" · {seconds(spend.active_ms)} of {seconds(limits.wall * 1000)} work"
        f" · {seconds(spend.sandbox_ms)} in the sandbox{card}{_broken(spend)}"
    )


def _broken(spend: Spend) -> str:
    if not spend.broken:
        return ""
    return f" · {dollars(spend.broken)} spent on broken replies, not charged"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def planned_paths(plan: Plan | None) -> dict[str, str]:
    """Path → planned action, amendments applied (the plan's files hold them already)."""
    return {file.path: str(file.action) for file in plan.files} if plan else {}


def lines_of(delta: Delta) -> str:
    """`+3 -1`, or that the file is binary."""
    if delta.added == UNCOUNTED:
        return "lines not counted"
    return "binary" if delta.added < 0 else f"+{delta.added} -{delta.removed}"


def files_line(deltas: tuple[Delta, ...], plan: Plan | None, foreign: bool = False) -> str:
    """Files changed against the plan, in one line; `foreign` changes have none to keep to."""
    planned = planned_paths(plan)
    changed = {delta.path for delta in deltas}
    added = sum(max(delta.added, 0) for delta in deltas)
    removed = sum(max(delta.removed, 0) for delta in deltas)
    undeclared = len(changed - set(planned))
    untouched = len(set(planned) - changed)
    notes = [f"{undeclared} not in the plan"] if undeclared else []
    notes += [f"{untouched} planned but not changed"] if untouched else []
    against = (
        ", ".join(notes) if notes else "no other file than planned" if plan else "without a plan"
    )
    counted = f"+{added:,} -{removed:,}"
    if any(delta.added == UNCOUNTED for delta in deltas):
        counted = "lines not counted"
    if plan is None and foreign:
        return f"**Changed:** {_many(len(changed), 'file')} ({counted})"
    lines = f"{counted}; {plan.planned_lines if plan else 0} lines were planned"
    return f"**Changed:** {_many(len(changed), 'file')} ({lines}), {against}"


def file_list(
    deltas: tuple[Delta, ...], plan: Plan | None, sizes: Sizes, foreign: bool = False
) -> str:
    """Every changed file with its lines and its plan, then what was planned and not changed; a
    long list is folded away."""
    planned = planned_paths(plan)
    shown = []
    for delta in deltas:
        mode = "" if delta.old_mode == delta.new_mode or not delta.old_mode else _mode(delta)
        stands = "" if foreign else f" · {planned.get(delta.path, '**not in the plan**')}"
        shown.append(f"{code(delta.path, sizes.line)} {lines_of(delta)}{stands}{mode}")
    changed = {delta.path for delta in deltas}
    shown += [
        f"{code(path, sizes.line)} · planned ({action}), not changed"
        for path, action in planned.items()
        if path not in changed
    ]
    listed = bullets(shown, sizes.files) or "No file was changed."
    return listed if len(shown) <= OPEN_FILES else details(f"{len(shown):,} files", listed)


def _mode(delta: Delta) -> str:
    if not delta.new_mode:
        return " · deleted"
    return f" · mode {delta.old_mode:o} → {delta.new_mode:o}"


def deciding(run: Run, deltas: tuple[Delta, ...], sizes: Sizes) -> list[str]:
    """Changed paths that decide about the change itself (A20), one line a kind."""
    found = deciding_paths(run, deltas)
    return [f"**{words}:** {names(paths, sizes)}" for words, paths in found]


def deciding_paths(run: Run, deltas: Sequence[Delta]) -> list[tuple[str, list[str]]]:
    """(what the change does, the paths) for every kind of deciding path that it touches and that
    nothing is told about already: what touches the referee is named with what was done to it."""
    if run.contract is None:
        return []
    findings = run.verdict.findings if run.verdict else ()
    told = " ".join(said for one in findings if one.claim == TOUCHED for said in one.exhibits)
    rules = rules_of(run.contract.config)
    there = [delta for delta in deltas if delta.old_mode]
    kinds = (
        ("it touches protected paths", [d.path for d in deltas if rules.blocked(d.path)]),
        ("it deletes tests", [d.path for d in there if not d.new_mode and rules.test(d.path)]),
        ("it changes tests", [d.path for d in there if d.new_mode and rules.test(d.path)]),
        (
            "it touches what decides how tests or builds run",
            [d.path for d in deltas if rules.referee(d.path)],
        ),
    )
    left = [
        (words, [path for path in paths if at == 0 or f"`{named(path)}`" not in told])
        for at, (words, paths) in enumerate(kinds)
    ]
    return [(words, paths) for words, paths in left if paths]
