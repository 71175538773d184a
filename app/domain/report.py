"""Text for people on GitHub: the pull request's body and the check run, from records alone.

Every statement about a check comes from a result on the very tree that the verdict names; the
model's words stand under a heading that says whose they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from app.domain.check import Standing
from app.domain.evidence import Result
from app.domain.markdown import bullets, code, cut, details, fence, inline, tail
from app.domain.report_comment import ending, status
from app.domain.report_commit import commit_message, pull_title
from app.domain.report_facts import BODY_CAP, BODY_TARGET, LADDER, OUTPUT_CAP, Facts, Sizes
from app.domain.report_parts import (
    RESULTS,
    SIGNS,
    check_table,
    compared,
    file_list,
    files_line,
    finding_lines,
    holding,
    names,
    outcome,
    planned_paths,
    results_of,
    short,
    spent,
    standing,
)
from app.domain.run import Attempt, Run

__all__ = [
    "BODY_CAP",
    "Facts",
    "check_output",
    "commit_message",
    "ending",
    "merge_body",
    "pull_body",
    "pull_title",
    "status",
]

FIRST_ROWS = 6  # checks in the table of the first screen
FIRST_IDS = 4  # ids of tests a line there

_START = re.compile(r"<!-- patchwarrant:body:([A-Za-z0-9_.-]{1,80}) -->")


def marks(run: str) -> tuple[str, str]:
    """The markers around our part of the body."""
    return f"<!-- patchwarrant:body:{run} -->", f"<!-- /patchwarrant:body:{run} -->"


def pull_body(run: Run, facts: Facts) -> str:
    """Our part of the pull request's body, at most `BODY_TARGET` characters, between markers."""
    start, end = marks(run.id)
    body = _fitting(lambda sizes: f"{start}\n{_body(run, facts, sizes)}\n{end}", BODY_TARGET, len)
    return body or f"{start}\n{_verdict(run, facts, LADDER[-1])}\n\nThe rest was too long.\n{end}"


def merge_body(existing: str, ours: str) -> str:
    """`existing` with our part replaced by `ours`; what people wrote around it stays.

    Our part is what stands between any run's markers; without one, ours comes first. What does
    not fit under GitHub's cap is cut from the end of what others wrote, and that is said.
    """
    found = _START.search(existing)
    end = marks(found.group(1))[1] if found else ""
    close = existing.find(end, found.end()) if found else -1
    if found is None or close < 0:
        before, after = "", existing
    else:
        before, after = existing[: found.start()], existing[close + len(end) :]
    room = BODY_CAP - len(ours) - 200
    if len(before) + len(after) > room:
        after = cut(after, max(0, room - len(before))) if len(before) < room else ""
        before = cut(before, room)
    joint = "\n\n" if after and close < 0 else ""
    return f"{before}{ours}{joint}{after}"


def check_output(run: Run, facts: Facts) -> tuple[str, str, str]:
    """(title, summary, text) of the check run; summary and text each below `OUTPUT_CAP` bytes."""
    result = run.verdict.result if run.verdict else "unknown"
    tree = run.verdict.tree if run.verdict else ""
    title = f"{str(result).capitalize()} on tree {tree[:12] or 'unknown'}"
    summary = _fitting(lambda sizes: _first(run, facts, sizes, sizes.checks), OUTPUT_CAP, _bytes)
    text = _fitting(lambda sizes: _rest(run, facts, sizes), OUTPUT_CAP, _bytes)
    over = "This was too long to be shown."
    return title, summary or over, text or over


def _bytes(text: str) -> int:
    return len(text.encode())


def _fitting(make: Callable[[Sizes], str], most: int, measure: Callable[[str], int]) -> str:
    """The largest rendering that fits, "" if none does."""
    for sizes in LADDER:
        text = make(sizes)
        if measure(text) <= most:
            return text
    return ""


def _body(run: Run, facts: Facts, sizes: Sizes) -> str:
    screen = replace(sizes, ids=min(FIRST_IDS, sizes.ids))
    return f"{_first(run, facts, screen, FIRST_ROWS)}\n\n{_rest(run, facts, sizes)}"


def _first(run: Run, facts: Facts, sizes: Sizes, rows: int) -> str:
    """The first screen: verdict, checks, files, spend."""
    parts = [_verdict(run, facts, sizes), check_table(run, sizes, rows)]
    changes = compared(run, sizes)
    if changes:
        parts.append("  \n".join(changes))
    limits = run.contract.limits if run.contract else None
    parts.append("  \n".join((files_line(facts.deltas, run.plan), spent(run.spend, limits))))
    return "\n\n".join(parts)


