"""Text about a Change's open pull request that was looked at again: people's commits, the delta."""

from __future__ import annotations

from app.domain.commits import LISTED, lines
from app.domain.errors import HaltRecord, Reason
from app.domain.evidence import Result
from app.domain.markdown import bullets, code, inline
from app.domain.on_pull import unlabelled
from app.domain.report_facts import FIRST_ROWS, LADDER, Facts, Sizes
from app.domain.report_parts import RESULTS, SIGNS, check_table, names, short
from app.domain.run import Run
from app.domain.state import FOLLOWING, Kind, State
from app.domain.told import mention
from app.domain.two_looks import TwoLooks

SIZES = LADDER[2]
# Endings of a look at what people pushed that need no word of their own: another look follows, or
# somebody wanted the end.
SILENT = frozenset({Reason.HEAD_MOVED, Reason.BASE_CHANGED, Reason.CANCELLED})
PREFIXES = ("[not certified] ", "[incomplete] ")
_NAMES = {Kind.UPDATE: "Update", Kind.UNHOLD: "The repository's own workflows"}
_WORDS = {Kind.UPDATE: "update", Kind.UNHOLD: "ci", Kind.RECHECK: "verify"}
_STEPS = {
    State.ADMIT: "admitted: the head, its base, who made its commits",
    State.PREPARE: "prepared: base and head fetched, baseline of the base's checks",
    State.VERIFY: "verified: the base's checks on the tree",
    State.GATE: "judged: the base's tests, the referee, sentinels, red to green",
    State.PUBLISH: "published: signed evidence, the pull request's body",
}


def people(run: Run, sizes: Sizes) -> str:
    """The branch's commits that this app did not make, "" without any."""
    contract = run.contract
    if contract is None or run.kind not in FOLLOWING:
        return ""
    parts = []
    if contract.rewritten:
        parts.append(
            f"⚠️ **The branch's history was rewritten:** {short(contract.before)}, which the "
            "evidence before this one was about, is no part of it any more. What stands here is "
            "about what is there now."
        )
    if contract.others:
        shown = bullets(lines(contract.others), min(sizes.findings, LISTED))
        parts.append(
            "These commits on the branch were **not made by the agent**. They are kept as they "
            "are and were checked without a model; who wrote them is what the commits themselves "
            f"say.\n\n{shown}"
        )
    return "\n\n".join(parts)


def noted(run: Run, sizes: Sizes) -> list[str]:
    """What of `people` belongs on the first screen."""
    contract = run.contract
    if contract is None or not contract.others:
        return []
    count = len(contract.others)
    commits = "1 commit" if count == 1 else f"{count:,} commits"
    who = sorted({one.author.login if one.author.id else one.name for one in contract.others})
    return [f"**People's work:** {commits} of {names(who, sizes)}, not made by the agent"]


def delta(found: TwoLooks | None, sizes: Sizes) -> str:
    """What differs from the evidence before, "" where there was none."""
    if found is None:
        return ""
    said = [
        f"result: {found.before} → {found.now}" if found.before is not found.now
        else f"result: {found.now}, as before"
    ]  # fmt: skip
    for name, was, now in found.checks:
        sides = (SIGNS[one] if one else "not there" for one in (was, now))
        said.append(f"{code(name, 60)}: {' → '.join(sides)}")
    if found.failing:
        said.append(f"tests that fail now and did not: {names(list(found.failing), sizes)}")
    if found.mended:
        said.append(f"tests that failed and do no more: {names(list(found.mended), sizes)}")
    if found.paths:
        said.append(f"files that the change leaves otherwise: {names(list(found.paths), sizes)}")
    intro = (
        f"The evidence before was about commit {short(found.commit)}, tree {short(found.tree)}, on "
        f"base {short(found.base)}."
    )
    return f"{intro}\n\n{bullets(said, sizes.findings)}"


def origin(run: Run) -> str:
    """Whose doing this look was."""
    who = code(run.requester.login)
    if run.kind is Kind.UPDATE:
        return f"the base merged in for {who}, no model took part"
    if run.kind is Kind.UNHOLD:
        return f"the same tree as before, let run for {who}"
    return f"checked again after a push or a word of {who}, no model took part"


