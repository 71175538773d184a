"""Plan approval: the hash that a person approves, and the comment that asks for it.

The hash covers plan, request and base commit, so that whatever changes asks again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from app.domain.contract import Contract
from app.domain.markdown import bullets, code, inline
from app.domain.plan import Plan
from app.domain.record import JournalEntry, Kept
from app.domain.report_parts import dollars, seconds
from app.domain.run import Run

SHOWN = 16  # hex digits of the hash that people copy
LEAST = 12
WAIT = 7 * 86_400  # seconds until a plan that nobody approved is given up
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}")


def plan_hash(plan: Plan, contract: Contract) -> str:
    """SHA-256 in hex over all of the plan, the request as snapshot, and the base commit."""
    whole = {
        "plan": asdict(plan),
        "request": [contract.request.digest, contract.request.title, contract.request.body],
        "criteria": [[one.text, one.source] for one in contract.criteria],
        "base": contract.base_commit,
    }
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def note_of(plan: Plan, digest: str) -> dict[str, Any]:
    """The journal note that asks a person."""
    return {"plan_hash": digest, "shown": asdict(plan)}


def pending(journal: Sequence[JournalEntry]) -> JournalEntry | None:
    """The newest note that asks for an approval, unless that very plan was approved."""
    done = approved(journal)
    for entry in reversed(journal):
        if entry.kind is Kept.NOTE and isinstance(entry.data.get("plan_hash"), str):
            return None if entry.data["plan_hash"] in done else entry
    return None


def approved(journal: Sequence[JournalEntry]) -> frozenset[str]:
    """The hashes that people approved."""
    return frozenset(
        str(entry.data["approved"])
        for entry in journal
        if entry.kind is Kept.NOTE and "approved" in entry.data
    )


def fits(given: str, digest: str) -> bool:
    """Whether a person named this hash: all of it, or at least its first `LEAST` digits."""
    said = given.strip("`").lower()
    return LEAST <= len(said) <= len(digest) and digest.startswith(said)


def marker(run: str, digest: str) -> str:
    return f"<!-- patchwarrant:plan:{run}:{digest[:SHOWN]} -->"


def asked(run: Run, entry: JournalEntry) -> str:
    """The comment with the plan and the words that approve it."""
    digest, plan = str(entry.data["plan_hash"]), entry.data["shown"]
    login = run.requester.login
    who = f"@{login} " if _LOGIN.fullmatch(login) and run.requester.kind == "User" else ""
    files = [
        f"{code(str(one['path']))} ({one['action']}, about {one['lines']} lines): "
        f"{inline(str(one['why']), 300)}"
        for one in plan["files"]
    ]
    tests = [code(str(one)) for one in (*plan["tests_must_pass"], *plan["tests_to_write"])]
    base = code(run.contract.base_commit[:12]) if run.contract else "the base"
    until = ""
    if run.wait is not None:
        end = datetime.fromtimestamp(run.wait.until / 1000, tz=UTC)
        until = f" Without an approval the run ends on {end:%Y-%m-%d %H:%M} UTC."
    parts = [
        f"{marker(run.id, digest)}\n{who}this is the plan, on base {base}. Nothing is edited "
        "before somebody with write access approves it.",
        f"**In the model's words:** {inline(str(plan['summary']), 1_000)}",
        f"**Files that may change**\n\n{bullets(files, 20)}",
    ]
    if run.large and run.limits is not None:
        parts.append(
            f"This is a run of class large ({len(plan['files'])} files): it has its own queue, and "
            f"may use {dollars(run.limits.dollars)}, {run.limits.calls} model calls and "
            f"{seconds(run.limits.wall * 1000)} of work."
        )
    if tests:
        parts.append(f"**Tests**\n\n{bullets(tests, 20)}")
    if plan["amendments"]:
        parts.append(f"This is the plan after {len(plan['amendments'])} amendment(s).")
    parts.append(
        f"To go on, comment `/agent approve {digest[:SHOWN]}`; to end it, `/agent cancel`.{until} "
        "Waiting costs nothing."
    )
    return "\n\n".join(parts)
