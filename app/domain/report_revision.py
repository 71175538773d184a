"""What people are told of a revision: the delta, each thread's outcome, people's commits."""

from __future__ import annotations

import re
from dataclasses import replace

from app.domain.ci_repair import is_repair
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.markdown import bullets, code, inline
from app.domain.on_pull import unlabelled
from app.domain.report_facts import FIRST_IDS, LADDER, Facts, Sizes
from app.domain.report_parts import (
    RESULTS,
    file_list,
    files_line,
    names,
    short,
    spent,
)
from app.domain.revision import OWN_CI, Revision, Thread
from app.domain.run import Run
from app.domain.since import Since
from app.domain.state import State
from app.domain.told import mention

# How far the lines that a thread is about were changed by the follow-up, as the gate measured it.
LINES, FILE, NOTHING = "lines", "file", "nothing"
_PREFIXES = re.compile(r"^((?:\[draft\] )?)(?:\[(?:incomplete|not certified)\] )+")


def thread_marker(run: str, thread: str) -> str:
    """How a run's one reply in a thread is found again."""
    return f"<!-- patchwarrant:thread:{run}:{thread} -->"


def renewed_title(run: Run, title: str) -> str:
    """The title with what we put before it as it is true now; people's own words stay."""
    bare = _PREFIXES.sub(r"\1", title)
    if run.verdict is not None and run.verdict.result is Result.PASSED:
        return bare
    draft = "[draft] " if bare.startswith("[draft] ") else ""
    return f"{draft}[incomplete] {bare.removeprefix(draft)}"


def place_of(thread: Thread) -> str:
    """Where a thread stands, in safe Markdown."""
    if thread.author == OWN_CI:
        return "red on the head before"
    if not thread.path:
        return "in the conversation" if thread.wide else "the review as a whole"
    if not thread.line:
        return code(thread.path)
    lines = str(thread.line) if thread.start == thread.line else f"{thread.start}-{thread.line}"
    return f"{code(thread.path)} line{'' if thread.start == thread.line else 's'} {lines}"


def scope_words(revision: Revision) -> str:
    """What the comments opened, and by which words it was more than the files they stand on."""
    scope = revision.scope
    parts = [code(glob) for glob in scope.globs[:20]]
    if len(scope.globs) > len(parts):
        parts.append(f"{len(scope.globs) - len(parts)} more")
    if scope.tests:
        parts.append("test files")
    shown = "every path that this repository allows" if scope.everywhere else ", ".join(parts)
    words = ", ".join(f"“{inline(one, 80)}”" for one in scope.words[:10])
    why = f" Opened by words of the comments: {words}." if words else ""
    return f"**Scope:** {shown or 'nothing'}.{why}"


def outcome_words(run: Run, thread: Thread, touched: str) -> str:
    """What became of one thread: the model's word beside what trusted code measured."""
    said = next((one for one in run.outcomes if one.thread == thread.id), None)
    commit = run.publication.commit
    if said is not None and not said.done:
        return f"Declined, in the model's words: {inline(said.why, 600)}"
    if not commit or run.state is not State.COMPLETE:
        reason = code(run.halt.reason) if run.halt else "no reason that was recorded"
        return f"Not done: the run ended with {reason}, and nothing was pushed for it."
    if said is None:
        return f"{_unsaid(thread, touched)} (commit {commit})"
    words = f" In the model's words: {inline(said.why, 600)}" if said.why else ""
    return f"{_done(thread, touched, commit)}{words}"


def _done(thread: Thread, touched: str, commit: str) -> str:
    if thread.path and touched == NOTHING:
        return (
            f"The model says that this is done, but nothing in {code(thread.path)} was changed by "
            f"{commit}. Look for yourself."
        )
    note = ""
    if thread.line and touched == FILE:
        note = " The file was changed, but not at these lines."
    return f"Done in {commit}.{note}"


def _unsaid(thread: Thread, touched: str) -> str:
    """A thread that the model said nothing about, told honestly from the trees."""
    if touched == LINES:
        return "No outcome was given. These lines were changed; whether that settles it is open."
    if touched == FILE:
        return "Not known to be done: no outcome was given, and only other lines were changed."
    if not thread.path:
        return "Not known to be done: no outcome was given."
    return "Not done: no outcome was given, and nothing was changed here."


def reply(run: Run, thread: Thread, touched: str) -> str:
    """The one reply in a review thread."""
    parts = [f"{thread_marker(run.id, thread.id)}\n{outcome_words(run, thread, touched)}"]
    if run.publication.commit and run.verdict is not None:
        parts.append(
            f"Evidence about that commit: {run.verdict.result}; the pull request's text shows it."
        )
    return "\n\n".join(parts)


def since_section(run: Run, facts: Facts, sizes: Sizes) -> str:
    """What changed since the previous head: files, checks, tests."""
    told = facts.since
    if told is None:
        return ""
    parts = [
        f"Against the head before it, {short(told.head)}: {files_line(told.files, run.plan)}",
        file_list(told.files, run.plan, sizes),
    ]
    if not told.known:
        parts.append(
            "There is no evidence about that head, so nothing is compared with it test by test; "
            "everything else here is compared with the base."
        )
    else:
        parts.append(bullets(_compared(told, sizes), 12))
    if len(run.heads) > 0:
        parts.append(
            f"The head moved {len(run.heads)} time{'' if len(run.heads) == 1 else 's'} while this "
            "was at work; the same edits were judged again on the newest."
        )
    return "\n\n".join(part for part in parts if part)


