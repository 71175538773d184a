"""Fail points by name, hung on the product's choke points from outside; the product knows none.

Everything that the roles do to the outside goes through a handful of methods: a command to Redis,
a request to GitHub, to the model, to the sandbox or to the git server. `watch` wraps these, in the
process that calls it, and tells a hook before and after each effect, so the list of points is read
off a recorded run. What only reads is no effect and has no point. A shape test holds the choke
points closed: no other module may open a connection.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from app.domain import record, scripts
from app.domain.scripts.pieces import digest
from app.domain.state import Role
from worker.carry import Carrier
from worker.desk.approval import ApprovalDesk
from worker.desk.github.wire import Wire
from worker.desk.readying import Readying
from worker.queue import Bell
from worker.runner.boxes import SandboxClient
from worker.runner.model.client import AnthropicModel
from worker.runner.repository import fetching
from worker.store.calls import Calls

BEFORE, AFTER = "before", "after"
LOOK, READY = "look", "ready"  # after the run: at the gate, and what follows once it has passed
# Scripts and commands that change nothing, or only who leads, how long a lease lasts and when the
# next write may be sent.
READS = frozenset({"BEAT", "DUE", "LEAD", "SPENT", "PACE"})
_WRITES = {
    "SET",
    "HSET",
    "HDEL",
    "GETDEL",
    "DEL",
    "BLPOP",
    "LPOP",
    "EXPIRE",
    "ZADD",
    "ZREM",
    "SADD",
}
_SCRIPTS = {
    lua: name
    for module in iter_modules(scripts.__path__, f"{scripts.__name__}.")
    for name, lua in vars(import_module(module.name)).items()
    if name.isupper() and isinstance(lua, str)
}
_BY_DIGEST = {digest(lua): name for lua, name in _SCRIPTS.items()}
_KEYS = {
    record.tokens_key(): "token",
    "pw:request": "request",
    "pw:answer": "answer",
    "pw:taken-off": "taken-off",
    "pw:edited": "edited",
    "pw:event": "event",
    record.APPROVALS: "looks",
    "pw:approvals-of": "looks-of",
    "pw:approval": "approval",
    "pw:ready": "ready",
}


@dataclass(frozen=True)
class Point:
    """One moment of one effect: in which state, which effect, the how many-th of its kind."""

    state: str
    effect: str
    nth: int
    moment: str

    def __str__(self) -> str:
        return f"{self.state}/{self.effect}#{self.nth}/{self.moment}"


Hook = Callable[[Point], None]


@dataclass
class Watch:
    """Where the process is. Only the thread that works is watched, not the lease's heart."""

    hook: Hook
    state: str = "idle"
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    thread: int = field(default_factory=threading.get_ident)

    def around(self, effect: str, act: Callable[[], Any]) -> Any:
        """Do `act`, telling the hook before it and after it."""
        if not effect or threading.get_ident() != self.thread:
            return act()
        state = self.state
        self.counts[state, effect] += 1
        nth = self.counts[state, effect]
        self.hook(Point(state, effect, nth, BEFORE))
        found = act()
        self.hook(Point(state, effect, nth, AFTER))
        return found


def watch(hook: Hook) -> Watch:
    """Wrap every choke point of this process. There is no way back: call it in a forked child."""
    seen = Watch(hook)
    _wrap(seen, Calls, "_send", lambda _self, *words: redis_effect(words))
    _wrap(seen, Wire, "send", lambda _self, method, path, **_: github_effect(method, path))
    _wrap(seen, AnthropicModel, "_once", lambda *_: "model.reply")
    _wrap(seen, SandboxClient, "ask", lambda _self, path, *_: sandbox_effect(path))
    _wrap(seen, SandboxClient, "stop", lambda *_: "sandbox.stop")
    _wrap(seen, SandboxClient, "forget", lambda *_: "sandbox.close")
    _wrap(seen, fetching, "fetch", lambda *_: "git.fetch")
    rung = lambda _self, role, job, *_, **__: f"bell.{role}.{job.rpartition('.')[2]}"  # noqa: E731
    _wrap(seen, Bell, "ring", rung)
    _stated(seen)
    return seen


