"""Why a run was cancelled, as its row keeps it: what happened, and what a person can do then."""

from __future__ import annotations

from app.domain.commands import Word
from app.domain.errors import Halt, Reason
from app.domain.state import Kind

NEXT = "Label the issue again for a new run."
# Words that the comments about a pull request keep; a label is of no use there.
_REVISE = "`/agent revise`"
REOPEN = f"Open the pull request again, then say {_REVISE} once more."
OVER = f"What is merged is not revised: {_REVISE} is for open pull requests."
_WORDS = {
    Kind.VERIFY: Word.VERIFY,
    Kind.RECHECK: Word.VERIFY,
    Kind.UPDATE: Word.UPDATE,
    Kind.UNHOLD: Word.CI,
}


def kept(happened: str, then: str = NEXT, reason: Reason = Reason.CANCELLED) -> str:
    """All of it as one text for the run's row."""
    return f"{' '.join(happened.split())}\n{' '.join(then.split())}\n{reason}"


def by(login: str) -> str:
    """Who did it, as the end of a sentence; "" where GitHub named nobody."""
    return f" by {login}" if login and login != "ghost" else ""


def pull_over(merged: bool, login: str, kind: Kind = Kind.REVISE) -> str:
    """For the run of this kind at work on a pull request that was closed."""
    how = "merged" if merged else "closed"
    then = OVER if merged else REOPEN
    if kind in _WORDS:
        said = f"`/agent {_WORDS[kind]}`"
        then = f"{said} is for open pull requests." if merged else REOPEN.replace(_REVISE, said)
    return kept(f"The pull request was {how}{by(login)}.", then)


def retargeted(old: str, new: str, login: str = "") -> str:
    """For the run at work on a pull request that goes into another branch by now."""
    return kept(
        f"The base branch of the pull request was changed from `{old}` to `{new}`{by(login)}, and "
        "this run was about the old one, so nothing more was pushed.",
        f"The head is checked against `{new}` by itself.",
        Reason.BASE_CHANGED,
    )


def halt_of(text: str) -> Halt:
    """The ending for a cancelled run; `text` is as `kept` made it, "" where nobody said why."""
    happened, then, reason = [*text.split("\n"), "", "", ""][:3]
    known = Reason(reason) if reason in frozenset(Reason) else Reason.CANCELLED
    return Halt(known, happened or "A person cancelled this run.", then or NEXT)
