"""One REST call: what was asked, by whom, and the ways to read it and to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.standins.github.auth import allows, reaches
from tests.standins.github.refusals import (
    Refusal,
    bad_credentials,
    invalid,
    not_accessible,
    not_found,
)
from tests.standins.github.state import Actor, App, Issue, Repo, Token
from tests.standins.github.world import World

# Of what moved to where the App may not look, and of what is deleted.
GONE = {404: "Not Found", 410: "This issue was deleted"}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, JSON body (None = none; a str goes out as text) and extra headers."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = "application/json; charset=utf-8"


@dataclass
class Call:
    """A request whose credentials have been looked at; exactly one of app and token is there."""

    world: World
    operation: Operation
    path: str
    params: Mapping[str, Any]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    app: App | None = None
    token: Token | None = None

    @property
    def repo(self) -> Repo:
        """The repository of the path, if the token reaches it; else 404."""
        repo = self.world.repo(str(self.params["owner"]), str(self.params["repo"]))
        if self.token is not None and not reaches(self.token, repo.id):
            raise not_found()
        return repo

    @property
    def actor(self) -> Actor:
        app = self.app if self.token is None else self.token.installation.app
        if app is None:
            raise bad_credentials()
        return Actor(app.bot, app)

    @property
    def caller(self) -> Token:
        if self.token is None:
            raise bad_credentials()
        return self.token

    @property
    def asking(self) -> App:
        if self.app is None:
            raise bad_credentials()
        return self.app

    def issue(self, name: str = "issue_number") -> Issue:
        """The issue or pull request of the path. A plain issue needs the issues permission
        even where pull_requests is an alternative."""
        issue = self.repo.issues.get(int(self.params[name]))
        gone = self.repo.gone.get(int(self.params[name]))
        if gone is not None:
            raise Refusal(gone, GONE[gone])
        if issue is None:
            raise not_found()
        self.check_thread(issue)
        return issue

    def pull(self) -> Issue:
        issue = self.repo.issues.get(int(self.params["pull_number"]))
        if issue is None or issue.pull is None:
            raise not_found()
        return issue

    def check_thread(self, issue: Issue) -> None:
        if issue.pull is None and self.token is not None:
            for_issues = tuple(n for n in self.operation.needs if n.startswith("issues:"))
            if for_issues and not allows(self.token, for_issues):
                raise not_accessible(for_issues)

    # --- the body

    def text(self, name: str, default: str | None = None) -> str:
        """A string field; without a default it must be there (422)."""
        value = self.body.get(name)
        if value is None:
            if default is None:
                raise invalid(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
            return default
        if not isinstance(value, str):
            raise invalid(
                f"Invalid request.\n\nFor 'properties/{name}', {value!r:.80} is not a string."
            )
        return value

    def maybe_text(self, name: str) -> str | None:
        return None if self.body.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            raise invalid(
                f"Invalid request.\n\nFor 'properties/{name}', {value!r:.80} is not a boolean."
            )
        return bool(value)

    def texts(self, name: str) -> list[str]:
        value = self.body.get(name, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise invalid(
                f"Invalid request.\n\nFor 'properties/{name}', {value!r:.80} is not an array "
                "of strings."
            )
        return value

    def record(self, name: str) -> Json | None:
        value = self.body.get(name)
        if value is not None and not isinstance(value, dict):
            raise invalid(
                f"Invalid request.\n\nFor 'properties/{name}', {value!r:.80} is not an object."
            )
        return value

    # --- the answer

    def number(self, name: str, default: int, low: int, high: int) -> int:
        try:
            return min(high, max(low, int(self.query.get(name, default))))
        except ValueError:
            return default

    def paged(self, items: Sequence[Any], show: Callable[[Any], Any], wrap: str = "") -> Answer:
        """One page with Link headers; `wrap` names the list inside an object with a count."""
        size = self.number("per_page", 30, 1, 100)
        page = self.number("page", 1, 1, 1_000_000)
        last = max(1, -(-len(items) // size))
        shown = [show(item) for item in items[(page - 1) * size : page * size]]
        links = self.links(page, last)
        headers = {"Link": links} if links else {}
        body: Any = {"total_count": len(items), wrap: shown} if wrap else shown
        return Answer(200, body, headers)

    def links(self, page: int, last: int) -> str:
        """The Link header of a page among `last` pages; empty for a single one."""
        wanted: dict[str, int] = {}
        if page > 1:
            wanted["prev"] = min(page - 1, last)
        if page < last:
            wanted |= {"next": page + 1, "last": last}
        if page > 1:
            wanted["first"] = 1
        return ", ".join(f'<{self.url_with(page=n)}>; rel="{rel}"' for rel, n in wanted.items())

    def url_with(self, **changed: object) -> str:
        query = dict(self.query) | {key: str(value) for key, value in changed.items()}
        return f"{self.world.url}{self.path}?{urlencode(query)}"


@dataclass(frozen=True, slots=True)
class Operation:
    """A line of the API: who may call it, with which permission (any of `needs`), and what it does.

    `path` is in GitHub's spelling; a parameter named in `deep` may hold slashes.
    """

    method: str
    path: str
    run: Callable[[Call], Answer]
    needs: tuple[str, ...] = ()
    actor: str = "token"
    deep: tuple[str, ...] = ()


def unless_empty(repo: Repo) -> None:
    """Git data calls say 409 for a repository without a commit."""
    if repo.store.is_empty():
        raise Refusal(409, "Git Repository is empty.")