def _wrap(seen: Watch, owner: Any, name: str, effect: Callable[..., str]) -> None:
    inner = getattr(owner, name)

    def outer(*given: Any, **named: Any) -> Any:
        said = effect(*given, **named)
        return seen.around(said, lambda: inner(*given, **named))

    setattr(owner, name, outer)


def _stated(seen: Watch) -> None:
    """Points know the state of the run that is carried, by what `carry` itself steps through, and
    what is done about a pull request after its run."""
    _during(seen, ApprovalDesk, "_alone", LOOK)
    _during(seen, Readying, "act", READY)
    step, carry = Carrier._step, Carrier.carry

    def stepping(self: Carrier, run: Any, crew: Any) -> Any:
        seen.state = str(run.state)
        return step(self, run, crew)

    def carrying(self: Carrier, run_id: str) -> None:
        seen.state = f"claim-{self.role}"
        try:
            carry(self, run_id)
        finally:
            seen.state = "idle"

    Carrier._step = stepping  # type: ignore[method-assign]
    Carrier.carry = carrying  # type: ignore[method-assign]


def _during(seen: Watch, owner: Any, name: str, state: str) -> None:
    inner = getattr(owner, name)

    def outer(*given: Any) -> Any:
        before, seen.state = seen.state, state
        try:
            return inner(*given)
        finally:
            seen.state = before

    setattr(owner, name, outer)


def redis_effect(words: Sequence[Any]) -> str:
    """The name of a command's effect, "" for what only reads."""
    word = str(words[0])
    if word not in ("EVALSHA", "EVAL"):
        return _plain(word, words)
    name = (_BY_DIGEST if word == "EVALSHA" else _SCRIPTS).get(str(words[1]), "script")
    if name in READS:
        return ""
    rest = words[3 + int(words[2]) :]
    if name == "NOTE":
        return f"journal.{rest[2]}{_which(rest[3])}"
    if name == "PAID":
        return "journal.model"
    if name == "INTENT":
        return f"intent.{str(rest[2]).partition(':')[0]}.{'done' if rest[4] else 'before'}"
    if name == "SAVE":
        return f"ledger.save.{rest[4]}"
    return f"ledger.{name.lower().replace('_', '-')}"


def _plain(word: str, words: Sequence[Any]) -> str:
    if word not in _WRITES:
        return ""
    key = str(words[1])
    named = _KEYS.get(key) or _KEYS.get(":".join(key.split(":")[:2]), "other")
    if named == "ready":  # each of its fields is a step of its own
        named = ".".join(["ready", str(words[2]), *([str(words[3])] if words[2] != "said" else [])])
    return f"redis.{word.lower()}.{named}"


def _which(text: Any) -> str:
    data = json.loads(text)
    for name in ("agent", "sentinel", "untold", "drawn", "answer"):
        if name in data:
            return f".{data[name]}" if name == "agent" else f".{name}"
    return ""


_NUMBER = re.compile(r"/\d+(?=/|$)")
_SHA = re.compile(r"/[0-9a-f]{40}(?=/|$)")
_LABEL = re.compile(r"/labels/[^/]+$")
_REF = re.compile(r"/git/refs/heads/.+$")


def github_effect(method: str, path: str) -> str:
    """`github.POST /git/refs` and so on; "" for what only reads."""
    if method == "GET":
        return ""
    short = re.sub(r"^/repos/[^/]+/[^/]+", "", path.partition("?")[0])
    short = _REF.sub("/git/refs/heads/*", short)
    short = _LABEL.sub("/labels/*", _SHA.sub("/*", _NUMBER.sub("/*", short)))
    return f"github.{method} {short}"


def sandbox_effect(path: str) -> str:
    return "sandbox." + ("run" if path.endswith("/run") else path.strip("/"))


ROLES = (Role.DESK, Role.RUNNER)
