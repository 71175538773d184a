"""`publish: after-approval`: what is shown before a pull request is opened, and who may let it be.

The tree id is what a person approves; nothing else is published after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from app.domain import report
from app.domain.markdown import code, details, fence, inline
from app.domain.record import JournalEntry, Kept
from app.domain.repo_config import Publish
from app.domain.report_facts import BODY_TARGET, Facts
from app.domain.run import Run

SHOWN = 16  # hex digits of the tree id that people copy
LEAST = 12
WAIT = 7 * 86_400  # seconds until work that nobody wanted published is given up
EVIDENCE_CAP = 24_000  # characters of the evidence in the comment; the diff gets the rest
DIFF_LEAST = 2_000
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}")


def held_back(run: Run) -> bool:
    """Whether this run's pull request waits for a person's word."""
    return run.contract is not None and run.contract.config.publish is Publish.AFTER_APPROVAL


def note_of(tree: str) -> dict[str, Any]:
    """The journal note that asks a person."""
    return {"withheld": tree}


def asked(journal: Sequence[JournalEntry], tree: str) -> JournalEntry | None:
    """The note that asked about this very tree, None where nobody was asked."""
    return _noted(journal, "withheld", tree)


def released(journal: Sequence[JournalEntry], tree: str) -> bool:
    """Whether a person let exactly this tree be published."""
    return release(journal, tree) is not None


def release(journal: Sequence[JournalEntry], tree: str) -> JournalEntry | None:
    """The note of the person's word about exactly this tree (`by` whom, in which `event`)."""
    return _noted(journal, "publish", tree)


def _noted(journal: Sequence[JournalEntry], key: str, tree: str) -> JournalEntry | None:
    for entry in reversed(journal):
        if entry.kind is Kept.NOTE and entry.data.get(key) == tree:
            return entry
    return None


def fits(given: str, tree: str) -> bool:
    """Whether a person named this tree: all of its id, or at least its first `LEAST` digits."""
    said = given.strip("`").lower()
    return LEAST <= len(said) <= len(tree) and tree.startswith(said)


def marker(run: str, tree: str) -> str:
    return f"<!-- patchwarrant:publish:{run}:{tree[:SHOWN]} -->"


def words(tree: str) -> str:
    return f"/agent publish {tree[:SHOWN]}"


def shown(run: Run, facts: Facts, diff: str, kept: str, could: str, until_ms: int) -> str:
    """The comment with evidence and diff. `kept` is the SHA-256 of the whole diff's artifact, ""
    where it is too large to be kept; `could` who may say the word; `until_ms` the deadline."""
    tree = run.verdict.tree if run.verdict else ""
    login = run.requester.login
    who = f"@{login} " if _LOGIN.fullmatch(login) and run.requester.kind == "User" else ""
    end = datetime.fromtimestamp(until_ms / 1000, tz=UTC)
    head = [
        f"{marker(run.id, tree)}\n{who}the work is done, and nothing is published yet: this "
        "repository opens a pull request only after a person said so.",
        f"To publish exactly the tree {code(tree)}, comment `{words(tree)}`; to end it, "
        f"`/agent cancel`. **Who could say it:** {could} Without a word the run ends on "
        f"{end:%Y-%m-%d %H:%M} UTC, and the diff is kept. Waiting costs nothing.",
        report.first_screen(run, facts, EVIDENCE_CAP) or "The evidence is too long to be shown.",
    ]
    foot = f"Run {code(run.id)}"
    room = BODY_TARGET - sum(map(len, head)) - len(foot) - 1_000
    return "\n\n".join([*head, _diff(diff, kept, max(DIFF_LEAST, room)), foot])


def _diff(diff: str, kept: str, room: int) -> str:
    if not diff.strip():
        return "The diff is too large to be shown here."
    part = diff if len(diff) <= room else diff[:room].rpartition("\n")[0] or diff[:room]
    note = f"The diff: {len(diff):,} characters"
    if len(part) < len(diff):
        note += f", of which the first {len(part):,} fit here"
    where = f"\n\nWhole diff: artifact {code(kept)}" if kept else ""
    return details(note, fence(part, "diff", exact=True) + where)


def another(tree: str) -> str:
    """What is said to somebody who named another tree."""
    return (
        f"that is not the tree that waits, so nothing was published. What waits is {code(tree)}; "
        f"look at it above, then say `{words(tree)}`."
    )


def already(run: Run, by: str) -> str:
    """What is said to somebody who lets be published what was let; `by` names who did it."""
    tree = code(run.verdict.tree if run.verdict else "")
    if run.publication.pull:
        return (
            f"that was said already, by {code(by)}: #{run.publication.pull} is the pull request "
            f"with the tree {tree}. Nothing more was done."
        )
    if run.halt is not None:
        return (
            f"that was said already, by {code(by)}, and the run ended with {code(run.halt.reason)} "
            "before there was a pull request. `/agent retry` does the work anew."
        )
    return (
        f"that was said already, by {code(by)}: the tree {tree} is being published just now, and "
        "its pull request is shown here as soon as it is there."
    )


def not_by(parts: Sequence[str], could: str) -> str:
    """What is said to somebody who took part."""
    did = inline(" and ".join(parts))
    return f"nothing was published: who {did} cannot let it be published here. {could}"
