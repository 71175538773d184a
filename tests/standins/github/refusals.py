"""What the stand-in says instead of doing it: one exception that becomes GitHub's JSON error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
DOCS = "https://docs.github.com/rest"


class Refusal(Exception):
    """An answer with an error status. `errors` is GitHub's list of field errors."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: list[Json] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = dict(headers or {})

    def body(self) -> Json:
        said: Json = {"message": self.message}
        if self.errors is not None:
            said["errors"] = self.errors
        return said | {"documentation_url": DOCS, "status": str(self.status)}


def not_found() -> Refusal:
    return Refusal(404, "Not Found")


def bad_credentials() -> Refusal:
    return Refusal(401, "Bad credentials")


def not_accessible(accepted: tuple[str, ...] = ()) -> Refusal:
    """The token lacks a permission; the header names what would have been enough."""
    wanted = "; ".join(f"{name}={level}" for name, _, level in (a.partition(":") for a in accepted))
    return Refusal(
        403,
        "Resource not accessible by integration",
        headers={"X-Accepted-GitHub-Permissions": wanted} if wanted else None,
    )


def invalid(message: str) -> Refusal:
    """A 422 of the git data calls: the message says it all."""
    return Refusal(422, message)


def failed(resource: str, *, field: str = "", code: str = "custom", message: str = "") -> Refusal:
    """A 422 "Validation Failed" with one entry in `errors`."""
    entry: Json = {"resource": resource, "code": code}
    if field:
        entry["field"] = field
    if message:
        entry["message"] = message
    return Refusal(422, "Validation Failed", errors=[entry])
