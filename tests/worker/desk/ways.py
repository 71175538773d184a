"""The desk's real ways to a GitHub stand-in, with the token shelf in memory."""

from __future__ import annotations

import secrets
import time

from app.domain.redact import Redactor
from tests.standins.github_world import Acme
from worker.desk.connect import Access
from worker.desk.github.auth import App, load_key
from worker.desk.tokens import Shelf, Tokens
from worker.store.rows import SealedToken
from worker.store.sealing import Seal, new_secret


class MemoryShelf:
    """Where sealed tokens lie."""

    def __init__(self) -> None:
        self.rows: dict[str, SealedToken] = {}

    def keep_token(
        self, name: str, sealed: bytes, expires_ms: int, run: str, until_ms: int = 0
    ) -> None:
        self.rows[name] = SealedToken(name, sealed, expires_ms, run, until_ms)

    def tokens(self) -> list[SealedToken]:
        return list(self.rows.values())

    def drop_token(self, name: str) -> None:
        self.rows.pop(name, None)


def app_of(world: Acme) -> App:
    return App(
        str(world.app.app_id),
        load_key(world.app.private_key),
        world.standin.url,
        time.time,
        time.monotonic,
        time.sleep,
    )


def tokens_of(world: Acme, shelf: Shelf | None = None) -> Tokens:
    seal = Seal(new_secret())
    return Tokens(
        shelf or MemoryShelf(),
        app_of(world),
        seal,
        lambda: secrets.token_hex(4),
        lambda: round(time.time() * 1000),
    )


def access_to(world: Acme, shelf: Shelf | None = None) -> Access:
    tokens = tokens_of(world, shelf)
    app = str(world.app.app_id)
    return Access(tokens, world.standin.url, app, 0, time.monotonic, time.sleep, Redactor().redact)
