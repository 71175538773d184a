"""Every request to GitHub's API: refused before a socket opens unless the table allows it.

A `Client` is bound to one repository, one branch and one phase. It repeats reads, never a write
that GitHub may have seen, and turns answers into the errors of `domain/errors`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol
from urllib.parse import quote

from app.domain.branch import BRANCH
from app.domain.errors import ForbiddenCall, Unavailable, Uncertain
from app.domain.permissions import CALLS, MARK_READY, PHASES, Call, Phase
from app.domain.ports.tokens import Token
from worker.desk.github.refusals import fault, limit_of, limit_words, message_of
from worker.desk.github.wire import Answer, Wire

READ_WAITS = (1.0, 2.0, 4.0)  # before a read is repeated
FRESH = 5.0  # seconds in which GitHub may not know a token or its permissions everywhere
SETTLE_WAITS = (0.5, 1.0, 2.0, 2.0)  # a read right after our own write may still be 404
# What a person waits for after a word: these writes go before others that wait for their turn.
FIRST_SIGNS = frozenset({"react", "react_comment", "react_inline"})
PAGE = 100
PAGES_CAP = 50

_SHA = re.compile(r"[0-9a-f]{40}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NODE = re.compile(r"[A-Za-z0-9+/=_-]{1,200}")
_ENTERPRISE = re.compile(r"/api/v3/?$")


class Pace(Protocol):
    """One installation's way of asking: `clock` gives seconds that only grow, `sleep` waits."""

    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def sleep(self) -> Callable[[float], None]: ...

    def ready(self) -> None:
        """Raise `Limited` while GitHub limits this installation."""

    def wait(self, *, first: bool = False) -> None:
        """Wait for this installation's next turn to write; `Limited` when that is far off. A
        `first` sign to a person goes before other writes that wait."""

    def limited(self, seconds: float, said: bool, why: str) -> None:
        """GitHub limits this installation; `said` is whether it told for how long."""


class Client:
    """The calls of one phase on one repository and one branch; nothing else can be sent."""

    def __init__(
        self,
        token: Token,
        phase: Phase,
        branch: str,
        api_url: str,
        pace: Pace,
        still: Callable[[], None] = lambda: None,
    ) -> None:
        if branch and not BRANCH.fullmatch(branch):
            raise ForbiddenCall(f"{branch!r} is no branch name of ours; nothing can be bound to it")
        self.repository = token.repository
        self.branch = branch
        self.phase = phase
        self._minted = token.minted
        self._pace = pace
        self._still = still  # called before every request: the token is in use
        self._wire = Wire(f"token {token.secret}", api_url)
        # GitHub Enterprise Server has GraphQL beside /api/v3, not below it.
        beside = _ENTERPRISE.sub("/api/graphql", api_url)
        self._graphql = beside if beside != api_url else "/graphql"

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
        self._bound(name, body, ask, path)
        where = self._path(call, path)
        settling = list(SETTLE_WAITS) if settle else []
        while True:
            answer = self._sent(call, where, body, ask, first=name in FIRST_SIGNS)
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
        *,
        first: bool,
    ) -> Answer:
        """One answer after the repeats that cannot do anything twice."""
        waits = iter(READ_WAITS)
        while True:
            self._pace.ready()
            if call.writes:
                self._pace.wait(first=first)
            wait = next(waits, None)
            self._still()
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
                limit = limit_of(answer)
                if limit is not None:
                    self._pace.limited(*limit, limit_words(answer))
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
        if call is CALLS["mark_ready"]:
            return self._graphql
        parts = {name: _segment(name, value) for name, value in given.items()}
        return call.path.format(owner=owner, repo=repo, **parts)

    def _bound(
        self,
        name: str,
        body: Mapping[str, Any] | None,
        ask: Mapping[str, str | int] | None,
        where: Mapping[str, str | int],
    ) -> None:
        """The one ref: nothing is created, moved, opened or looked up under another name. In
        GraphQL the one fixed text, with a node id beside it and nothing else."""
        if name == "mark_ready":
            variables = (body or {}).get("variables")
            node = variables.get("id") if isinstance(variables, dict) else None
            sent = {"query": MARK_READY, "variables": {"id": node}}
            if body != sent or not isinstance(node, str) or not _NODE.fullmatch(node):
                raise ForbiddenCall("Only the fixed text goes to GraphQL; nothing was sent")
        if name == "move_ref" and (not self.branch or where.get("branch") != self.branch):
            raise ForbiddenCall(f"{name}: only {self.branch!r} can be moved; nothing was sent")
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
    if name in ("number", "comment", "check_run", "ruleset"):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return str(value)
    elif isinstance(value, str):
        if name in ("sha", "base", "head") and _SHA.fullmatch(value):
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
