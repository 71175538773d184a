"""Why a run was cancelled, as its row keeps it: what happened, and what a person can do then."""

from __future__ import annotations

from app.domain.errors import Halt, Reason

NEXT = "Label the issue again for a new run."
# Words that the comments about a pull request keep; a label is of no use there.
REOPEN = "Open the pull request again, then say `/agent revise` once more."
OVER = "What is merged is not revised: `/agent revise` is for open pull requests."


def kept(happened: str, then: str = NEXT, reason: Reason = Reason.CANCELLED) -> str:
    """All of it as one text for the run's row."""
    return f"{' '.join(happened.split())}\n{' '.join(then.split())}\n{reason}"


def by(login: str) -> str:
    """Who did it, as the end of a sentence; "" where GitHub named nobody."""
    return f" by {login}" if login and login != "ghost" else ""


def pull_over(merged: bool, login: str) -> str:
    """For the run at work on a pull request that was closed."""
    how = "merged" if merged else "closed"
    return kept(f"The pull request was {how}{by(login)}.", OVER if merged else REOPEN)


def retargeted(old: str, new: str, login: str = "") -> str:
    """For the run at work on a pull request that goes into another branch by now."""
    return kept(
        f"The base branch of the pull request was changed from `{old}` to `{new}`{by(login)}, and "
        "this run was about the old one, so nothing more was pushed.",
        f"The head is checked against `{new}` by itself; say `/agent revise` again after that.",
        Reason.BASE_CHANGED,
    )


def halt_of(text: str) -> Halt:
    """The ending for a cancelled run; `text` is as `kept` made it, "" where nobody said why."""
    happened, then, reason = [*text.split("\n"), "", "", ""][:3]
    known = Reason(reason) if reason in frozenset(Reason) else Reason.CANCELLED
    return Halt(known, happened or "A person cancelled this run.", then or NEXT)