def _compared(told: Since, sizes: Sizes) -> list[str]:
    lines = [
        f"{code(name, 60)}: {before} → {now}" for name, before, now in told.checks if before != now
    ]
    for words, ids in (
        ("Newly passing", told.passing),
        ("Newly failing", told.failing),
        ("Gone", told.gone),
        ("New", told.new),
    ):
        if ids:
            lines.append(f"**{words}:** {names(list(ids), sizes)}")
    return lines or ["No check and no test ended otherwise than on the previous head."]


def review_section(run: Run, facts: Facts, sizes: Sizes) -> str:
    """What the review asked for, what became of each, and what it opened."""
    revision = run.contract.revision if run.contract else None
    if revision is None:
        return ""
    lines = [
        f"{one.id}, {place_of(one)}, by {code(one.author)}: {inline(one.text, sizes.line)}  \n"
        f"  {outcome_words(_published(run), one, facts.lines.get(one.id, NOTHING))}"
        for one in revision.threads
    ]
    return f"{bullets(lines, sizes.findings)}\n\n{scope_words(revision)}"


def _published(run: Run) -> Run:
    """The run as it will be once this is shown: the commit is there already."""
    if not run.publication.commit:
        return run
    return replace(run, state=State.COMPLETE)


def people_section(run: Run, sizes: Sizes) -> str:
    """People's commits on the branch: kept as they are, part of what was checked."""
    lines = [
        f"{short(one.sha)} {inline(one.subject, sizes.line)}, by {code(one.author.login)}"
        f"{'' if one.author.id else ', whom GitHub knows no account of'}"
        for one in run.people
    ]
    if not lines:
        return ""
    return (
        f"{bullets(lines, sizes.findings)}\n\nThey are kept as they are and are part of the tree "
        "that was checked."
    )


def revised(run: Run, facts: Facts) -> str:
    """The new comment at the end of a revision that was pushed; mentions all who asked."""
    sizes = LADDER[2]
    commit, verdict = run.publication.commit, run.verdict
    wall = f" The wall: {inline(verdict.wall, 300)}" if verdict and verdict.wall else ""
    result = RESULTS[verdict.result] if verdict else "❓ **Unknown.**"
    parts = [
        f"<!-- patchwarrant:ending:{run.id} -->\n{asked_by(run)}revised in {commit}. {result}{wall}"
        f"{by_itself(run)}"
    ]
    if facts.since is not None:
        changed = files_line(facts.since.files, run.plan)
        shown = [changed, *(_compared(facts.since, sizes) if facts.since.known else ())]
        parts.append(
            f"**Since the previous head** {short(facts.since.head)}\n\n{bullets(shown, 9)}"
        )
    revision = run.contract.revision if run.contract else None
    if revision is not None:
        lines = [
            f"{one.id}, {place_of(one)}: "
            f"{outcome_words(run, one, facts.lines.get(one.id, NOTHING))}"
            for one in revision.threads
        ]
        parts.append(f"**What was asked**\n\n{bullets(lines, FIRST_IDS * 5)}")
    if run.publication.overtaken:
        parts.append(
            f"⚠️ The head is {short(run.publication.overtaken)} by now: somebody pushed right "
            "after. The evidence is about the commit above alone."
        )
    parts += [spent(run.spend, run.limits), f"Run {code(run.id)}"]
    return "\n\n".join(parts)


AGAIN_HERE = "Say `/agent revise` again here."


def by_itself(run: Run) -> str:
    """Why nobody's words began it, where red CI did."""
    if not is_repair(run):
        return ""
    most = run.contract.config.ci_repair if run.contract else 0
    bound = f", of at most {most} for this pull request" if most else ""
    return (
        f" Begun by itself, since the repository's own CI failed on the head before (`ci_repair`"
        f"{bound})."
    )


def again_here(step: str) -> str:
    """What a person can do about a revision: the label that other endings name is of no use while
    the pull request is open."""
    kept = unlabelled(step)
    if "/agent revise" in kept:
        return kept
    kept = kept[:1].upper() + kept[1:]
    return f"{kept} Then say `/agent revise` again here." if kept else AGAIN_HERE


def stopped(run: Run) -> str:
    """The first words of the ending of a revision that did not get there."""
    if run.publication.commit:
        return (
            f"this revision stopped after it had pushed {run.publication.commit}. Read the reason "
            "before you rely on what the pull request says."
        )
    return "this revision stopped before anything was pushed; the pull request is as it was."


def asked_by(run: Run) -> str:
    """A mention of who asked for the run and of all whose comments it took up, each once."""
    revision = run.contract.revision if run.contract else None
    everybody = (run.requester, *(revision.askers if revision else ()))
    people: dict[str, Person] = {}
    for one in everybody:
        people.setdefault(one.login.casefold(), one)
    bots_last = sorted(people.values(), key=lambda one: one.kind != "User")
    return "".join(map(mention, bots_last))
