"""What is said in answer to a command: short comments, in Markdown, from records alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.domain.commands import Word, help_text
from app.domain.event import Person
from app.domain.markdown import bullets, code, inline
from app.domain.report_parts import seconds, spent
from app.domain.run import Run
from app.domain.state import ENDS, State

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")
# As GitHub documents them; the trailer stands in a line of its own.
_SKIPS = re.compile(
    r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|^skip-checks:[ \t]*true[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# Beside a cap that kept a head from being looked at.
NOT_LOOKED_AT = (
    "What is on the branch now was not checked: the evidence in the body is about the commit that "
    "it names and no other. `/agent verify` looks when the hour is over."
)


def mention(person: Person) -> str:
    login = person.login
    if person.kind == "User" and _LOGIN.fullmatch(login):
        return f"@{login} "
    return f"For {code(login)}: "


def refused(person: Person, role: str, said: str, needs: str) -> str:
    """One refusal; who asked again finds this one."""
    return (
        f"{mention(person)}`/agent {said}` was not done: you have the role {code(role)} here, and "
        f"it needs {needs}. Somebody who has that can say it."
    )


def label_again(person: Person) -> str:
    """For a label that we were never told of, on an issue whose text may be another by now."""
    who = mention(person) if person.id else ""
    return (
        f"{who}this issue carries `agent:fix`, and GitHub could not tell me when that was set. "
        "Something happened here since, so I cannot know which text was meant, and the label was "
        "taken off. Somebody with write access sets it again to start."
    )


def persons_only(person: Person, said: str) -> str:
    return (
        f"{mention(person)}`/agent {said}` is for people: a bot may ask for a run, and steers and "
        "approves nothing."
    )


def not_ours(person: Person, pull: int) -> str:
    """`/agent revise` where there is nothing of ours to revise; `pull` is ours, 0 if unknown."""
    where = f" Mine for this is #{pull}: say it there." if pull else ""
    return (
        f"{mention(person)}`/agent revise` is said on an open pull request of mine, and this is "
        f"none, so nothing was done.{where}"
    )


def closed_pull(person: Person) -> str:
    return (
        f"{mention(person)}this pull request is closed, so nothing was done. Label the issue "
        "`agent:fix` for a new one."
    )


def say_what(person: Person) -> str:
    return (
        f"{mention(person)}say what should be changed: `/agent revise` and your words, here, on a "
        "line of the diff, or in a review, whose inline comments then count together."
    )


def noted(person: Person, count: int, run: str) -> str:
    """One comment a run at work; it is edited as more arrive."""
    many = "1 comment waits" if count == 1 else f"{count} comments wait"
    return (
        f"{mention(person)}noted: {many} for the run {code(run)} to end. The next run takes all "
        "of them together, in their order, and starts by itself."
    )


def unknown(person: Person, said: str) -> str:
    return f"{mention(person)}{help_text(code(f'/agent {said}'.strip(), 60))}"


def helped(person: Person) -> str:
    return f"{mention(person)}{help_text()}"


def no_pull_of_mine(word: Word) -> str:
    return (
        f"`/agent {word}` goes on with a pull request that I opened and that is still open. There "
        "is none here, so nothing was done."
    )


def not_followed(word: Word, pull: int) -> str:
    return (
        f"#{pull} was closed, so `/agent {word}` cannot go on with it and nothing was done. Open "
        "it again, if its issue has not begun anew, or label the issue for a new start."
    )


def status(person: Person, runs: Sequence[Run], now_ms: int) -> str:
    """How it stands, newest run first; `runs` are those of one issue, oldest first."""
    if not runs:
        return f"{mention(person)}no run of mine is known for this."
    shown = [_run(run, now_ms) for run in reversed(runs)]
    return f"{mention(person)}this is what the ledger says:\n\n{bullets(shown, 5)}"


def _run(run: Run, now_ms: int) -> str:
    age = seconds(max(0, now_ms - run.created))
    kind = f"{run.kind} of class large" if run.large else str(run.kind)
    what = f"{code(run.id)} ({kind}, begun {age} ago by {code(run.requester.login)}): "
    if run.state not in ENDS:
        what += f"in {code(run.state)}"
        if run.wait is not None:
            what += f", waiting ({code(run.wait.waiting)}: {inline(run.wait.note, 200)})"
    elif run.halt is not None and run.state is State.HALTED:
        what += f"ended with {code(run.halt.reason)}"
    else:
        what += "complete"
        if run.publication.pull:
            what += f", pull request #{run.publication.pull}"
    return f"{what}. {spent(run.spend, run.limits)}"


def capped(person: Person, scope: str, limit: int, *, on_pull: bool = False) -> str:
    whose = {
        "issue": "this pull request, with its issue, has" if on_pull else "this issue has",
        "user": "you have",
        "repository": "this repository has",
        "installation": "this installation has",
    }[scope]
    return (
        f"{mention(person)}no run was started: {whose} had {limit} runs within an hour, which is "
        "the cap. Ask again later; the operator can set other caps."
    )


def explained(run: Run) -> str:
    """The read-only answer; the model's words are marked as such."""
    found = run.grounding
    paths = bullets([code(path) for path in found.paths], 20) if found and found.paths else ""
    words = inline(found.summary, 6_000) if found else "(nothing)"
    base = code(run.contract.base_commit[:12]) if run.contract else "the base"
    parts = [
        f"<!-- patchwarrant:ending:{run.id} -->\n{mention(run.requester)}this is what the code at "
        f"{base} says about it. Nothing was changed.",
        f"**In the model's own words:** {words}",
    ]
    if paths:
        parts.append(f"**Files that it read**\n\n{paths}")
    parts += [spent(run.spend, run.limits), f"Run {code(run.id)}"]
    return "\n\n".join(parts)


def skip_directive(message: str) -> str:
    """The part of a commit's message that tells GitHub to start no workflow, "" without one."""
    found = _SKIPS.search(message)
    return found[0] if found else ""


def skipped(directive: str) -> str:
    """After a merge whose message tells CI to stay away."""
    return (
        f"The message of this merge holds {code(directive, 60)}, which tells CI systems to skip "
        "the merged commit: the base's own workflows may not have run on it. Run them by hand, or "
        "push another commit, if they should."
    )