def _verdict(run: Run, facts: Facts, sizes: Sizes) -> str:
    if run.verdict is None:
        return "❔ **Unknown.** No verdict was recorded about this change."
    verdict = run.verdict
    said = (
        "Every required check passed on this tree, and no rule of the gate speaks against it."
        if verdict.result is Result.PASSED
        else f"The wall: {inline(verdict.wall, sizes.line)}"
    )
    commit = f", commit {code(facts.commit)}" if facts.commit else ""
    closing = (
        f"Closes #{run.issue}"
        if verdict.result is Result.PASSED
        else f"For #{run.issue}, which stays open"
    )
    who = f"asked for by {code(run.requester.login)}"
    page = f" · [the run's page]({facts.page})" if facts.page else ""
    return (
        f"{RESULTS[verdict.result]} {said}\n\n"
        f"Tree {code(verdict.tree)}{commit}, base {short(verdict.base_commit)}.\n"
        f"{closing}, {who}{page}."
    )


def _rest(run: Run, facts: Facts, sizes: Sizes) -> str:
    sections = (
        ("Look at this first", _look(run, sizes)),
        ("What was not done", _wall(run, facts, sizes)),
        ("What was asked", _asked(run, sizes)),
        ("Files against the plan", file_list(facts.deltas, run.plan, sizes)),
        ("How it came about", _history(run, sizes)),
        ("How to go on", _onward(run)),
        ("In the model's own words", _words(run, sizes)),
        ("Evidence", _evidence(run, facts, sizes)),
    )
    return "\n\n".join(f"## {head}\n\n{text}" for head, text in sections if text)


def _look(run: Run, sizes: Sizes) -> str:
    findings = run.verdict.findings if run.verdict else ()
    lines = finding_lines(findings, sizes)
    amended = run.plan.amendments if run.plan else ()
    for amendment in amended:
        paths = names([file.path for file in amendment.added] + list(amendment.removed), sizes)
        reason = inline(amendment.reason, sizes.line)
        lines.append(f"the plan was amended for {paths or 'nothing'}; the model's reason: {reason}")
    if not lines:
        lines = ["Nothing stands out to the rules. They do not read the code as you do."]
    shown = bullets(lines, sizes.findings)
    good = holding(findings, sizes)
    if good:
        shown += "\n\n" + details("What the rules found in order", bullets(good, sizes.findings))
    return shown


def _wall(run: Run, facts: Facts, sizes: Sizes) -> str:
    lines: list[str] = []
    if run.halt is not None:
        lines.append(f"stopped by {code(run.halt.reason)}: {inline(run.halt.message, sizes.line)}")
        lines += [inline(detail, sizes.line) for detail in run.halt.details]
    changed = {delta.path for delta in facts.deltas}
    missing = [path for path in planned_paths(run.plan) if path not in changed]
    if missing:
        lines.append(f"planned but not changed: {names(missing, sizes)}")
    for result in results_of(run):
        if result.standing in (Standing.SKIPPED, Standing.UNAVAILABLE):
            lines.append(f"{code(result.check, 60)} is {standing(result)}: it showed nothing")
    if run.snapshot and not results_of(run):
        lines.append("no required check ran on this tree")
    lines += [f"assumed: {inline(one, sizes.line)}" for one in _assumed(run)]
    return bullets(lines, sizes.findings) or "Nothing that was planned is missing."


def _assumed(run: Run) -> tuple[str, ...]:
    return run.snapshot.assumed if run.snapshot else ()


def _asked(run: Run, sizes: Sizes) -> str:
    if run.contract is None:
        return ""
    request, criteria = run.contract.request, run.contract.criteria
    lines = [f"{inline(one.text, sizes.line)} ({inline(one.source, 40)})" for one in criteria]
    hidden = (
        f" {request.hidden:,} characters of hidden text were removed from it."
        if request.hidden
        else ""
    )
    intro = (
        f"{inline(request.title, sizes.line)} · request {short(request.digest)} as of "
        f"{code(request.updated_at, 40)}, written by {code(request.author)}.{hidden}"
    )
    what = "The request names no criterion." if not lines else bullets(lines, sizes.findings)
    return (
        f"{intro}\n\n{what}\n\nWhether the change fulfils these is for the reviewer to say: the "
        "checks below show only what they test."
    )


