"""What each run of a check gave, and which of the base's own tests fail on the change and why."""

from __future__ import annotations

from app.domain.check import Check, CheckResult, Failure, Standing, failing_ids
from app.domain.markdown import bullets, code, details, fence, inline, tail
from app.domain.report_facts import Sizes
from app.domain.report_parts import outcome, results_of, short, standing, timed
from app.domain.run import Run

LINES = 12  # of an output that nobody could take apart
CHARACTERS = 900
OWN = "with the base's own tests"


def base_tests(run: Run, sizes: Sizes) -> str:
    """For the first screen: the base's own tests that fail on the change, each with its reason, a
    part a check; "" where none fails or they were not run."""
    failing = [one for one in run.restored if one.standing is Standing.FAILED]
    return "\n\n".join(_fails(one, sizes) for one in failing[: sizes.checks])


def _fails(result: CheckResult, sizes: Sizes) -> str:
    head = (
        f"❌ **The base's own tests fail on this change:** {code(result.check, 60)}, "
        f"{outcome(result)}"
    )
    known = set(result.comparison.already_failing) if result.comparison else set()
    records = {one.test: one for one in result.failures if one.test}
    lines = [
        f"{code(test, sizes.line)}{_why(records.get(test), sizes)}"
        f"{' (it failed on the base, too)' if test in known else ''}"
        for test in failing_ids(result)
    ]
    if not lines:
        lines = [_failure(one, sizes) for one in result.failures]
    shown = bullets(lines, sizes.ids)
    end = _end(result.tail)
    if not shown:
        return f"{head}\n\n{end}" if end else f"{head} · {standing(result)}"
    folded = details(f"End of the output {OWN}:", end, result.check) if end and sizes.log else ""
    return "\n\n".join(part for part in (head, shown, folded) if part)


def _why(found: Failure | None, sizes: Sizes) -> str:
    if found is None:
        return ""
    where = f"{found.file}:{found.line}" if found.line else found.file
    place = f" at {code(where, sizes.line)}" if where else ""
    return f"{place}  \n  {inline(_said(found), sizes.line)}"


def _failure(found: Failure, sizes: Sizes) -> str:
    return f"{code(found.test or found.error, sizes.line)}{_why(found, sizes)}"


def _said(found: Failure) -> str:
    return f"{found.error}: {found.message}" if found.error else found.message


def _end(text: str) -> str:
    lines = text.strip().splitlines()[-LINES:]
    return fence(tail("\n".join(lines), CHARACTERS)) if lines else ""


def failures(run: Run, sizes: Sizes) -> str:
    """Where the checks failed, as structured records, a fold a check."""
    folds = [
        details("Failures of", bullets([_failure(one, sizes) for one in found], sizes.ids), name)
        for name, found in ((one.check, one.failures) for one in results_of(run))
        if found
    ]
    return "\n\n".join(folds[: sizes.checks])


def each_run(run: Run, sizes: Sizes) -> str:
    """Every run of a check with its time, its limit, and the digests of what it left: a fold."""
    checks = {one.digest(): one for one in run.snapshot.checks} if run.snapshot else {}
    phases = (
        ("on this change", results_of(run)),
        (OWN, run.restored),
        ("on the base", run.baseline),
    )
    order = {
        name: at for at, name in enumerate(dict.fromkeys(r.check for _, rs in phases for r in rs))
    }
    found = [
        (order[one.check], at, words, one)
        for at, (words, seen) in enumerate(phases)
        for one in seen
    ]
    lines = [
        _run(words, one, checks.get(one.digest))
        for _, _, words, one in sorted(found, key=lambda row: row[:2])
    ]
    if not lines:
        return ""
    note = (
        "Digests are SHA-256, shortened here; the bundle's records hold them whole. The service "
        "keeps the logs and lists themselves as long as its retention says."
    )
    return details(
        "Each run, with times and digests", f"{bullets(lines, sizes.checks * 3)}\n\n{note}"
    )


def _run(words: str, result: CheckResult, check: Check | None) -> str:
    most = f" of at most {check.timeout:,} s" if check else ""
    took = f"{timed(result)}{'' if result.cached else most}"
    left = [f"log {short(result.log)}"] if result.log else []
    if result.cases:
        total = f"{result.counts.total:,} " if result.counts else ""
        left.append(f"list of its {total}tests {short(result.cases)}")
    return (
        f"{code(result.check, 60)} {words}: {standing(result)} · {outcome(result)} · {took}"
        f"{' · ' if left else ''}{', '.join(left)}"
    )
