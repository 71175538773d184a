"""The agent's questions to the person who asked for the change, as one comment (A31)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from app.domain.markdown import inline
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}")
WORDS = 600  # characters of one question or default


def pending(journal: Sequence[JournalEntry]) -> JournalEntry | None:
    """The newest note with questions that no later note answers."""
    for entry in reversed(journal):
        if entry.kind is Kept.NOTE and "answer" in entry.data:
            return None
        if entry.kind is Kept.NOTE and isinstance(entry.data.get("questions"), list):
            return entry
    return None


def marker(run: str, entry: str) -> str:
    """How the comment with these questions is found again; `entry` is the journal entry's id."""
    return f"<!-- patchwarrant:questions:{run}:{entry} -->"


def asked(run: Run, entry: JournalEntry) -> str:
    """The comment: each question with its default, and how and until when to answer."""
    login = run.requester.login
    who = f"@{login} " if _LOGIN.fullmatch(login) and run.requester.kind == "User" else ""
    lines = [
        f"{number}. {inline(str(one.get('question', '')), WORDS)}  \n"
        f"   Without an answer: {inline(str(one.get('default', '')), WORDS)}"
        for number, one in enumerate(entry.data["questions"], 1)
        if isinstance(one, dict)
    ]
    until = ""
    if run.wait is not None:
        end = datetime.fromtimestamp(run.wait.until / 1000, tz=UTC)
        until = f" From {end:%Y-%m-%d %H:%M} UTC on the defaults hold."
    return "\n\n".join(
        [
            f"{marker(run.id, entry.id)}\n{who}Before anything is changed, the model asks:",
            "\n".join(lines),
            "To answer, comment `/agent fix` followed by your answers, or write them into the "
            "issue's text and set the label `agent:fix` again; the "
            f"run goes on from there.{until} Waiting costs nothing.",
        ]
    )
