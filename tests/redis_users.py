"""A real Redis with the users of `manifests/redis/users.acl`, each with a password of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from tests.redis_server import Server, redis_server
from tests.shared_data import REPOSITORY

FILE = REPOSITORY / "manifests" / "redis" / "users.acl"
# Asked for by the client library and by RQ, which go on without.
OPTIONAL = ("client|setinfo", "client|list")
WHO = ("receiver", "desk", "runner", "operator")


@dataclass(frozen=True)
class Users:
    """The server and its root, which the file does not have."""

    server: Server
    root: Redis

    def url(self, who: str) -> str:
        return f"unix://{who}@{self.server.socket}?password=secret-{who}&db=0"

    def client(self, who: str) -> Redis:
        return Redis.from_url(self.url(who), socket_timeout=10)

    def denied(self) -> set[tuple[str, str, str]]:
        """(user, reason, what) of everything that was refused so far."""
        rows = self.root.acl_log()
        rows = [row for row in rows if row["object"] not in OPTIONAL]
        return {(row["username"], row["reason"], row["object"]) for row in rows}


def with_passwords() -> str:
    """The file with the SHA-256 of `secret-<name>` for each user's `#<name>`."""

    def password(found: re.Match[str]) -> str:
        return f" #{hashlib.sha256(f'secret-{found[1]}'.encode()).hexdigest()} "

    return re.sub(r" #([a-z]+) ", password, FILE.read_text(encoding="utf-8"))


@contextmanager
def users(folder: Path) -> Iterator[Users]:
    place = folder / "users.acl"
    place.write_text("user default on nopass ~* &* +@all\n", encoding="utf-8")
    with redis_server(aclfile=str(place)) as server:
        root = "user root on nopass ~* &* +@all\n"
        place.write_text(with_passwords() + root, encoding="utf-8")
        with server.client() as first:
            first.acl_load()
        with Redis(unix_socket_path=server.socket, username="root", password="x") as client:
            yield Users(server, client)
