"""Looks over an installation: its repositories, and in one of them the issues with our label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.domain.event import Repository
from app.domain.overdue import Labelled
from worker.desk.github import answers
from worker.desk.github.auth import App
from worker.desk.github.http import Client

PAGE = 100
PAGES_CAP = 50


@dataclass(frozen=True)
class Place:
    """An installation by id, the account that it is on, and whether it may work."""

    id: int
    owner: str
    suspended: bool


def installations(app: App) -> Iterator[Place]:
    """All installations of the App."""
    for page in range(1, PAGES_CAP + 1):
        answer = app.call("GET", "/app/installations", ask={"per_page": PAGE, "page": page})
        for item in answer.data if isinstance(answer.data, list) else []:
            owner = str(answers.part(item, "account", "login") or "")
            suspended = answers.part(item, "suspended_at") is not None
            yield Place(answers.number(item, "id"), owner, suspended)
        if 'rel="next"' not in answer.headers.get("link", ""):
            return


def repositories(app: App, secret: str) -> Iterator[Repository]:
    """The repositories that a token of a whole installation sees; archived ones are left out."""
    for page in range(1, PAGES_CAP + 1):
        ask = {"per_page": PAGE, "page": page}
        answer = app.as_installation(secret, "GET", "/installation/repositories", ask)
        for item in answers.items(answer.data, "repositories"):
            owner, name = answers.text(item, "owner", "login"), answers.text(item, "name")
            if not answers.flag(item, "archived"):
                yield Repository(answers.number(item, "id"), owner, name)
        if 'rel="next"' not in answer.headers.get("link", ""):
            return


def labelled(client: Client, installation: int, label: str) -> Iterator[Labelled]:
    """The open issues of the client's repository that carry `label`."""
    for item in client.pages("labelled", {"labels": label, "state": "open"}):
        view = answers.issue_view(item)
        if view.is_pull:
            continue
        shown = next(
            (
                one
                for one in answers.items(item, "labels")
                if str(answers.part(one, "name")).casefold() == label.casefold()
            ),
            None,
        )
        if shown is not None:
            yield Labelled(
                repository=client.repository,
                installation=installation,
                issue=view.number,
                title=view.title,
                body=view.body,
                author=view.author,
                updated_at=view.updated_at,
                label=answers.text(shown, "name"),
                label_id=answers.number(shown, "id"),
            )


def act_of(client: Client, found: Labelled) -> Labelled:
    """The issue with the newest act that put the label on, as far as GitHub tells it."""
    for item in client.pages("issue_events", {}, number=found.issue):
        name = answers.part(item, "label", "name")
        if answers.part(item, "event") != "labeled" or not isinstance(name, str):
            continue
        act = answers.part(item, "id")
        if name.casefold() == found.label.casefold() and type(act) is int and act > found.act:
            by = answers.person(answers.part(item, "actor"))
            at = str(answers.part(item, "created_at") or "")
            found = replace(found, act=act, by=by, at=at)
    return found
