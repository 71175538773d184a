"""The sections of a report below its first screen, each safe Markdown or "" when it has nothing."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.domain.check import Standing
from app.domain.ci import Ci
from app.domain.evidence import Finding
from app.domain.markdown import bullets, code, cut, details, fence, inline, tail
from app.domain.on_pull import unlabelled
from app.domain.report_facts import FIRST_IDS, FIRST_ROWS, Facts, Sizes
from app.domain.report_findings import (
    MARKS,
    criteria_of,
    finding_lines,
    holding,
    not_run,
    whole_above,
)
from app.domain.report_parts import (
    SIGNS,
    check_table,
    compared,
    deciding,
    names,
    outcome,
    planned_paths,
    results_of,
    short,
    standing,
)
from app.domain.report_results import each_run, failures
from app.domain.report_signed import key_of_line
from app.domain.run import Attempt, Run
from app.domain.state import JUDGING, Kind


def points(run: Run, facts: Facts, sizes: Sizes, *, above: bool = True) -> list[str]:
    """What a reviewer must look at, a point each; without `above` those alone that the first screen
    does not tell whole."""
    findings = run.verdict.findings if run.verdict else ()
    told = findings if above else tuple(one for one in findings if not whole_above(one))
    lines = finding_lines(told, sizes) + deciding(run, facts.deltas, sizes)
    named = key_of_line(run.contract.config.evidence_key) if run.contract else ""
    if named and facts.key and named != facts.key:
        lines.append(
            f"⚠️ **The evidence is signed by another key** than {code('.github/agent.yml')} names "
            f"at base ({short(named.removeprefix('sha256:'))}): nobody can verify it by that line."
        )
    lines += own_ci(run.ci, sizes)
    wanted = run.contract.config.pull_request.fragment(run.issue) if run.contract else ""
    if wanted and run.kind not in JUDGING and wanted not in {one.path for one in facts.deltas}:
        lines.append(f"no changelog fragment {code(wanted)} came with it")
    amended = run.plan.amendments if run.plan else ()
    for amendment in amended:
        paths = names([file.path for file in amendment.added] + list(amendment.removed), sizes)
        reason = inline(amendment.reason, sizes.line)
        lines.append(f"the plan was amended for {paths or 'nothing'}; the model's reason: {reason}")
    return lines


def look(run: Run, facts: Facts, sizes: Sizes) -> str:
    findings = run.verdict.findings if run.verdict else ()
    lines = points(run, facts, sizes, above=False)
    if not lines:
        beside = " beside what stands at the top" if any(map(whole_above, findings)) else ""
        lines = [
            f"Nothing stands out to the rules{beside}. They do not read the code as you do."
            if run.verdict
            else "No rule looked at this change."
        ]
    shown = bullets(lines, sizes.findings)
    good = holding(findings, sizes)
    if good:
        shown += "\n\n" + details("What the rules found in order", bullets(good, sizes.findings))
    return shown


def own_ci(ci: Ci | None, sizes: Sizes) -> list[str]:
    """What became of the repository's own workflows on this head."""
    if ci is None:
        return []
    lines = []
    if ci.held:
        why = "; ".join(inline(one, sizes.line) for one in ci.why[: sizes.ids])
        lines.append(
            "**The repository's own workflows were held back** on this commit until somebody who "
            f"has looked at it says `/agent ci`: {why or 'the configuration says `ci: hold`'}"
        )
    if ci.beyond:
        listed = "; ".join(inline(one, sizes.line) for one in ci.beyond[: sizes.ids])
        lines.append(f"workflows that run with rights and cannot be held back: {listed}")
    return lines


def wall(run: Run, facts: Facts, sizes: Sizes) -> str:
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
    done = bullets(lines, sizes.findings) or _complete(run)
    idle = not_run(run.verdict.findings) if run.verdict else ()
    if not idle:
        return done
    beside = bullets([inline(one, sizes.line) for one in idle], sizes.findings)
    return f"{done}\n\nBeside the checks:\n\n{beside}"


def _complete(run: Run) -> str:
    if run.kind in JUDGING:
        return "Every check had its say."
    return "Nothing that was planned is missing." if run.plan else "There was no plan to fulfil."


def _assumed(run: Run, sizes: Sizes) -> str:
    said = run.snapshot.assumed if run.snapshot else ()
    if not said:
        return ""
    lines = [inline(one, sizes.line) for one in said]
    return f"What was assumed, and how the checks were set up:\n\n{bullets(lines, sizes.findings)}"


