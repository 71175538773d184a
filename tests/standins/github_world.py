"""A small ready-made world for tests: one organisation, one repository, one installed app."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
import jwt
from githubkit import AppAuthStrategy, GitHub, TokenAuthStrategy

from tests.standins.github import AppKeys, GitHubStandin
from tests.standins.github.client import new_key

SECRET = "a secret of the test"
REPO = "acme/widgets"
EVERYTHING = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}
FILES = {
    "README.md": "# Widgets\n",
    "src/widgets.py": "def add(a, b):\n    return a - b\n",
    ".github/workflows/ci.yml": "on: push\n",
}


@dataclass(frozen=True)
class Acme:
    """The world: who is who, and where the default branch stands."""

    standin: GitHubStandin
    app: AppKeys
    installation: int
    repo_id: int
    head: str

    def as_app(self) -> GitHub[Any]:
        return client(self.standin.url, AppAuthStrategy(str(self.app.app_id), self.app.private_key))

    def mint(self, **permissions: str) -> str:
        """A token for the repository with exactly these permissions (none given: all)."""
        made = self.as_app()
        told = {"permissions": permissions} if permissions else {}
        answer = made.request(
            "POST",
            f"/app/installations/{self.installation}/access_tokens",
            json={"repository_ids": [self.repo_id]} | told,
        )
        return str(answer.json()["token"])

    def rest(self, **permissions: str) -> httpx.Client:
        """A plain HTTP client with a fresh token of these permissions."""
        return self.with_token(self.mint(**permissions))

    def with_token(self, token: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.standin.url,
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=20,
        )

    def app_client(self) -> httpx.Client:
        """A plain HTTP client that signs as the app."""
        now = int(time.time())
        claims = {"iss": str(self.app.app_id), "iat": now - 60, "exp": now + 540}
        return self.with_token(jwt.encode(claims, self.app.private_key, "RS256"))

    def kit(self, **permissions: str) -> GitHub[Any]:
        return client(self.standin.url, TokenAuthStrategy(self.mint(**permissions)))


def client(url: str, strategy: Any) -> GitHub[Any]:
    """githubkit as the product configures it; keep the reference."""
    return GitHub(
        strategy,
        base_url=url,
        timeout=httpx.Timeout(20, connect=5),
        http_cache=False,
        trust_env=False,
        auto_retry=False,
        follow_redirects=False,
    )


@cache
def keys() -> tuple[str, str]:
    """One RSA key pair for all tests of a process."""
    return new_key()


def acme(standin: GitHubStandin, webhook_url: str | None = None) -> Acme:
    """Build the world: org acme, repo widgets, alice (write), bob (triage), eve (nothing)."""
    standin.create_organisation("acme")
    made = standin.create_repo(REPO, private=True)
    head = standin.push(REPO, "alice", "main", dict(FILES), "First")
    for login, role in (("alice", "write"), ("bob", "triage"), ("eve", "none")):
        standin.set_role(REPO, login, role)
    app = standin.create_app(
        "patchwarrant",
        permissions=EVERYTHING,
        webhook_url=webhook_url,
        webhook_secret=SECRET,
        keys=keys(),
    )
    installation = standin.install("patchwarrant", "acme", [REPO])
    return Acme(standin, app, installation, int(made["id"]), head)
