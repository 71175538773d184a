"""What roles leave for each other: sealed tokens, questions, who leads, the pause."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Any

from app.domain.record import (
    INBOX,
    LEAVING,
    PAUSED,
    STORES,
    answer_key,
    leader_key,
    mark_key,
    polled_key,
    request_key,
    tokens_key,
)
from app.domain.scripts.forgetting import LEAVES
from app.domain.scripts.leases import LEAD
from app.domain.scripts.waits import REPLY
from worker.store import codec
from worker.store.calls import Calls
from worker.store.rows import SealedToken

BLOCK = 1.0  # seconds of one blocking read, well below the connection's own limit


class Exchange:
    """The part of the ledger that belongs to no run's lease."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    # -- the operator's brake

    def paused(self) -> str:
        """Who paused this instance, "" when nobody did."""
        by = self.calls.command("GET", PAUSED)
        return by.decode(errors="replace") if by else ""

    def pause(self, by: str) -> None:
        self.calls.command("SET", PAUSED, by or "the operator")

    def resume(self) -> None:
        self.calls.command("DEL", PAUSED)

    # -- tokens, sealed by the desk: what is listed may still be alive and must be revoked

    def keep_token(
        self, name: str, sealed: bytes, expires_ms: int, run: str, until_ms: int = 0
    ) -> None:
        """Shelve a token, or say anew until when (Redis ms) its holder surely uses it."""
        text = base64.b64encode(sealed).decode()
        row = {"sealed": text, "expires": expires_ms, "run": run, "until": until_ms}
        self.calls.command("HSET", tokens_key(), name, codec.encode(row))

    def tokens(self) -> list[SealedToken]:
        """Every token not yet dropped, by name."""
        rows: dict[bytes, bytes] | list[bytes] = self.calls.command("HGETALL", tokens_key())
        if isinstance(rows, list):
            rows = dict(zip(rows[::2], rows[1::2], strict=True))
        found = []
        for name, data in sorted(rows.items()):
            row = codec.mapping(data)
            sealed = base64.b64decode(row["sealed"])
            expires, until = int(row["expires"]), int(row.get("until", 0))
            found.append(SealedToken(name.decode(), sealed, expires, str(row["run"]), until))
        return found

    def drop_token(self, name: str) -> None:
        """After it was revoked, or past its expiry."""
        self.calls.command("HDEL", tokens_key(), name)

    # -- a question from one role to another, with one answer; ids are unguessable, ttl in seconds

    def ask(self, request_id: str, data: Mapping[str, Any], ttl: float) -> None:
        self.calls.command("SET", request_key(request_id), codec.encode(data), "PX", _ms(ttl))

    def take_request(self, request_id: str) -> dict[str, Any] | None:
        """The question, which is gone afterwards; None when it expired or was taken."""
        data = self.calls.command("GETDEL", request_key(request_id))
        return None if data is None else codec.mapping(data)

    def answer_request(self, request_id: str, data: Mapping[str, Any], ttl: float) -> None:
        self.calls.script(REPLY, (answer_key(request_id),), (codec.encode(data), _ms(ttl)))

    def await_answer(self, request_id: str, seconds: float) -> dict[str, Any] | None:
        """The answer, which is gone afterwards; None when none came in time."""
        ends = time.monotonic() + seconds
        while True:
            left = ends - time.monotonic()
            if left <= 0:
                data = self.calls.command("LPOP", answer_key(request_id))
                return None if data is None else codec.mapping(data)
            block = f"{min(left, BLOCK):.3f}"
            found = self.calls.command("BLPOP", answer_key(request_id), block)
            if found:
                return codec.mapping(found[1])

    # -- how far a keeper looked through what is outside

    def mark(self, name: str) -> int:
        """Epoch milliseconds, 0 before the first look."""
        return int(self.calls.command("GET", mark_key(name)) or 0)

    def set_mark(self, name: str, at: int) -> None:
        self.calls.command("SET", mark_key(name), at)

    # -- installations that were removed, and what of them lies elsewhere

    def leaves(self, installation: int) -> None:
        """We were told that an installation is removed; the keeper looks and erases."""
        self.calls.script(LEAVES, (LEAVING,), (installation,))

    def stays(self, installation: int) -> None:
        """It is there after all, or everything of it is gone."""
        self.calls.command("ZREM", LEAVING, installation)

    def leaving(self) -> list[int]:
        """Installations that are said to be removed."""
        return [int(one) for one in self.calls.command("ZRANGE", LEAVING, 0, -1)]

    def stores_to_go(self) -> list[int]:
        """Repositories whose object stores have to go, wherever a runner has one."""
        return [int(one) for one in self.calls.command("ZRANGE", STORES, 0, -1)]

    # -- deliveries that were read from GitHub's own list

    def polled(self, delivery: int) -> bool:
        return self.calls.command("ZSCORE", polled_key(), delivery) is not None

    def set_polled(self, delivery: int, at: int, before: int) -> None:
        """This one is done; those made before `before` are not listed any more and are dropped."""
        self.calls.command("ZADD", polled_key(), at, delivery)
        self.calls.command("ZREMRANGEBYSCORE", polled_key(), "-inf", f"({before}")

    def unheard(self, key: str) -> None:
        """Nobody needs to ring for this event: its wake-up was rung by who wrote it."""
        self.calls.command("LREM", INBOX, 1, key)

    # -- one keeper a role

    def leader(self, role: str, owner: str, ttl_ms: int) -> bool:
        """True when `owner` leads now, for `ttl_ms` more."""
        return bool(self.calls.script(LEAD, (leader_key(role),), (owner, ttl_ms)))


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