def asked(run: Run, sizes: Sizes) -> str:
    if run.contract is None:
        return ""
    request, criteria = run.contract.request, run.contract.criteria
    seen = criteria_of(run.verdict.findings) if run.verdict else ()
    lines = [
        f"{inline(one.text, sizes.line)} ({inline(one.source, 40)}){_support(seen, at, sizes)}"
        for at, one in enumerate(criteria)
    ]
    hidden = (
        f" {request.hidden:,} characters of hidden text were removed from it."
        if request.hidden
        else ""
    )
    adopted = f"; with it: {', '.join(map(code, request.adopted))}" if request.adopted else ""
    edited = f" Its text was {inline(request.edited, 200)}." if request.edited else ""
    intro = (
        f"{inline(request.title, sizes.line)} · request {short(request.digest)} as of "
        f"{code(request.updated_at, 40)}, written by {code(request.author)}, "
        f"adopted by {code(request.adopted_by)}{adopted}.{hidden}{edited}"
    )
    what = "The request names no criterion." if not lines else bullets(lines, sizes.findings)
    text = cut(request.body.strip(), sizes.words)
    prose = details("The request, without hidden text", fence(text)) + "\n\n" if text else ""
    return (
        f"{intro}\n\n{what}\n\n{prose}Whether the change fulfils these is for the reviewer to "
        "say: the checks show only what they test."
    )


def _support(seen: tuple[Finding, ...], at: int, sizes: Sizes) -> str:
    """What supports a criterion, or that nothing does."""
    if at >= len(seen):
        return ""
    one = seen[at]
    said = " ".join(inline(text, sizes.line) for text in one.exhibits[: sizes.ids])
    return f"  \n  {MARKS[one.standing]} {said}"


def history(run: Run, sizes: Sizes) -> str:
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


def onward(run: Run) -> str:
    lines = [
        "Review it as you would any change. Merging is yours: this app never merges.",
        "Push commits to this branch if something small is missing: what is there then is checked "
        "by itself, without a model, and your commits are named as yours. The evidence is about "
        "the tree named above and about no other.",
        "To have something changed, comment `/agent revise` and what you want: here, on a line of "
        "the diff, or in a review.",
        "`/agent update` merges the present base into this branch and checks that.",
        f"For another attempt close this pull request, sharpen issue #{run.issue} and put the "
        "label `agent:fix` on it again.",
    ]
    step = run.halt.next_step if run.halt is not None else ""
    if run.kind is not Kind.FIX:  # it was begun here, not by the label
        step = unlabelled(step)
    if step:
        lines.insert(0, inline(step))
    return bullets(lines, 9)


def words(run: Run, sizes: Sizes) -> str:
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


def evidence(run: Run, facts: Facts, sizes: Sizes) -> str:
    parts = [
        failures(run, sizes),
        each_run(run, sizes),
        _all_checks(run, sizes),
        _assumed(run, sizes),
        _commands(run, sizes),
    ]
    parts.append(_provenance(run, facts))
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
        f"{short(check.digest())}): {code(shlex.join(check.argv), sizes.commands)}"
        for check in checks
    ]
    if not lines:
        return ""
    configured = run.contract is not None and bool(run.contract.config.checks)
    source = "from the configuration at base" if configured else "recognised from the base's files"
    return details(f"Commands, {source}", bullets(lines, sizes.checks))


def _provenance(run: Run, facts: Facts) -> str:
    snapshot = run.snapshot
    model = f"model {code(run.model)}, prompts {code(run.prompts)}" if run.model else "no model"
    lines = [f"run {code(run.id)}, {model}"]
    if snapshot is not None:
        lines.append(f"sandbox image {code(snapshot.image)}, profile {code(snapshot.profile)}")
    if run.contract is not None:
        source = run.contract.config_source
        lines.append(
            f"configuration {code(source)} at base" if source else "no configuration file at base"
        )
    if facts.settings:
        lines.append(_settings(facts.settings))
    if snapshot is not None and snapshot.hints:
        read = ", ".join(f"{code(one.path)} ({short(one.blob)})" for one in snapshot.hints)
        lines.append(f"the model was shown the base's own {read}, as hints")
    if facts.statement:
        by = f", signed by {code(facts.key)}" if facts.key else ""
        lines.append(f"signed statement, envelope {code(facts.statement)}{by}")
    if facts.bundle:
        lines.append(
            f"bundle with all records {code(facts.bundle)}; the envelopes are in the check run "
            f"{code('patchwarrant/evidence')}. To see for yourself, without trusting this app: "
            f"{code('patchwarrant verify')} and this page's address"
        )
    return bullets(lines, 10)


def _settings(told: Mapping[str, Any]) -> str:
    """What the doctor said about the repository's own fence and settings."""
    amiss, unseen = (
        ", ".join(code(str(one)) for one in told.get(name) or ()) for name in ("fails", "unseen")
    )
    said = f"of {told.get('points', 0)} settings of the repository "
    said += f"these fail: {amiss}" if amiss else "none fails"
    return said + (f"; not seen by the App: {unseen}" if unseen else "")
