"""Text for people on GitHub: the pull request's body and the check run, from records alone.

Every statement about a check comes from a result on the very tree that the verdict names; the
model's words stand under a heading that says whose they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.evidence import Holds, Result, Verdict
from app.domain.markdown import bullets, code, cut, inline
from app.domain.report_annotations import remarks
from app.domain.report_comment import ending, not_certified, status
from app.domain.report_commit import commit_message, pull_title
from app.domain.report_facts import (
    BODY_CAP,
    BODY_TARGET,
    FIRST_IDS,
    FIRST_ROWS,
    LADDER,
    OUTPUT_CAP,
    TEXT_LEAST,
    WHOLE,
    Facts,
    Sizes,
)
from app.domain.report_findings import criteria_of, first_looks, passed_words
from app.domain.report_follow import delta, noted, origin, people, retitled, unchecked
from app.domain.report_parts import (
    RESULTS,
    check_table,
    compared,
    deltas_of,
    file_list,
    files_line,
    short,
    spent,
)
from app.domain.report_results import base_tests
from app.domain.report_revision import (
    people_section,
    renewed_title,
    reply,
    review_section,
    revised,
    since_section,
    thread_marker,
)
from app.domain.report_sections import asked, evidence, history, look, onward, points, wall, words
from app.domain.report_signed import (
    OURS,
    START,
    Marker,
    attached_in,
    attachment,
    body_marker,
    marker_line,
    marks,
    statements,
    statements_in,
)
from app.domain.run import Run
from app.domain.state import FOLLOWING, JUDGING, Kind

__all__ = [
    "BODY_CAP",
    "Facts",
    "Marker",
    "alike",
    "attached_in",
    "body_marker",
    "check_output",
    "commit_message",
    "ending",
    "first_screen",
    "merge_body",
    "not_checked",
    "page",
    "pull_body",
    "pull_title",
    "remarks",
    "renewed_title",
    "reply",
    "revised",
    "statements_in",
    "status",
    "template",
    "thread_marker",
    "title_of_verdict",
    "uncertified",
]


def pull_body(run: Run, facts: Facts) -> str:
    """Our part of the pull request's body, at most `BODY_TARGET` characters, between markers."""
    start, end = marks(run.id)
    facts = replace(facts, deltas=deltas_of(run, facts))
    body = _fitting(lambda sizes: _body(run, facts, sizes), BODY_TARGET - 1_000, len)
    body = body or f"{_verdict(run, facts, LADDER[-1])}\n\nThe rest was too long."
    return f"{start}\n{marker_line(run, facts, body)}{body}\n{end}"


def merge_body(existing: str, ours: str) -> str:
    """`existing` with our part replaced by `ours`; what people wrote around it stays.

    Our part is what stands between any run's markers; without one, ours comes first. What does
    not fit under GitHub's cap is cut from the end of what others wrote, and that is said.
    """
    found = START.search(existing)
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


def template(text: str) -> str:
    """A repository's own template, to stand below our part: nothing in it can pass for ours."""
    return cut(OURS.sub("<!-- ", text.replace("\r\n", "\n")).strip(), BODY_CAP - BODY_TARGET - 500)


def uncertified(run: Run, title: str, head: str) -> tuple[str, str]:
    """(title, our part of the body) of a pull request that shows another commit than was checked;
    it closes no issue."""
    start, end = marks(run.id)
    prefix = "[not certified] "
    return (
        title if title.startswith(prefix) else prefix + title,
        f"{start}\n{not_certified(run, head)}\n{end}",
    )


def first_screen(run: Run, facts: Facts, most: int) -> str:
    """Verdict, checks, files and spend in at most `most` characters, "" if nothing fits."""
    facts = replace(facts, deltas=deltas_of(run, facts))
    return _fitting(lambda sizes: _first(run, facts, sizes, sizes.checks), most, len)


