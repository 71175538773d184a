"""Comments on the issue: the sticky one that shows progress, and the one at every ending."""

from __future__ import annotations

from datetime import UTC, datetime

from app.domain.ci_repair import is_repair
from app.domain.evidence import Result
from app.domain.markdown import bullets, code, fence, inline
from app.domain.report_facts import BODY_TARGET
from app.domain.report_follow import status_of_following
from app.domain.report_parts import short, spent
from app.domain.report_revision import again_here, asked_by, by_itself, stopped
from app.domain.report_verify import status_of_look
from app.domain.run import Run, Wait
from app.domain.state import FOLLOWING, Kind, State

PATCH_CAP = 40_000  # characters of a partial patch
DETAILS = 12_000  # characters of the details of a Halt

_STAGES = (
    (State.ADMIT, "admitted: request, limits and base are fixed"),
    (State.PREPARE, "prepared: base fetched, baseline checks"),
    (State.LOCATE, "located: the code that this is about"),
    (State.PLAN, "planned: which files may change"),
    (State.EDIT, "edited: a candidate"),
    (State.VERIFY, "verified: required checks on the candidate"),
    (State.GATE, "judged: the gate's rules, a verdict"),
    (State.PUBLISH, "published: draft pull request"),
)
_REVISED = {
    State.ADMIT: "admitted: comments, scope and the live head are fixed",
    State.PUBLISH: "published: one follow-up commit",
}


def status(run: Run, elapsed_ms: int, link: str) -> str:
    """The sticky comment. `elapsed_ms` since the run was created; `link` to its page or ""."""
    minutes = f"{elapsed_ms // 60_000} min {elapsed_ms % 60_000 // 1000} s"
    if run.kind is Kind.VERIFY:
        return f"<!-- patchwarrant:status:{run.change} -->\n{status_of_look(run, minutes)}"
    if run.kind in FOLLOWING:
        said = status_of_following(run, minutes)
        return f"<!-- patchwarrant:status:{run.change} -->\n{said}"
    done = _done(run)
    own = _REVISED if run.kind is Kind.REVISE else {}
    lines = [_stage(run, at, own.get(at, words), at in done) for at, words in _STAGES]
    parts = [
        f"<!-- patchwarrant:status:{run.change} -->\n**{_headline(run)}** · {minutes}",
        "\n".join(lines),
        spent(run.spend, run.limits),
    ]
    if run.wait is not None:
        parts.insert(1, _waits(run.wait))
    if run.kind is Kind.REVISE:
        if is_repair(run):
            parts.append(by_itself(run).strip())
        if run.publication.commit:
            parts.append(f"Follow-up commit: {run.publication.commit}")
    elif run.publication.pull and run.publication.pull_url:
        kind = "Draft pull request" if run.publication.draft else "Pull request, not a draft"
        parts.append(f"{kind}: #{run.publication.pull}")
    if run.halt is not None and (run.state is State.HALTED or not run.publication.pull):
        # Here as well: on a locked issue no comment below can say it.
        parts.append(f"Stopped: {code(run.halt.reason)}. {inline(run.halt.message, 600)}")
    parts.append(f"Run {code(run.id)}" + (f" · [details]({link})" if link else ""))
    return "\n\n".join(parts)


def _waits(wait: Wait) -> str:
    until = f"{datetime.fromtimestamp(wait.until / 1000, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    note = inline(wait.note).rstrip(".")
    then = (
        f"Without that it ends at {until}"
        if wait.waiting.of_person
        else f"It goes on by {until} at the latest"
    )
    return f"⏸️ {code(wait.waiting)}: {note}. {then}; waiting is not charged."


def _headline(run: Run) -> str:
    if run.kind is Kind.REVISE and run.state in (State.COMPLETE, State.HALTED):
        result = run.verdict.result if run.verdict else "unknown"
        pushed = f"Revised: {result}" if run.publication.commit else "Revision stopped"
        return pushed if run.state is State.COMPLETE else "Revision stopped"
    if run.state is State.COMPLETE:
        passed = run.verdict is not None and run.verdict.result is Result.PASSED
        what = "draft pull request" if run.publication.draft else "pull request (no draft)"
        return f"Done: {what}" if passed else f"Done: incomplete {what}"
    if run.state is State.HALTED:
        if run.publication.pull:
            return "Stopped after its pull request was opened"
        return "Stopped without a pull request"
    return f"Waiting in {run.state}" if run.wait else f"At work: {run.state}"


