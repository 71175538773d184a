"""Every request to GitHub's API: refused before a socket opens unless the table allows it.

`Wire` sends one request and repeats nothing. `Client` is bound to one repository, one branch and
one phase; it repeats reads, never a write, and turns answers into the errors of `domain/errors`.
"""

from __future__ import annotations

import json as json_text
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx
from githubkit import GitHub, UnauthAuthStrategy
from githubkit.exception import RequestError, RequestFailed

from app.domain.errors import (
    Exists,
    Fault,
    ForbiddenCall,
    Halt,
    Missing,
    Reason,
    Refused,
    Unavailable,
    Uncertain,
)
from app.domain.permissions import CALLS, PHASES, Call, Phase
from app.domain.ports import Token

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
READ_WAITS = (1.0, 2.0, 4.0)  # before a read is repeated
FRESH = 5.0  # seconds in which GitHub may not know a token or its permissions everywhere
SETTLE_WAITS = (0.5, 1.0, 2.0, 2.0)  # a read right after our own write may still be 404
NO_HINT = 60.0  # seconds to wait for a rate limit that does not say how long
SAID_CAP = 300  # characters of GitHub's own words that we repeat
PAGE = 100
PAGES_CAP = 50

BRANCH = re.compile(r"agent/issue-[1-9][0-9]{0,9}-[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SHA = re.compile(r"[0-9a-f]{40}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
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
    ) -> Answer:
        """One request; any status is an `Answer`.

        Raises `Unavailable` when the request was surely not sent, `Uncertain` when it may have
        been, `ForbiddenCall` for a body that is not valid Unicode.
        """
        headers = {
            "Authorization": self._authorization,
            "Accept": "application/vnd.github+json",
        }
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


def _encoded(body: object) -> bytes | None:
    if body is None:
        return None
    try:
        return json_text.dumps(body, ensure_ascii=False, allow_nan=False).encode()
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


@dataclass
class Pace:
    """Keeps writes at least `gap` seconds apart; one for each installation."""

    gap: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    last: float = field(default=float("-inf"))

    def wait(self) -> None:
        """Sleep until the next write may be sent."""
        pause = self.last + self.gap - self.clock()
        if pause > 0:
            self.sleep(pause)
        self.last = self.clock()


class Client:
    """The calls of one phase on one repository and one branch; nothing else can be sent."""

    def __init__(
        self,
        token: Token,
        phase: Phase,
        branch: str,
        api_url: str,
        pace: Pace,
    ) -> None:
        if branch and not BRANCH.fullmatch(branch):
            raise ForbiddenCall(f"{branch!r} is no branch name of ours; nothing can be bound to it")
        self.repository = token.repository
        self.branch = branch
        self.phase = phase
        self._minted = token.minted
        self._pace = pace
        self._wire = Wire(f"token {token.secret}", api_url)

    def __enter__(self) -> Client:
        self._wire.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wire.__exit__(kind, error, trace)

    def settle(self, seconds: float) -> None:
        """Give GitHub's copies time to agree."""
        self._pace.sleep(seconds)

    def call(
        self,
        name: str,
        *,
        body: Mapping[str, Any] | None = None,
        ask: Mapping[str, str | int] | None = None,
        settle: bool = False,
        **path: str | int,
    ) -> Answer:
        """The call `name` of the table; its 2xx answer, with JSON where it has a body.

        Reads are repeated a few times; writes only where GitHub surely did nothing yet. With
        `settle` a 404 is waited out for some seconds (a read after our own write).
        Raises `ForbiddenCall` before a socket opens, `Missing`, `Exists`, `Refused`,
        `Unavailable`, `Uncertain`, `Halt(INSTALLATION)`.
        """
        call = _allowed(name, self.phase, body, ask)
        self._bound(name, body, ask)
        where = self._path(call, path)
        settling = list(SETTLE_WAITS) if settle else []
        while True:
            answer = self._sent(call, where, body, ask)
            if answer.status == 404 and settling:
                self._pace.sleep(settling.pop(0))
                continue
            if answer.status >= 300:
                raise fault(answer, writes=call.writes, what=f"{call.method} {call.path}")
            if answer.data is None and answer.status != 204:
                raise (Uncertain if call.writes else Unavailable)(
                    f"GitHub answered {call.method} {call.path} with something that is not JSON."
                )
            return answer

    def pages(
        self, name: str, ask: Mapping[str, str | int], key: str = "", **path: Any
    ) -> Iterator[dict[str, Any]]:
        """All items of a list, page after page; with `key` the list is that member of the page."""
        for page in range(1, PAGES_CAP + 1):
            answer = self.call(name, ask={**ask, "per_page": PAGE, "page": page}, **path)
            data = answer.data.get(key) if key and isinstance(answer.data, dict) else answer.data
            items = data if isinstance(data, list) else []
            yield from (item for item in items if isinstance(item, dict))
            if 'rel="next"' not in answer.headers.get("link", ""):
                return

    def _sent(
        self,
        call: Call,
        path: str,
        body: Mapping[str, Any] | None,
        ask: Mapping[str, str | int] | None,
    ) -> Answer:
        """One answer after the repeats that cannot do anything twice."""
        waits = iter(READ_WAITS)
        while True:
            if call.writes:
                self._pace.wait()
            wait = next(waits, None)
            try:
                answer = self._wire.send(call.method, path, body=body, ask=ask)
            except Unavailable:
                if wait is None:
                    raise
            except Uncertain as lost:
                if call.writes:
                    raise
                if wait is None:
                    raise Unavailable(str(lost)) from lost
            else:
                again = self._too_fresh(answer) or (answer.status >= 500 and not call.writes)
                if wait is None or not again:
                    return answer
            self._pace.sleep(wait)

    def _too_fresh(self, answer: Answer) -> bool:
        """A refusal that a token gets in its first seconds only; nothing was done."""
        if self._pace.clock() - self._minted >= FRESH or answer.status not in (401, 403):
            return False
        said = message_of(answer).lower()
        return "bad credentials" in said or "resource not accessible" in said

    def _path(self, call: Call, given: Mapping[str, str | int]) -> str:
        names = set(re.findall(r"{(\w+)}", call.path)) - {"owner", "repo"}
        if set(given) != names:
            raise ForbiddenCall(f"{call.path} takes {sorted(names)}, not {sorted(given)}")
        owner, repo = self.repository.owner, self.repository.name
        if not _LOGIN.fullmatch(owner) or not _plain_name(repo):
            raise ForbiddenCall(f"{owner!r}/{repo!r} is no repository name")
        parts = {name: _segment(name, value) for name, value in given.items()}
        return call.path.format(owner=owner, repo=repo, **parts)

    def _bound(
        self, name: str, body: Mapping[str, Any] | None, ask: Mapping[str, str | int] | None
    ) -> None:
        """The one ref: nothing is created, opened or looked up under another name."""
        asked = {
            "create_ref": ("ref", f"refs/heads/{self.branch}", body),
            "create_pull": ("head", self.branch, body),
            "pulls": ("head", f"{self.repository.owner}:{self.branch}", ask),
        }.get(name)
        if asked is None:
            return
        key, expected, given = asked
        if not self.branch or (given or {}).get(key) != expected:
            raise ForbiddenCall(f"{name}: {key} must be {expected!r}; nothing was sent")


