"""One case: a story, a fault at a named point, a victim process, an heir, then the invariants."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
from redis.exceptions import ConnectionError

from app.domain.state import ENDS
from tests.crash.invariants import Expected, Told, broken
from tests.crash.office import LEASE_MS, Office, Place, hurried, let_time_pass
from tests.crash.points import AFTER, Point, watch
from tests.crash.proxy import Proxy
from tests.crash.stories import Story, nothing, take_back
from tests.crash.town import Town
from worker import logs
from worker.desk.github import wire

PATIENCE = 180.0  # seconds of real time until a case counts as hung
CHILDREN = 8
SHORT = 3.0  # seconds until a deaf connection is given up; no answer of a busy machine takes them
SKEW = 600.0  # seconds
# Between the reservation of a call and its journal entry: was it sent, and what did it cost?
UNKNOWN = ("ledger.reserve", "model.reply", "journal.model")


class Injected(RuntimeError):
    """A bug that nobody expected."""


@dataclass(frozen=True)
class Case:
    """`fault` at `point` in `story`."""

    story: str
    fault: str
    point: Point

    def __str__(self) -> str:
        return f"{self.story}: {self.fault} at {self.point}"


@dataclass(frozen=True)
class Verdict:
    """What became of a case. `reached` is False where the point never came, which is no pass."""

    case: Case
    reached: bool
    broken: tuple[str, ...]
    seconds: float
    log: str = ""


@dataclass
class Links:
    """The proxies before Redis, GitHub and the model."""

    redis: Proxy
    github: Proxy
    model: Proxy

    def place(self, place: Place) -> Place:
        """The same addresses, all through the proxies."""
        return replace(
            place,
            redis=f"redis://127.0.0.1:{self.redis.port}/0",
            hub=f"http://127.0.0.1:{self.github.port}",
            model=f"http://127.0.0.1:{self.model.port}",
        )


@dataclass
class Child:
    """A forked office and the line to it."""

    pid: int
    line: socket.socket
    said: str = ""
    dead: bool = False
    stopped: bool = False


@dataclass
class Bench:
    """Runs cases in one town."""

    town: Town
    links: Links
    stories: Mapping[str, Story]
    wanted: dict[str, Expected] = field(default_factory=dict)

    def run(self, case: Case) -> Verdict:
        """One case from an empty ledger to the checked end."""
        began = time.monotonic()
        town = self.town
        town.quiet()
        story = self.stories[case.story]
        name = story.begin(town)
        log = town.folder / "log"
        log.write_bytes(b"")
        reached, amiss = False, []
        try:
            reached = self._played(case, name, log)
        except TimeoutError as hung:
            amiss.append(f"I1: {hung}")
        town.hub.clear_faults()
        told = self._told(case)
        amiss += broken(town, name, self.wanted[case.story], told, log)
        if not reached:
            amiss.append("the point was never reached")
        said = log.read_text(errors="replace")[-4_000:] if amiss else ""
        return Verdict(case, reached, tuple(amiss), time.monotonic() - began, said)

    def _told(self, case: Case) -> Told:
        """What this fault may leave behind, and no other."""
        kind, effect = case.fault, case.point.effect
        model = kind.startswith("model-") or kind.endswith("@model")
        # A token whose answer was lost is known to nobody but GitHub, which ends it in an hour.
        minting = "access_tokens" in effect
        shelving = effect == "redis.hset.token"
        lost = (minting and (case.point.moment == AFTER or "do_then" in kind)) or (
            shelving and case.point.moment != AFTER
        )
        orphans = 1 if lost or kind.endswith("@github") else 0
        return Told(
            lost=6 if model else 0,
            orphans=orphans,
            partial=model or effect in UNKNOWN,  # what is asked again costs otherwise
            quarantined=kind == "poison" and case.point.state not in ENDS,
            aside=kind == "poison" and case.point.state in ENDS,
            unknown=effect in UNKNOWN,
            taken_back=self.stories[case.story].meanwhile is not nothing,
        )

    # -- children

    def _played(self, case: Case, name: str, log: Path) -> bool:
        place = self.links.place(self.town.place) if "@" in case.fault else self.town.place
        story = self.stories[case.story]
        victim = self._fork(place, case, log)
        reached = self._attend(victim, case)
        children = 1
        while victim.dead and case.fault == "poison" and children < CHILDREN:
            victim = self._fork(place, case, log)
            self._attend(victim, case)
            children += 1
        if victim.dead or victim.stopped or victim.said != "settled":
            story.meanwhile(self.town, name)
            self._then(case, log)
        if victim.stopped:
            story.meanwhile(self.town, name)
            os.kill(victim.pid, signal.SIGCONT)
            self._attend(victim, case)
            self._then(case, log)
        if story.looks:
            take_back(self.town, name)
            with self.town.redis.client() as client:
                let_time_pass(client)
            self._then(case, log)
        return reached

    def _then(self, case: Case, log: Path) -> None:
        """GitHub tells of what was done, and a fresh worker goes on to the end."""
        self.town.echo()
        self._attend(self._fork(self.town.place, case, log, whole=True), case)

    def _fork(self, place: Place, case: Case, log: Path, whole: bool = False) -> Child:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid:
            theirs.close()
            ours.settimeout(PATIENCE)
            return Child(pid, ours)
        try:
            ours.close()
            looks = bool(self.stories[case.story].looks)
            _child(place, None if whole else case, theirs, log, looks)
        finally:
            os._exit(99)

    def _attend(self, child: Child, case: Case) -> bool:
        """Serve the child until it ends or stops; whether it came to its point."""
        reached = False
        while True:
            try:
                word = child.line.recv(64)
            except TimeoutError:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                raise TimeoutError(f"hung for {PATIENCE:.0f} s at {case}") from None
            if word == b"":
                os.waitpid(child.pid, 0)
                child.dead = child.said == ""
                child.stopped = False
                child.line.close()
                return reached
            letter, _, said = word.decode().partition(":")
            reached = reached or letter in "KSAX"
            if letter == "A":
                self._act(case)
                child.line.send(b"\n")
            elif letter == "S":
                os.waitpid(child.pid, os.WUNTRACED)
                child.stopped = True
                return reached
            elif letter == "E":
                child.said = said

    def _act(self, case: Case) -> None:
        """Have the world do what the fault says to what the child does next."""
        where, _, kind = case.fault.partition("-")
        town = self.town
        if where == "redis":
            town.redis.kill()
            if kind == "torn":
                _torn(town.redis.folder)
            town.redis.start()
        elif where == "token":
            town.hub.expire_tokens()
        elif where == "github":
            # Any request: the next one is the one that is meant, since only the child asks.
            status = 502 if "status" in kind else None
            after = 60 if kind == "rate_secondary" else None
            town.hub.fault(kind, ".*", status=status, retry_after=after)
        elif where == "git":
            town.hub.fault(kind, r"\.git/", times=3, status=502 if kind == "status" else None)
        elif where == "model":
            town.model.fault(kind, **({"retry_after": 1.0} if kind == "429" else {}))
        elif where == "sandbox":
            town.boxes.faults({"kind": kind, "path": ".*"})
        else:
            self._disturb(*case.fault.split("@"))

    def _disturb(self, kind: str, link: str) -> None:
        proxy: Proxy = getattr(self.links, link)
        if kind == "cut":
            proxy.cut(0.2)
        elif kind == "delay":
            proxy.delay(0.05, 1.0)
        else:
            proxy.half_open(0.3)


def _child(place: Place, case: Case | None, line: socket.socket, log: Path, looks: bool) -> None:
    """The forked office: never returns to the test's code."""
    random.seed()
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(handle, 2)
    logs.configure([place.app_key, place.seal, place.model_key])
    if case is not None and "@" in case.fault:
        hurried(SHORT)
        wire.TIMEOUT = httpx.Timeout(SHORT, connect=SHORT)
    said = "crashed"
    try:
        hook = _hook(case, line) if case is not None else None
        seen = watch(hook) if hook is not None else None
        office = Office(place, looks)
        if seen is not None:
            office.taken = lambda job: seen.around(f"queue.{job}", lambda: None)
        said = office.work(patient=case is None or case.fault != "stop")
    finally:
        with contextlib.suppress(OSError):
            line.send(f"E:{said}".encode())
        os._exit(0)