def _history(run: Run, sizes: Sizes) -> str:
    current = bool(run.results)
    past = run.attempts[:-1] if current else run.attempts
    lines = [_attempt(number, one, sizes) for number, one in enumerate(past, 1)]
    if current:
        lines.append(f"attempt {len(run.attempts)}: tree {short(run.attempts[-1].tree)}, above")
    if not lines:
        return "No candidate reached the required checks."
    note = "Results of earlier attempts are history; they certify nothing about this tree."
    return f"{bullets(lines[-sizes.findings :], sizes.findings)}\n\n{note}" if past else lines[0]


def _attempt(number: int, attempt: Attempt, sizes: Sizes) -> str:
    said = [
        f"{code(one.check, 60)} {SIGNS[one.standing]} ({outcome(one)})"
        for one in attempt.results[:8]
    ]
    failing = [
        test
        for one in attempt.results
        for test in (
            one.comparison.newly_failing + one.comparison.already_failing
            if one.comparison
            else tuple(failure.test for failure in one.failures)
        )
    ]
    ids = f"; failing: {names(failing, sizes)}" if failing else ""
    return f"attempt {number}: tree {short(attempt.tree)}: {', '.join(said) or 'no check'}{ids}"


def _onward(run: Run) -> str:
    lines = [
        "Review it as you would any change. Merging is yours: this app never merges.",
        "Push commits to this branch if something small is missing. The evidence is about the "
        "tree named above and about no other.",
        f"For another attempt close this pull request, sharpen issue #{run.issue} and put the "
        "label `agent:fix` on it again.",
    ]
    if run.halt is not None and run.halt.next_step:
        lines.insert(0, inline(run.halt.next_step))
    return bullets(lines, 9)


def _words(run: Run, sizes: Sizes) -> str:
    said = []
    if run.grounding is not None:
        said.append(f"Located: {run.grounding.summary}")
    if run.plan is not None:
        said.append(f"Planned: {run.plan.summary}")
        said += [f"{file.path}: {file.why}" for file in run.plan.files]
        said += [f"Step {step.id}: {step.what}" for step in run.plan.steps]
    if not said:
        return ""
    return (
        "These are claims of the model. Nothing here was measured.\n\n"
        f"{fence(cut(chr(10).join(said), sizes.words))}"
    )


def _evidence(run: Run, facts: Facts, sizes: Sizes) -> str:
    parts = [_all_checks(run, sizes), _commands(run, sizes), _provenance(run, facts)]
    shown = [(check, log) for check, log in facts.logs.items() if log.strip()]
    if sizes.log:
        parts += [
            details("End of the output of", fence(tail(log, sizes.log)), check)
            for check, log in shown[: sizes.checks]
        ]
    missing = len(shown) - (min(len(shown), sizes.checks) if sizes.log else 0)
    if missing:
        total = sum(len(log) for _, log in shown)
        parts.append(f"{missing} logs ({total:,} characters in all) were left out for their size.")
    parts.append(
        "<sub>What this is worth: exit codes and reports are testimony of processes that also ran "
        "the change, about a known command, tree and image. They bound how wrong it can be; they "
        "do not replace a review.</sub>"
    )
    return "\n\n".join(part for part in parts if part)


def _all_checks(run: Run, sizes: Sizes) -> str:
    """All checks and test ids, where the first screen could not hold them."""
    short_ones = replace(sizes, ids=FIRST_IDS)
    folded = []
    if run.snapshot is not None and len(run.snapshot.checks) > FIRST_ROWS:
        folded.append(check_table(run, sizes, sizes.checks))
    if compared(run, sizes) != compared(run, short_ones):
        folded.append(bullets(compared(run, sizes), 9))
    return details("All checks and tests", "\n\n".join(folded)) if folded else ""


def _commands(run: Run, sizes: Sizes) -> str:
    checks = run.snapshot.checks if run.snapshot else ()
    lines = [
        f"{code(check.name, 60)} ({check.tier}, {check.timeout} s, digest "
        f"{short(check.digest())}): {code(' '.join(check.argv), sizes.commands)}"
        for check in checks
    ]
    if not lines:
        return ""
    return details("Commands, from the configuration at base", bullets(lines, sizes.checks))


def _provenance(run: Run, facts: Facts) -> str:
    snapshot = run.snapshot
    lines = [f"run {code(run.id)}, model {code(run.model)}, prompts {code(run.prompts)}"]
    if snapshot is not None:
        lines.append(f"sandbox image {code(snapshot.image)}, profile {code(snapshot.profile)}")
    if run.contract is not None:
        source = run.contract.config_source
        lines.append(
            f"configuration {code(source)} at base" if source else "no configuration file at base"
        )
    if facts.statement:
        by = f", signed by {code(facts.key)}" if facts.key else ""
        lines.append(f"signed statement, envelope {code(facts.statement)}{by}")
    return bullets(lines, 9)