def status_of_following(run: Run, minutes: str) -> str:
    """The sticky comment on the issue: headline, then progress or the outcome."""
    parts = [f"**{_headline(run)}** · {minutes}"]
    if run.wait is not None:
        parts.append(f"⏸️ {code(run.wait.waiting)}: {inline(run.wait.note, 300)}")
    if run.state is State.COMPLETE and run.verdict is not None:
        parts += [_outcome(run), check_table(run, SIZES, FIRST_ROWS)]
    elif run.halt is not None:
        parts.append(f"Stopped: {code(run.halt.reason)}. {inline(run.halt.message, 1_500)}")
    else:
        passed_through = (State.ADMIT, State.PUBLISH)
        order = [one for one in _STEPS if run.kind is not Kind.UNHOLD or one in passed_through]
        now = order.index(run.state) if run.state in order else len(order)
        signs = ["[ ] ▶️" if at == now else "[x]" if at < now else "[ ]" for at in range(len(order))]
        steps = zip(signs, (_STEPS[one] for one in order), strict=True)
        parts.append("\n".join(f"- {sign} {words}" for sign, words in steps))
    if run.publication.pull:
        parts.append(f"Pull request: #{run.publication.pull}")
    parts.append(f"Run {code(run.id)}, {origin(run)}.")
    return "\n\n".join(parts)


def _headline(run: Run) -> str:
    head = short(run.publication.commit or (run.contract.head if run.contract else ""))
    what = _NAMES.get(run.kind, f"Another look at {head}")
    if run.state is State.COMPLETE and run.verdict is not None:
        return f"{what}: {run.verdict.result}"
    if run.state is State.HALTED:
        return f"{what} stopped"
    return f"{what}: {'waiting' if run.wait else 'at work'} ({run.state})"


def _outcome(run: Run) -> str:
    assert run.verdict is not None
    passed = run.verdict.result is Result.PASSED
    said = "Every required check passed." if passed else inline(run.verdict.wall, 300)
    return f"{RESULTS[run.verdict.result]} {said if passed else f'The wall: {said}'}"


def ending_on_pull(run: Run, facts: Facts) -> str:
    """The comment on the pull request at the end of a run that goes on with it."""
    who = mention(run.requester)
    parts = [f"<!-- patchwarrant:ending:{run.id} -->\n{who}{_said(run)}"]
    if run.halt is not None and run.state is State.HALTED:
        parts.append(_why(run.halt, run.kind))
    elif facts.looks is not None:
        parts.append(delta(facts.looks, SIZES))
    parts.append(f"Run {code(run.id)}. No model took part.")
    return "\n\n".join(parts)


def _said(run: Run) -> str:
    known = run.contract is not None and bool(run.contract.head)
    head = short(run.contract.head) if run.contract and known else "that is there now"
    if run.state is State.HALTED:
        if run.kind is Kind.UPDATE:
            done = (
                f"the branch shows the merge {short(run.publication.commit)} already, and then "
                "the update stopped."
                if run.publication.commit
                else "the base was not merged; the branch is as it was."
            )
            return done
        if run.kind is Kind.UNHOLD:
            return (
                f"the branch shows {short(run.publication.commit)} already, and then this stopped."
                if run.publication.commit
                else "nothing was pushed; the head is as it was."
            )
        return (
            f"the head {head} could not be checked, so there is no evidence about it. The "
            "pull request's body says so."
        )
    if run.contract is None or run.verdict is None:
        return "this look left no verdict."
    if run.kind is Kind.UNHOLD:
        return (
            f"the head is {short(run.publication.commit)} now: the very tree of {head}, without "
            "what held the repository's own workflows back, so they start by themselves. The "
            "evidence is signed anew for that commit; nothing was checked again."
        )
    return (
        f"{code(run.contract.base_branch)} at {short(run.contract.base_commit)} is merged in as "
        f"{short(run.publication.commit)}, with the parents {head} and "
        f"{short(run.contract.base_commit)}. {_outcome(run)} The pull request's body shows the "
        "evidence."
    )


def _why(halt: HaltRecord, kind: Kind) -> str:
    parts = [f"**Reason:** {code(halt.reason)}  \n**What happened:** {inline(halt.message, 1_500)}"]
    if halt.details:
        parts.append(bullets([inline(one, 400) for one in halt.details], 40))
    again = f"`/agent {_WORDS[kind]}` tries again."
    helps = inline(" ".join((unlabelled(halt.next_step), again)).strip(), 1_500)
    parts.append(f"**What you can do:** {helps}")
    return "\n\n".join(parts)


def unchecked(run: Run, head: str) -> str:
    """Our part of the body of a pull request whose head could not be checked."""
    reason = run.halt.reason if run.halt else "unknown"
    before = run.contract.before if run.contract else ""
    known = (
        f" The evidence before was about {short(before)}; it says nothing about this head."
        if before
        else ""
    )
    return (
        f"⚠️ **Not certified.** This pull request shows {short(head)}, which was not checked: the "
        f"look at it ended with {code(reason)}.{known}\n\n"
        f"For #{run.issue}, which stays open. `/agent verify` looks again. Run {code(run.id)}."
    )


def retitled(title: str, prefix: str = "") -> str:
    """The title with `prefix` instead of the words that we put before it earlier."""
    while title.startswith(PREFIXES):
        title = next(title.removeprefix(one) for one in PREFIXES if title.startswith(one))
    return f"{prefix}{title}"