def _hook(case: Case, line: socket.socket) -> Callable[[Point], None]:
    done = False

    def hook(point: Point) -> None:
        nonlocal done
        if done or point != case.point:
            return
        done = True
        _strike(case.fault, line)

    return hook


def _strike(fault: str, line: socket.socket) -> None:
    if fault in ("kill", "poison"):
        line.send(b"K")
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "stop":
        line.send(b"S")
        os.kill(os.getpid(), signal.SIGSTOP)
        _slept(2 * LEASE_MS / 1000)
    elif fault == "exception":
        line.send(b"X")
        raise Injected("a bug, on purpose")
    elif fault == "lost-answer":
        line.send(b"X")
        raise ConnectionError("the answer was lost, on purpose")
    elif fault.startswith("skew"):
        line.send(b"X")
        _skew(SKEW if fault.endswith("+") else -SKEW)
    else:
        line.send(b"A")
        line.recv(1)


def _torn(folder: Path) -> None:
    """Power was lost in the middle of a write: the log ends with half a command."""
    (log,) = folder.glob("appendonlydir/*.incr.aof")
    with log.open("ab") as file:
        file.write(b"*3\r\n$4\r\nHSET\r\n$11\r\npw:run")


def _slept(seconds: float) -> None:
    """The stop lasted longer than the lease, also by this process's clock that only grows."""
    really = time.monotonic
    time.monotonic = lambda: really() + seconds


def _skew(seconds: float) -> None:
    """This process's wall clock is off from now on; the ledger's is not."""
    really, nanos = time.time, time.time_ns
    time.time = lambda: really() + seconds
    time.time_ns = lambda: nanos() + int(seconds * 1e9)