def alike(one: str, other: str) -> bool:
    """Equal as GitHub keeps text: line ends and the blank end do not count."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()


def not_checked(run: Run, title: str, head: str) -> tuple[str, str]:
    """(title, our part of the body) of a pull request whose present head could not be checked."""
    start, end = marks(run.id)
    return retitled(title, "[not certified] "), f"{start}\n{unchecked(run, head)}\n{end}"


def title_of_verdict(run: Run, title: str) -> str:
    """The title of a pull request with new evidence: what we put before it follows the verdict."""
    passed = run.verdict is not None and run.verdict.result is Result.PASSED
    return retitled(title, "" if passed else "[incomplete] ")


def check_output(run: Run, facts: Facts) -> tuple[str, str, str]:
    """(title, summary, text) of the check run; summary and text each below `OUTPUT_CAP` bytes."""
    facts = replace(facts, deltas=deltas_of(run, facts))
    result = run.verdict.result if run.verdict else "unknown"
    tree = run.verdict.tree if run.verdict else ""
    title = f"{str(result).capitalize()} on tree {tree[:12] or 'unknown'}"
    summary = _fitting(lambda sizes: _first(run, facts, sizes, sizes.checks), OUTPUT_CAP, _bytes)
    over = "This was too long to be shown."
    signed, attached = statements(facts), attachment(facts)
    if _bytes(signed) + _bytes(attached) > OUTPUT_CAP - TEXT_LEAST:
        attached = ""
    room = OUTPUT_CAP - _bytes(signed) - _bytes(attached)
    text = _fitting(lambda sizes: _rest(run, facts, sizes), room, _bytes)
    return title, summary or over, (text or over) + signed + attached


def page(run: Run, facts: Facts) -> str:
    """The whole report as Markdown, for a page of its own: nothing is cut to fit GitHub."""
    facts = replace(facts, deltas=deltas_of(run, facts))
    notes = [
        f"{code(f'{one.path}:{one.line}', 400)} {one.level}: {inline(one.title, 200)}"
        for one in remarks(run, facts)
    ]
    places = f"\n\n## At file and line\n\n{bullets(notes, len(notes))}" if notes else ""
    return f"{_first(run, facts, WHOLE, WHOLE.checks)}\n\n{_rest(run, facts, WHOLE)}{places}" + (
        statements(facts)
    )


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
    parts = [_verdict(run, facts, sizes)]
    notes = first_looks(run.verdict.findings, sizes) if run.verdict else []
    notes += noted(run, sizes)
    if notes:
        parts.append("  \n".join(notes))
    parts.append(check_table(run, sizes, rows))
    failing = base_tests(run, sizes)
    if failing:
        parts.append(failing)
    changes = compared(run, sizes)
    if changes:
        parts.append("  \n".join(changes))
    # The plan of a revision is about its own edits: those stand in a section of their own.
    plan = None if run.kind is Kind.REVISE else run.plan
    foreign = run.kind in JUDGING
    files = files_line(facts.deltas, plan, foreign or run.kind is Kind.REVISE)
    costs = not foreign and run.kind is not Kind.UNHOLD
    parts.append("  \n".join((files, spent(run.spend, run.limits))) if costs else files)
    return "\n\n".join(parts)


def _verdict(run: Run, facts: Facts, sizes: Sizes) -> str:
    if run.verdict is None:
        return "❓ **Unknown.** No verdict was recorded about this change."
    verdict = run.verdict
    said = (
        passed_words(len(points(run, facts, sizes)), _bare(verdict))
        if verdict.result is Result.PASSED
        else f"The wall: {inline(verdict.wall, sizes.line)}"
    )
    commit = f", commit {code(facts.commit)}" if facts.commit else ""
    closing = _closing(run, verdict)
    asked_by = f"asked for by {code(run.requester.login)}"
    who = origin(run) if run.kind in FOLLOWING else asked_by
    page = f" · [the run's page]({facts.page})" if facts.page else ""
    return (
        f"{RESULTS[verdict.result]} {said}\n\n"
        f"Tree {code(verdict.tree)}{commit}, base {short(verdict.base_commit)}.\n"
        f"{closing}, {who}{page}."
        f"{_stale(run)}"
    )


def _bare(verdict: Verdict) -> int:
    """How many criteria nothing supports."""
    return sum(one.standing is not Holds.HOLDS for one in criteria_of(verdict.findings))


def _stale(run: Run) -> str:
    """What is said where somebody pushed right after our follow-up commit."""
    if run.kind is not Kind.REVISE or not run.publication.overtaken:
        return ""
    return (
        f"\n\n⚠️ **Stale:** the head is {short(run.publication.overtaken)} now. What stands here is "
        f"about {short(run.publication.commit)} alone."
    )


def _closing(run: Run, verdict: Verdict) -> str:
    if run.kind is Kind.VERIFY:
        return "Evidence about somebody else's change, made without a model"
    if verdict.result is Result.PASSED:
        return f"Closes #{run.issue}"
    return f"For #{run.issue}, which stays open"


def _rest(run: Run, facts: Facts, sizes: Sizes) -> str:
    foreign = run.kind in JUDGING
    revises = run.kind is Kind.REVISE
    plan = None if revises else run.plan
    files = file_list(facts.deltas, plan, sizes, foreign or revises)
    sections = (
        ("What changed since the previous head", since_section(run, facts, sizes)),
        ("What the review asked", review_section(run, facts, sizes)),
        ("Commits by people", people_section(run, sizes)),
        ("Look at this first", look(run, facts, sizes)),
        ("People's commits", people(run, sizes)),
        ("Since the evidence before", delta(facts.looks, sizes)),
        ("What was not done", wall(run, facts, sizes)),
        ("What was asked", "" if run.kind is Kind.VERIFY else asked(run, sizes)),
        ("Files" if foreign or revises else "Files against the plan", files),
        ("How it came about", "" if foreign else history(run, sizes)),
        ("How to go on", "" if run.kind is Kind.VERIFY else onward(run)),
        ("In the model's own words", words(run, sizes)),
        ("Evidence", evidence(run, facts, sizes)),
    )
    return "\n\n".join(f"## {head}\n\n{text}" for head, text in sections if text)