def _done(run: Run) -> frozenset[State]:
    """Stages whose result is there; the current stage counts as not done yet."""
    there = {
        State.ADMIT: run.contract is not None,
        State.PREPARE: run.snapshot is not None,
        State.LOCATE: run.grounding is not None,
        State.PLAN: run.plan is not None,
        State.EDIT: run.candidate is not None,
        State.VERIFY: bool(run.results),
        State.GATE: run.verdict is not None,
        State.PUBLISH: bool(
            run.publication.commit if run.kind is Kind.REVISE else run.publication.pull
        ),
    }
    return frozenset(state for state, is_there in there.items() if is_there) - {run.state}


def _stage(run: Run, state: State, words: str, done: bool) -> str:
    repaired = run.attempts[:-1] if run.results else run.attempts
    note = ""
    if state is State.VERIFY and repaired:
        note = f" (earlier attempts that did not pass: {len(repaired)})"
    if state is run.state:
        return f"- [ ] ▶️ {words}{note}"
    return f"- [{'x' if done else ' '}] {words}{note}"


def ending(run: Run, patch: str = "") -> str:
    """The new comment at an ending; mentions who asked. `patch` is partial work as a diff."""
    head = f"<!-- patchwarrant:ending:{run.id} -->\n{asked_by(run)}{_what(run)}"
    parts = [head]
    if run.halt is not None:
        parts.append(
            f"**Reason:** {code(run.halt.reason)}  \n**What happened:** "
            f"{inline(run.halt.message, 1_500)}"
        )
        shown = _within(list(run.halt.details), DETAILS)
        if shown:
            parts.append(bullets(shown, len(shown)))
        step = run.halt.next_step
        if run.kind is Kind.REVISE:
            step = again_here(step)
        if step:
            parts.append(f"**What you can do:** {inline(step, 1_500)}")
    parts.append(spent(run.spend, run.limits))
    if patch.strip():
        parts.append(_partial(run, patch, BODY_TARGET - sum(map(len, parts)) - 1_000))
    parts.append(f"Run {code(run.id)}")
    return "\n\n".join(parts)


def _within(details: list[str], room: int) -> list[str]:
    """Safe lines of the details as long as there is room, then how many are missing."""
    shown: list[str] = []
    for at, detail in enumerate(details):
        line = inline(detail, 400)
        room -= len(line)
        if room < 0:
            return [*shown, f"… and {len(details) - at:,} more"]
        shown.append(line)
    return shown


def _partial(run: Run, patch: str, room: int) -> str:
    tree = f" (tree {short(run.candidate.tree)})" if run.candidate else ""
    most = min(PATCH_CAP, room)
    shown = patch if len(patch) <= most else patch[:most].rpartition("\n")[0] or patch[:most]
    note = (
        f" Only its first {len(shown):,} of {len(patch):,} characters fit here."
        if len(shown) < len(patch)
        else ""
    )
    passed = run.verdict is not None and run.verdict.result is Result.PASSED
    what = (
        f"**The work**{tree}, which its evidence says passed, as a diff:"
        if passed
        else f"**Partial work**{tree}, not shown to be right by anything:"
    )
    return f"{what}{note}\n\n{fence(shown, 'diff', exact=True)}"


def _what(run: Run) -> str:
    if run.kind is Kind.REVISE:
        return f"{stopped(run)}{by_itself(run)}"
    if run.publication.pull and run.state is State.HALTED:
        return (
            f"this run stopped after it had opened the pull request #{run.publication.pull}, which "
            "is still there and was not finished. Read the reason before you rely on it; close it "
            "if you do not want it."
        )
    if run.publication.pull:
        result = run.verdict.result if run.verdict else "unknown"
        if result == Result.PASSED:
            return f"the draft pull request #{run.publication.pull} is there; its checks passed."
        wall = f": {inline(run.verdict.wall)}" if run.verdict and run.verdict.wall else "."
        return f"there is a draft pull request, #{run.publication.pull}, but it is incomplete{wall}"
    if run.halt is None:
        return f"this run ended in {code(run.state)} without a change. Nothing was published."
    if run.halt.reason == "no-change":
        return "no change was made, so there is no pull request."
    if run.publication.branch and not run.publication.commit:
        return (
            "this run stopped before it knew of a pull request. Whether its branch "
            f"{code(run.publication.branch)} is there could not be found out."
        )
    if run.publication.branch:
        return (
            "this run stopped before there was a pull request. Its branch "
            f"{code(run.publication.branch)} is there, with the commit "
            f"{short(run.publication.commit)}."
        )
    return "this run stopped before there was a pull request. Nothing was published."


def not_certified(run: Run, head: str) -> str:
    """Our part of the body of a pull request whose head is not what was checked."""
    checked = f"The commit {short(run.publication.commit)}"
    return (
        f"⚠️ **Not certified.** This pull request shows {short(head)}, which nobody checked. "
        f"{checked} was checked, and then somebody pushed to the branch.\n\n"
        f"For #{run.issue}, which stays open. The run {code(run.id)} told its end there."
    )
