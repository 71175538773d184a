"""Plain text for git: the pull request's title and the commit message."""

from __future__ import annotations

import re
import textwrap

from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Kind
from app.domain.text import clean
from app.domain.workflows import TRAILER

TITLE = 120
SUBJECT = 72
PROSE = 1_500
LONGEST = 220  # characters; GitHub takes 256, and a word about its state may come in front
TITLED = "Agent fix for #{issue}: {title}"

_DIRECTIVE = re.compile(
    r"(?i)\[\s*(?:skip[ _-]+(?:ci|actions|checks|build|travis|circle)|(?:ci|actions|no)[ _-]+"
    r"(?:skip|ci))\s*\]|\*{3}\s*no_?ci\s*\*{3}|\[\s*(?:azure|appveyor)[ _]*skip\s*\]"
    r"|\bskip-checks\b\s*:?\s*(?:true)?"
)
_TRAILER = re.compile(r"(?i)\b((?:[a-z]+-)+[a-z]+)\s*:(?=\s|$)")
_FIELD = re.compile(r"\{(?:issue|title)\}")
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")


def plain(text: str, size: int) -> str:
    """One paragraph that names nobody, closes nothing, skips nothing and holds no trailer."""
    words = " ".join(clean(text)[0].split())
    while _DIRECTIVE.search(words):  # what is left of two halves can be a whole
        words = " ".join(_DIRECTIVE.sub(" ", words).split())
    words = _TRAILER.sub(r"\1 -", words)
    words = re.sub(r"#(?=\w)", "# ", words)
    words = re.sub(r"(?i)\bgh-(?=\d)", "GH ", words)
    words = words.replace("://", ": //")
    words = re.sub(r"@(?=\w)", "@ ", words).lstrip("# ")
    return words if len(words) <= size else words[: size - 1].rstrip() + "…"


def pull_title(run: Run) -> str:
    """The pull request's title; an incomplete draft says so first."""
    title = plain(run.contract.request.title, TITLE) if run.contract else ""
    pattern = run.contract.config.pull_request.title if run.contract else ""
    parts = {"{issue}": str(run.issue), "{title}": title or "as asked in the issue"}
    whole = _FIELD.sub(lambda found: parts[found.group()], pattern or TITLED)[:LONGEST]
    return whole if _passed(run) else f"[incomplete] {whole}"


def commit_message(run: Run) -> str:
    """Subject, the plan's summary, what was checked; trailers last, the one that holds
    the repository's own workflows back at the very end."""
    title = plain(run.contract.request.title, TITLE) if run.contract else ""
    if run.kind is Kind.REVISE and run.plan is not None:
        title = f"Revise: {plain(run.plan.summary, TITLE)}"
    tail = f" (for #{run.issue})"
    room = SUBJECT - len(tail)
    subject = title or "Change as asked in the issue"
    subject = (subject if len(subject) <= room else subject[: room - 1].rstrip() + "…") + tail
    parts = [subject]
    if run.plan is not None and (summary := plain(run.plan.summary, PROSE)):
        parts.append(_wrapped(f"The model's summary: {summary}"))
    parts.append(_wrapped(_checked(run)))
    trailers = [f"Agent-Run: {run.id}"]
    if run.requester.kind == "User" and _LOGIN.fullmatch(run.requester.login):
        login = run.requester.login
        address = f"{run.requester.id}+{login}@users.noreply.github.com"
        trailers.insert(0, f"Co-authored-by: {login} <{address}>")
    if run.ci is not None and run.ci.held:  # as GitHub documents it: after two empty lines, last
        parts[-1] += "\n"
        trailers.append(TRAILER)
    return "\n\n".join([*parts, "\n".join(trailers)]) + "\n"


def update_message(run: Run) -> str:
    """Of the merge of a base into a Change's branch: what was merged, what was checked, trailer."""
    base = run.contract.base_branch if run.contract else "the base"
    commit = run.contract.base_commit[:12] if run.contract else ""
    subject = plain(f"Merge {base} at {commit} into the branch for #{run.issue}", SUBJECT)
    told, trailers = _wrapped(_checked(run)), f"Agent-Run: {run.id}"
    if run.ci is not None and run.ci.held:
        told, trailers = f"{told}\n", f"{trailers}\n{TRAILER}"
    return "\n\n".join([subject, told, trailers]) + "\n"


def unhold_message(run: Run) -> str:
    """Of its parent's tree once more, for the repository's own workflows to run on."""
    head = run.contract.head[:12] if run.contract else ""
    subject = f"Let the repository's own workflows run (for #{run.issue})"
    told = _wrapped(f"The same tree as {head}, which held them back. {_checked(run)}")
    return "\n\n".join([subject, told, f"Agent-Run: {run.id}"]) + "\n"


def _passed(run: Run) -> bool:
    return run.verdict is not None and run.verdict.result is Result.PASSED


def _checked(run: Run) -> str:
    if run.verdict is None:
        return "Nothing was shown about this change."
    return (
        f"Verdict: {run.verdict.result} on tree {run.verdict.tree}, against base commit "
        f"{run.verdict.base_commit}. The pull request shows the evidence."
    )


def _wrapped(text: str) -> str:
    """Lines of at most 72 characters, none of which looks like a comment of git's."""
    lines = textwrap.wrap(text, SUBJECT, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f" {line}" if line.startswith("#") else line for line in lines)
