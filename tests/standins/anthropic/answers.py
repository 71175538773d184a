"""The shapes that everything here shares: an API error, a reply to play, a model of the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class ApiError(Exception):
    """An answer in the API's error shape; `retry_after` in seconds becomes a header."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = KINDS.get(status, "api_error")
        self.message = message
        self.retry_after = retry_after

    def body(self, request_id: str) -> dict[str, Any]:
        return {
            "type": "error",
            "error": {"type": self.kind, "message": self.message},
            "request_id": request_id,
        }


@dataclass(frozen=True)
class Play:
    """What to answer: content blocks as in a Message, a stop reason, usage fields to override."""

    content: list[dict[str, Any]]
    stop_reason: str = ""  # "": tool_use when a block is one, else end_turn
    usage: Mapping[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        if self.stop_reason:
            return self.stop_reason
        used = any(block["type"] == "tool_use" for block in self.content)
        return "tool_use" if used else "end_turn"


@dataclass(frozen=True)
class Model:
    """One row of `GET /v1/models`."""

    id: str
    context: int
    max_output: int

    @property
    def strict(self) -> bool:
        """The 5.5 models take no forced tool, no prefill and no thinking budget."""
        return self.id.endswith("-5-5")

    def row(self) -> dict[str, Any]:
        return {
            "type": "model",
            "id": self.id,
            "display_name": self.id.replace("-", " ").title(),
            "created_at": "2026-09-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.context,
            "max_tokens": self.max_output,
        }


MODELS = {
    model.id: model
    for model in (
        Model("claude-sonnet-5-5", 1_000_000, 128_000),
        Model("claude-opus-5-5", 1_000_000, 128_000),
        Model("claude-haiku-5-5", 1_000_000, 64_000),
        Model("claude-opus-5", 200_000, 64_000),
        Model("claude-sonnet-5", 200_000, 64_000),
    )
}
