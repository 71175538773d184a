"""Evidence in the terminal: the facts of a pull request's page, for a person who waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from app.domain.check import CheckResult, Standing, failing_ids
from app.domain.claims import NO_LEAK, NOT_RUN
from app.domain.edit import Delta
from app.domain.evidence import Finding, Holds, Result
from app.domain.redact import without_secrets
from app.domain.report_findings import REVOKE, not_run
from app.domain.report_parts import deciding_paths, results_of, seconds
from app.domain.run import Run
from app.domain.text import named, reveal

SIGNS = {
    Standing.PASSED: ("✔", "green"),
    Standing.FAILED: ("✘", "red"),
    Standing.SKIPPED: ("-", "dim"),
    Standing.UNAVAILABLE: ("?", "yellow"),
}
HELD = {Holds.HOLDS: ("✔", "green"), Holds.FAILS: ("✘", "red"), Holds.UNKNOWN: ("?", "yellow")}
RESULTS = {Result.PASSED: "green", Result.PARTIAL: "yellow", Result.FAILED: "red"}
PHASES = {  # words, and whether a failure there speaks against the change
    "baseline": ("on the base", True),
    "verify": ("on the change", True),
    "base-tests": ("the base's own tests on the change", True),
    "red": ("the change's tests on the base's sources", False),
    "sentinel": ("with a test that must fail and one that must pass", False),
    "sentinel-on-base": ("the same on the base", False),
}
KINDS = (
    ("newly failing", "newly_failing", "red"),
    ("fixed", "fixed", "green"),
    ("flaky", "flaky", "yellow"),
    ("newly skipped", "newly_skipped", "yellow"),
    ("gone", "gone", "yellow"),
    ("new", "new", ""),
    ("already failing", "already_failing", "dim"),
)
IDS = 12  # ids of a kind
FILES = 12
REACHED = "The run reached its end"
TAIL = 30  # lines of a failed check's output


def plain(text: str, style: str = "", most: int = 400) -> Text:
    """Text from anywhere: no markup, no terminal sequence, no hidden character and nothing that
    looks like a secret gets through."""
    shown = " ".join(reveal(without_secrets(text)[: 4 * most])[0].split())
    return Text(shown if len(shown) <= most else f"{shown[: most - 1]}…", style=style)


def _name(text: str, style: str = "", most: int = 400) -> Text:
    """The name of a file or a test, in which a newline is shown as `\\n`."""
    return plain(named(without_secrets(text)[: 4 * most]), style, most)


def _bare(text: str) -> str:
    """Text of several lines or with blanks that count, as `plain` shows it otherwise."""
    return reveal(without_secrets(text))[0]


def phase_words(phase: str) -> str:
    """What a check is run for, for people."""
    return PHASES.get(phase, (phase, True))[0]


def done(phase: str, result: CheckResult) -> RenderableType:
    """One line when a check has run. Where failing is what is hoped for, it has no sign."""
    words, judged = PHASES.get(phase, (phase, True))
    sign, style = SIGNS[result.standing] if judged else ("·", "dim")
    line = Text("  ").append(f"{sign} ", style=style)
    line.append_text(plain(result.check, "bold", 60)).append(f" {words}: ", style="dim")
    line.append(_said(result))
    line.append("  (measured before)" if result.cached else f"  {seconds(result.ms)}", style="dim")
    return line


def report(run: Run, deltas: Sequence[Delta]) -> RenderableType:
    """Verdict last, where a terminal's reader looks: checks, tests, files, what to look at."""
    parts: list[RenderableType] = [_checks(run)]
    told = (_tests(run), _failures(run), _base_tests(run), _files(deltas))
    parts += [part for part in told if part is not None]
    if run.verdict is not None:
        found = [one for one in _open(run.verdict.findings) if one.claim != NOT_RUN]
        look = [_finding(one) for one in found]
        paths = deciding_paths(run, deltas)
        look += [_paths(words, named_ones) for words, named_ones in paths]
        if look:
            parts.append(_block("look at", look))
        idle = [plain(f"· {said}", "dim") for said in not_run(run.verdict.findings)]
        if idle:
            parts.append(_block("beside the checks", idle))
        points = sum(one.standing is not Holds.HOLDS for one in found) + len(paths)
        parts.append(_verdict(run, points))
    return Group(*parts)


