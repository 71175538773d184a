"""Everything that exists in one running stand-in, and how it is found."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import secrets
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.standins.github.faults import Fault
from tests.standins.github.refusals import Refusal, not_found
from tests.standins.github.state import (
    Account,
    Actor,
    App,
    Delivery,
    Installation,
    Issue,
    Repo,
    Token,
)

Json = dict[str, Any]


@dataclass
class World:
    """The whole memory. `url` is where this stand-in listens, `root` where the repositories lie."""

    url: str
    root: Path
    apps: dict[int, App] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    repos: dict[int, Repo] = field(default_factory=dict)
    deliveries: list[Delivery] = field(default_factory=list)
    waiting: deque[Delivery] = field(default_factory=deque)
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    carrying: int = 0
    log: list[Json] = field(default_factory=list)
    keep_answers: bool = False
    """Whether the log holds what was answered too."""
    faults: list[Fault] = field(default_factory=list)
    lag: dict[str, int] = field(default_factory=dict)
    manifests: dict[str, Json] = field(default_factory=dict)
    former: dict[str, int] = field(default_factory=dict)
    """Lower-case full names that repositories had before, with their ids."""
    used: dict[str, int] = field(default_factory=dict)
    signing: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(3_000_000_001))
    _small: itertools.count[int] = field(default_factory=lambda: itertools.count(410_001))

    def next_id(self) -> int:
        """An id above 2^31, so that nobody may keep it in 32 bits."""
        return next(self._ids)

    def small_id(self) -> int:
        """An id of an app, an installation or an account."""
        return next(self._small)

    def now(self) -> datetime:
        """Whole seconds, as GitHub gives them."""
        return datetime.now(UTC).replace(microsecond=0)

    def account(self, login: str, kind: str = "User") -> Account:
        """The account of that login, made on the first mention."""
        known = self.accounts.get(login.lower())
        if known is None:
            known = Account(self.small_id(), login, kind)
            self.accounts[login.lower()] = known
        return known

    def known(self, login: str) -> Account:
        """The account of that login; 404 when nobody has it."""
        found = self.accounts.get(login.lower())
        if found is None:
            raise Refusal(404, "Not Found")
        return found

    def person(self, login: str) -> Actor:
        return Actor(self.account(login))

    def repo(self, owner: str, name: str) -> Repo:
        wanted = f"{owner}/{name}".lower()
        for repo in self.repos.values():
            if repo.full_name.lower() == wanted:
                return repo
        if wanted in self.former:
            moved = f"{self.url}/repositories/{self.former[wanted]}"
            raise Refusal(301, "Moved Permanently", headers={"Location": moved})
        raise not_found()

    def named(self, full_name: str) -> Repo:
        """The repository "owner/name"; 404 when there is none."""
        owner, _, name = full_name.partition("/")
        return self.repo(owner, name)

    def issue(self, full_name: str, number: int) -> Issue:
        issue = self.named(full_name).issues.get(number)
        if issue is None:
            raise not_found()
        return issue

    def app(self, slug_or_id: str | int) -> App:
        for app in self.apps.values():
            if slug_or_id in (app.id, str(app.id), app.slug):
                return app
        raise Refusal(404, f"no app {slug_or_id!r}; create it first")

    def installation_of(self, app: App, repo: Repo) -> Installation | None:
        for found in self.installations.values():
            if found.app.id == app.id and repo.id in found.repositories:
                return found
        return None

    def token(self, text: str) -> Token | None:
        return self.tokens.get(hashlib.sha256(text.encode(errors="replace")).hexdigest())

    def touch(self, issue: Issue) -> None:
        """Move `updated_at` on by at least a second: two acts never share one in this world."""
        issue.updated_at = max(self.now(), issue.updated_at + timedelta(seconds=1))


def stamp(moment: datetime | None) -> str | None:
    """GitHub's spelling of a moment: 2026-01-31T12:00:00Z."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
