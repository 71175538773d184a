"""All that the server remembers: what it plays, what it was asked, what is to go wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.standins.anthropic.answers import ApiError, Play
from tests.standins.anthropic.conversation import Conversation
from tests.standins.anthropic.faults import Fault
from tests.standins.anthropic.player import Player
from tests.standins.anthropic.script import Script
from tests.standins.anthropic.usage import PromptCache


@dataclass
class State:
    """`latency` in seconds before the first byte, `pause` in seconds between events."""

    source: Script | Player | None = None
    key: str = ""  # "": any key that is not "invalid" is good
    latency: float = 0.0
    pause: float = 0.0
    piece: int = 400
    sent: int = 0
    faults: list[Fault] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    exchanges: list[dict[str, Any]] = field(default_factory=list)
    cache: PromptCache = field(default_factory=PromptCache)

    def reset(self) -> None:
        """Forget requests, faults, cache and latency; what is played stays."""
        self.sent = 0
        self.latency = self.pause = 0.0
        self.faults.clear()
        self.requests.clear()
        self.exchanges.clear()
        self.cache.clear()

    def play(self, told: Conversation) -> Play:
        if self.source is None:
            raise ApiError(400, "the stand-in has no script, patch or recording to play")
        return self.source.play(told)

    def fault(self, number: int) -> Fault | None:
        return next((fault for fault in self.faults if fault.hits(number)), None)

    def authorize(self, headers: Mapping[str, str]) -> None:
        """Raise 401 unless a Bearer token or `x-api-key` is there and good."""
        if not self._good(credential(headers)):
            raise ApiError(401, "invalid x-api-key")
        if "anthropic-version" not in headers:
            raise ApiError(400, "anthropic-version: header is required")

    def _good(self, given: str) -> bool:
        if self.key:
            return given == self.key
        return given not in ("", "invalid")


def credential(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def fingerprint(headers: Mapping[str, str]) -> str:
    """What is kept of a credential: its SHA-256, "" without one."""
    given = credential(headers)
    return hashlib.sha256(given.encode()).hexdigest() if given else ""
