"""A check's result as bounded text for the model: totals, failures, what was cut, the output."""

from __future__ import annotations

from dataclasses import replace

from app.domain.check import CheckResult, Failure, Outcome, Standing
from worker.runner.checks.output import cleaned, shortened, tail_of

TEXT_CAP = 8_000  # characters (B10)
FAILURES_SHOWN = 12
TRACE_SHOWN = 8
FAILURES_ROOM = 6_000  # of the text; the rest is for totals and the output's end


def narrate(result: CheckResult, outcome: Outcome, seconds: int, *, whole: bool) -> str:
    """At most 8,000 characters. A failing suite is a result, not an error of the tool."""
    lines = [_total(result)]
    if whole:
        lines.append("This check cannot be narrowed: all of it ran.")
    if outcome.limit:
        known = replace(outcome, ceiling=outcome.ceiling or (outcome.limit == "time") * seconds)
        lines.append(f"A limit ended or spoiled it: {known.limit_words}.")
    if outcome.error:
        lines.append(f"It could not be started: {shortened(cleaned(outcome.error))}")
    for name, kept, seen in zip(
        ("stdout", "stderr"), (outcome.stdout, outcome.stderr), outcome.seen, strict=True
    ):
        if seen > len(kept):
            lines.append(f"The middle of {name} was left out: {len(kept)} of {seen} bytes kept.")
    lines += _failures(result)
    text = "\n".join(lines)
    if result.standing is not Standing.PASSED:
        room = TEXT_CAP - len(text) - 40
        if room > 200:
            text += "\n--- end of the output ---\n" + tail_of(outcome, min(room, 4_000))
    return text if len(text) <= TEXT_CAP else text[: TEXT_CAP - 12] + "\n[truncated]"


def _total(result: CheckResult) -> str:
    ended = "no exit code" if result.exit_code is None else f"exit {result.exit_code}"
    tail = f"{ended}, {result.ms / 1000:.1f} s"
    reason = f" ({result.reason})" if result.reason else ""
    if result.counts is None:
        unparsed = "" if result.parsed else " (its output is unparsed)"
        return (
            f"{result.check}: {result.standing}{reason}; nothing said which tests ran{unparsed}; "
            f"{tail}"
        )
    counts = result.counts
    return (
        f"{result.check}: {result.standing}{reason}; {counts.total} tests: {counts.failed} failed, "
        f"{counts.passed} passed, {counts.skipped} skipped; {tail}"
    )


def _failures(result: CheckResult) -> list[str]:
    lines: list[str] = []
    shown = 0
    for failure in result.failures[:FAILURES_SHOWN]:
        told = _failure(failure)
        if sum(map(len, lines)) + sum(map(len, told)) > FAILURES_ROOM:
            break
        lines += told
        shown += 1
    failed = result.counts.failed if result.counts else 0
    if failed > shown:
        lines.append(f"[truncated: {failed - shown} more failures are not shown]")
    return lines


def _failure(failure: Failure) -> list[str]:
    place = f" at {failure.file}:{failure.line}" if failure.file else ""
    shown = (*failure.context, *failure.trace[-3:]) if failure.context else failure.trace
    return [
        f"FAILED {failure.test}{place}",
        f"  {failure.error}: {shortened(failure.message)}",
        *(f"    {line}" for line in shown[:TRACE_SHOWN]),
    ]
