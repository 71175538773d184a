"""One connection to GitHub's API: sends one request as it is told, and repeats nothing."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

import httpx
from githubkit import GitHub, UnauthAuthStrategy
from githubkit.exception import RequestError, RequestFailed

from app.domain.errors import Fault, ForbiddenCall, Unavailable, Uncertain

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    httpx.LocalProtocolError,
)


@dataclass(frozen=True)
class Answer:
    """What came back: `data` is the decoded JSON, None where there is none; it is never trusted."""

    status: int
    data: Any
    headers: Mapping[str, str]


class Wire:
    """One connection to the API under one Authorization header; sends, and repeats nothing."""

    def __init__(self, authorization: str, api_url: str) -> None:
        self._authorization = authorization
        self._github = GitHub(
            UnauthAuthStrategy(),
            base_url=api_url,
            timeout=TIMEOUT,
            ssl_verify=_trust(),
            http_cache=False,
            trust_env=False,
            follow_redirects=False,
            auto_retry=False,
            user_agent="patchwarrant",
        )
        self._open = ExitStack()

    def __enter__(self) -> Wire:
        self._open.enter_context(self._github)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        ask: Mapping[str, str | int] | None = None,
        known: str = "",
    ) -> Answer:
        """One request; any status is an `Answer`. `known` is the ETag of an answer that one has.

        Raises `Unavailable` when the request was surely not sent, `Uncertain` when it may have
        been, `ForbiddenCall` for a body that is not valid Unicode.
        """
        headers = {
            "Authorization": self._authorization,
            "Accept": "application/vnd.github+json",
        }
        if known:
            headers["If-None-Match"] = known
        content = _encoded(body)
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            answer = self._github.request(
                method, path, params=dict(ask or {}), content=content, headers=headers
            )
        except RequestFailed as failed:
            raw = failed.response.raw_response
        except RequestError as error:
            raise _lost(error.exc) from None
        except ValueError:  # a `retry-after` that githubkit cannot read
            return Answer(429, {"message": "rate limited, with an unreadable retry-after"}, {})
        else:
            raw = answer.raw_response
        return Answer(raw.status_code, _decoded(raw), dict(raw.headers))


@cache
def _trust() -> ssl.SSLContext:
    """The authorities that httpx trusts, read once a process: that takes longer than a request."""
    return httpx.create_ssl_context(trust_env=False)


def _encoded(body: object) -> bytes | None:
    if body is None:
        return None
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (UnicodeEncodeError, ValueError):
        raise ForbiddenCall("A text for GitHub is not valid Unicode; it was not sent.") from None


def _decoded(raw: httpx.Response) -> Any:
    if not raw.content:
        return None
    try:
        return raw.json()
    except ValueError:
        return None


def _lost(error: Exception) -> Fault:
    kind = type(error).__name__
    if isinstance(error, _NOT_SENT):
        return Unavailable(f"GitHub cannot be reached ({kind}); nothing was sent.")
    return Uncertain(f"The connection to GitHub broke before an answer came ({kind}).")
