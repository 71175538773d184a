"""Any provider of a model: one request, one complete reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.domain.budget import Usage
from app.domain.errors import Unavailable


@dataclass(frozen=True)
class Request:
    """One call of the model: `system` and `messages` in the Messages API's JSON shape."""

    model: str
    system: str
    messages: Sequence[Mapping[str, Any]]
    max_output: int


@dataclass(frozen=True)
class Reply:
    """A complete reply: content blocks as JSON, stop reason, usage, the provider's request id."""

    content: list[dict[str, Any]]
    stop_reason: str
    usage: Usage
    id: str


class Unfinished(Unavailable):
    """A model call that ended without a reply; `usage` is what its broken streams had used."""

    def __init__(self, message: str, retry_after: float | None, usage: Usage) -> None:
        super().__init__(message, retry_after)
        self.usage = usage


class Model(Protocol):
    """Any provider of a model behind one method."""

    def reply(self, request: Request, look: Callable[[], None]) -> Reply:
        """Stream one reply; `look` is called at least every two seconds and may raise.

        Raises `Unavailable` (overload, limits, connection; after own bounded retries), `Refused`
        (bad key, bad request, spend limit of the account)."""
