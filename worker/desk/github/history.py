"""What GitHub remembers that was done to a pull request: its events, as plain values."""

from __future__ import annotations

from typing import Any

from app.domain.ports.views import PullAct
from worker.desk.github import answers
from worker.desk.github.http import Client


def acts_of(client: Client, pull: int) -> tuple[PullAct, ...]:
    """The acts on a pull request, oldest first; what carries no word is left out. Raises
    `Refused`, `Missing`, `Unavailable`."""
    return tuple(
        _act(item)
        for item in client.pages("issue_events", {}, number=pull)
        if isinstance(answers.part(item, "event"), str)
    )


def _act(item: dict[str, Any]) -> PullAct:
    login = answers.part(item, "requested_reviewer", "login")
    slug = answers.part(item, "requested_team", "slug")
    whom = login if isinstance(login, str) else slug if isinstance(slug, str) else ""
    return PullAct(
        event=answers.text(item, "event"),
        by=str(answers.part(item, "actor", "login") or ""),
        whom=whom,
        team=not isinstance(login, str) and isinstance(slug, str),
    )