def findings(found: Iterable[Finding], depth: int = 0) -> list[RenderableType]:
    """A tree of findings, each on a line of its own with what was seen."""
    lines: list[RenderableType] = []
    for one in found:
        lines.append(Padding(_finding(_denied(one)), (0, 0, 0, 2 * depth)))
        lines += findings(one.parts, depth + 1)
    return lines


def _said(result: CheckResult) -> str:
    ended = "did not start" if result.exit_code is None else f"exit {result.exit_code}"
    if result.counts is None:
        why = result.standing is Standing.UNAVAILABLE and result.reason
        told = f"{result.standing} ({result.reason})" if why else str(result.standing)
        return f"{told}, {ended}, tests not counted{_unparsed(result)}"
    counts = result.counts
    told = f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
    return f"{result.standing}, {ended}, {told}"


def _unparsed(result: CheckResult) -> str:
    return "" if result.parsed or result.exit_code is None else " (unparsed)"


def _checks(run: Run) -> Table:
    back = {one.check: one for one in run.restored}
    own = ("base's own tests",) if back else ()
    table = Table("check", "baseline", "after", "standing", *own, box=None, padding=(0, 2, 0, 1))
    before = {one.check: one for one in run.baseline}
    after = {one.check: one for one in results_of(run)}
    wanted = [check.name for check in run.snapshot.checks] if run.snapshot else []
    for name in dict.fromkeys([*wanted, *before, *after]):
        now = after.get(name)
        standing = Text("not run on this tree", style="yellow")
        if now is not None:
            sign, style = SIGNS[now.standing]
            reason = f" ({now.reason})" if now.reason else ""
            standing = plain(f"{sign} {now.standing}{reason}", style, 120)
        cells = [_cell(before.get(name)), _cell(now), standing]
        cells += [_cell(back.get(name))] if back else []
        table.add_row(plain(name, "bold", 60), *cells)
    return table


def _cell(result: CheckResult | None) -> Text:
    if result is None:
        return Text("not run", style="dim")
    sign, style = SIGNS[result.standing]
    ended = "-" if result.exit_code is None else f"exit {result.exit_code}"
    if result.counts is None:
        return Text(f"{sign} {ended}{_unparsed(result)}", style=style)
    counts = result.counts
    shown = Text(f"{sign} {counts.passed} passed", style=style)
    if counts.failed:
        shown.append(f", {counts.failed} failed", style="red")
    if counts.skipped:
        shown.append(f", {counts.skipped} skipped", style="dim")
    return shown


def _tests(run: Run) -> RenderableType | None:
    """Test by test against the baseline."""
    lines: list[RenderableType] = []
    compared = [one.comparison for one in results_of(run) if one.comparison is not None]
    for words, field, style in KINDS:
        names = [name for one in compared for name in getattr(one, field, ())]
        if not names:
            continue
        lines.append(Text(f"{words} ({len(names):,})", style=style))
        lines += [Padding(_name(name), (0, 0, 0, 2)) for name in names[:IDS]]
        if len(names) > IDS:
            lines.append(Text(f"  … and {len(names) - IDS:,} more", style="dim"))
    return _block("tests", lines) if lines else None


def _failures(run: Run) -> RenderableType | None:
    """Where it failed; the end of the output where nobody could tell."""
    lines = [line for result in results_of(run) for line in _failing(result)]
    return _block("failures", lines) if lines else None


def _base_tests(run: Run) -> RenderableType | None:
    """Which of the base's own tests fail on the change, and why: nobody of it may have made the
    checks pass by changing what they ask."""
    lines: list[RenderableType] = []
    for result in run.restored:
        told = {one.test for one in result.failures[:IDS]}
        lines += _failing(result)
        more = [name for name in failing_ids(result) if name not in told]
        if result.standing is Standing.FAILED and more:
            lines += [_name(name, "bold", 160) for name in more[:IDS]]
            lines += [Text(f"… and {len(more) - IDS:,} more", style="dim")] if more[IDS:] else []
    return _block("the base's own tests that fail on the change", lines) if lines else None


def _failing(result: CheckResult) -> list[RenderableType]:
    lines: list[RenderableType] = []
    if result.standing is Standing.FAILED:
        for failure in result.failures[:IDS]:
            place = f"{failure.file}:{failure.line}" if failure.line else failure.file
            head = _name(failure.test or result.check, "bold", 160)
            lines.append(head.append(f"  {_name(place).plain}" if place else "", style="cyan"))
            said = f"{failure.error}: {failure.message}" if failure.error else failure.message
            lines.append(Padding(plain(said, "red"), (0, 0, 0, 2)))
            shown = [Text(_bare(line)) for line in getattr(failure, "context", ())]
            lines += [Padding(line, (0, 0, 0, 2)) for line in shown]
        if not result.failures and result.tail.strip():
            lines.append(plain(f"end of the output of {result.check}", "dim"))
            tail = _bare(result.tail).strip().splitlines()[-TAIL:]
            lines.append(Padding(Text("\n".join(tail)), (0, 0, 0, 2)))
    return lines