def _allowed(
    name: str,
    phase: Phase,
    body: Mapping[str, Any] | None,
    ask: Mapping[str, str | int] | None,
) -> Call:
    call = CALLS.get(name)
    if call is None:
        raise ForbiddenCall(f"{name!r} is not in the table of calls")
    if name not in PHASES[phase]:
        raise ForbiddenCall(f"{name!r} is not a call of the phase {phase}")
    foreign = (set(body or {}) - call.sends) | (set(ask or {}) - call.asks)
    if foreign:
        raise ForbiddenCall(f"{name!r} never sends {sorted(foreign)}")
    return call


def _segment(name: str, value: str | int) -> str:
    """One path parameter, checked for what it must be and percent-encoded."""
    if name in ("number", "comment", "check_run"):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return str(value)
    elif isinstance(value, str):
        if name == "sha" and _SHA.fullmatch(value):
            return value
        if name == "username" and _LOGIN.fullmatch(value):
            return quote(value, safe="")
        if name == "label" and 0 < len(value) <= 100 and value.isprintable():
            return quote(value, safe="") if value.strip(".") else "%2E" * len(value)
        if name in ("branch", "path") and _clean_path(value):
            return quote(value, safe="/")
    raise ForbiddenCall(f"{value!r} is no {name}; nothing was sent")


def _clean_path(value: str) -> bool:
    parts = value.split("/")
    return len(value) <= 1024 and value.isprintable() and not {"", ".", ".."} & set(parts)


def _plain_name(value: str) -> bool:
    return bool(_NAME.fullmatch(value)) and bool(value.strip("."))


def fault(answer: Answer, *, writes: bool, what: str) -> Fault | Halt:
    """The error that an answer outside 2xx is; `what` names the call for the message."""
    said = message_of(answer)
    told = f"GitHub answered {answer.status} to {what}: {said}"
    low = said.lower()
    if answer.status >= 500:
        return (Uncertain if writes else Unavailable)(told)
    limit = _limited(answer, low)
    if limit is not None:
        return Unavailable(told, limit)
    if answer.status == 401:
        return Unavailable(f"{told} (the token is not accepted any more)")
    if answer.status == 403 and "suspended" in low:
        return Halt(
            Reason.INSTALLATION,
            "The App's installation is suspended, so nothing more can be done here.",
            "Unsuspend it in the owner's settings, then label the issue again.",
        )
    if answer.status in (404, 410):
        return Missing(told, answer.status)
    if answer.status in (301, 302, 307, 308):
        return Missing(f"{told} (it has moved to another address)", answer.status)
    if answer.status == 422 and ("already exists" in low or "already_exists" in low):
        return Exists(told, answer.status)
    return Refused(told, answer.status)


def _limited(answer: Answer, low: str) -> float | None:
    """Seconds to wait for a rate limit, None when the answer is none."""
    if answer.status not in (403, 429):
        return None
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return max(1.0, float(after))
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return max(1.0, _until_reset(answer.headers))
    if answer.status == 429 or after or "rate limit" in low or "abuse detection" in low:
        return NO_HINT
    return None


def _until_reset(headers: Mapping[str, str]) -> float:
    """Seconds from GitHub's own Date to its reset, so that our clock does not matter."""
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
        return float(headers.get("x-ratelimit-reset", "")) - now
    except (ValueError, TypeError):
        return NO_HINT


def message_of(answer: Answer) -> str:
    """GitHub's own words, as data: one line, printable, short."""
    data = answer.data if isinstance(answer.data, dict) else {}
    parts = [data.get("message")]
    errors = data.get("errors")
    for error in errors if isinstance(errors, list) else []:
        parts.append(
            (error.get("message") or error.get("code")) if isinstance(error, dict) else error
        )
    text = "; ".join(part for part in parts if isinstance(part, str) and part)
    line = " ".join(text.split()) or "(no message)"
    shown = "".join(c if unicodedata.category(c)[0] != "C" else "?" for c in line)
    return shown[:SAID_CAP]