def _files(deltas: Sequence[Delta]) -> RenderableType | None:
    if not deltas:
        return None
    added = sum(max(one.added, 0) for one in deltas)
    removed = sum(max(one.removed, 0) for one in deltas)
    lines: list[RenderableType] = []
    for delta in deltas[:FILES]:
        line = _name(delta.path)
        if delta.added < 0:
            line.append("  binary", style="yellow")
        else:
            line.append(f"  +{delta.added}", style="green").append(
                f" -{delta.removed}", style="red"
            )
        if not delta.new_mode:
            line.append("  deleted", style="yellow")
        elif delta.old_mode and delta.old_mode != delta.new_mode:
            line.append(f"  mode {delta.old_mode:o} → {delta.new_mode:o}", style="yellow")
        lines.append(line)
    if len(deltas) > FILES:
        lines.append(Text(f"… and {len(deltas) - FILES:,} more", style="dim"))
    return _block(f"files ({len(deltas):,}, +{added:,} -{removed:,})", lines)


def _open(found: Iterable[Finding], top: bool = True) -> list[Finding]:
    """What does not hold, and at the top of the tree also what holds and has something to say: the
    gate puts there what only tells a reviewer where to look. What was seen says by itself that a
    check did not pass or a rule does not hold: of those no claim is told beside it."""
    lines: list[Finding] = []
    for one in found:
        speaks = bool(one.exhibits) or not one.parts
        told = top and one.exhibits and not one.parts and one.claim != REACHED
        if (one.standing is not Holds.HOLDS and speaks) or told:
            advice = top and not one.parts and one.standing is not Holds.FAILS
            lines.append(one if advice else _seen_first(one))
        lines += _open(one.parts, top=False)
    return lines


def _denied(one: Finding) -> Finding:
    if one.standing is not Holds.FAILS:
        return one
    return replace(one, claim=f"does not hold: {one.claim}")


def _seen_first(one: Finding) -> Finding:
    if not one.exhibits:
        return _denied(one)
    more = (*one.exhibits[1:], REVOKE) if one.claim == NO_LEAK else one.exhibits[1:]
    return Finding(one.exhibits[0], one.standing, more)


def _finding(one: Finding) -> RenderableType:
    sign, style = HELD[one.standing]
    line = Text(f"{sign} ", style=style).append_text(plain(one.claim, "default"))
    return Group(line, *_seen(one))


def _seen(one: Finding) -> list[RenderableType]:
    said: list[RenderableType] = []
    said += [Padding(plain(text, "dim"), (0, 0, 0, 2)) for text in one.exhibits[:IDS]]
    if len(one.exhibits) > IDS:
        said.append(Text(f"  … and {len(one.exhibits) - IDS:,} more", style="dim"))
    return said


def _paths(words: str, paths: Sequence[str]) -> RenderableType:
    """Changed paths that decide about the change, a kind."""
    return _finding(Finding(words, Holds.UNKNOWN, tuple(map(named, paths))))


def _verdict(run: Run, points: int) -> RenderableType:
    assert run.verdict is not None
    verdict = run.verdict
    said = plain(verdict.wall, most=1_000)
    if verdict.result is Result.PASSED:
        said = Text("Every required check passed on this tree, and no rule speaks against it")
        there = f"; {points:,} {'point' if points == 1 else 'points'} to look at above."
        said.append(there if points else ".", style="yellow" if points else "")
    body = said.append(f"\ntree {verdict.tree} on base {verdict.base_commit[:12]}", style="dim")
    style = RESULTS[verdict.result]
    return Panel(body, title=f"[bold]{str(verdict.result).upper()}[/bold]", border_style=style)


def _block(title: str, lines: Sequence[RenderableType]) -> RenderableType:
    head = Text(f"\n{title}", style="bold")
    return Group(head, *(Padding(line, (0, 0, 0, 2)) for line in lines))


def console() -> Console:
    """Standard output; plain where it is no terminal."""
    return Console(highlight=False, soft_wrap=False)
