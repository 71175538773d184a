"""Makes environments: a base image, the bytes of a plan, and what the plan installs, by key.

A key names base image, plan, files, builder and scope; what it names is made once, never changed,
and used by every check of every run with the same inputs.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess  # noqa: TID251 - the proxy is a process of its own
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.domain.errors import Missing, Refused, Unavailable
from app.domain.setup import SetupOutcome, SetupPlan
from worker.sandbox.admission import Admission, Ask, Kind
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine
from worker.sandbox.folders import temporary, tied
from worker.sandbox.ground import Grounds
from worker.sandbox.profile import (
    GROUP,
    LABEL,
    LABEL_DEADLINE,
    LABEL_OWNER,
    LABEL_RUN,
    WORKSPACE,
)
from worker.sandbox.setup_engine import Bounds, Builder, Ended, builder, image_labels, profile
from worker.sandbox.setup_hosts import NOT_PUBLIC, Hosts, listed
from worker.sandbox.setup_rules import SetupRules
from worker.sandbox.turns import Turns

REPOSITORY = "patchwarrant-setup"
LABEL_SETUP = "patchwarrant.setup"
LABEL_BASE = "patchwarrant.base"
LABEL_PLACES = "patchwarrant.environment"
LABEL_SCOPE = "patchwarrant.scope"  # who may use the image
EVERYBODY = "*"
PROGRAM = Path(__file__).with_name("setup_program.py").read_text(encoding="utf-8")
MARK = b"patchwarrant-setup:"
LOG_HALF = 256 << 10  # bytes kept of a log's head, and of its tail
PROXY_START, PROXY_END = 30.0, 3.0  # seconds
DISK_EVERY = 5.0  # seconds between looks at the engine's disk
ENDING = 600  # seconds that a builder may live on, for the commit, before the keeper takes it
SEALED = (
    "the runtime {} lets no socket of this machine into a container, so that the set-up cannot "
    "reach its proxy; start runsc with --host-uds=open, or set PATCHWARRANT_SETUP_RUNTIME to a "
    "runtime that shares the machine's kernel"
)
Say = Callable[[str], None]


@dataclass
class Log:
    """The head and the tail of what a builder printed, and the lines that speak to us."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    seen: int = 0
    line: bytearray = field(default_factory=bytearray)

    def feed(self, piece: bytes) -> list[tuple[str, str]]:
        """Keep what is for people; what is for us as (word, JSON)."""
        told: list[tuple[str, str]] = []
        begun = bytes(self.line[: len(MARK)])
        if MARK not in piece and not (begun and MARK.startswith(begun)):
            end = piece.rfind(b"\n") + 1  # floods come in short lines: none is taken apart
            if end:
                self._keep(bytes(self.line) + piece[:end])
                self.line.clear()
                piece = piece[end:]
        for part in piece.splitlines(keepends=True):
            self.line += part
            if not part.endswith(b"\n") and len(self.line) < (1 << 16):
                continue
            line = bytes(self.line)
            self.line.clear()
            if line.startswith(MARK):
                word, _, rest = line[len(MARK) :].decode("utf-8", "replace").partition(" ")
                told.append((word.strip(), rest))
            else:
                self._keep(line)
        return told

    def say(self, words: str) -> None:
        self._keep(f"{words}\n".encode())

    def _keep(self, line: bytes) -> None:
        self.seen += len(line)
        room = LOG_HALF - len(self.head)
        self.head += line[:room] if room > 0 else b""
        self.tail += line[max(room, 0) :]
        del self.tail[: max(0, len(self.tail) - LOG_HALF)]

    def bytes_of(self) -> bytes:
        left = self.seen - len(self.head) - len(self.tail)
        gap = f"\n[... {left} bytes left out ...]\n".encode() if left > 0 else b""
        return bytes(self.head) + gap + bytes(self.tail)


@dataclass
class Setups:
    """Environments of one service. `prove` runs the self-test in a new image; `state` keeps logs;
    `resolve` gives the id of a service's image within the operator's list, `admission` says when a
    builder may start, and `wait` for how many seconds one request waits for that."""

    maker: Maker
    rules: SetupRules
    state: Path
    prove: Callable[[str], None]
    resolve: Callable[[str], str]
    admission: Admission
    wait: float = 20.0
    turns: Turns = field(default_factory=Turns)

    def __post_init__(self) -> None:
        self.grounds = Grounds(self.maker)

    def make(
        self, run: str, base: str, scope: str, plan: SetupPlan, cancelled: Callable[[], bool]
    ) -> SetupOutcome:
        """The environment of a plan over a base image, made now unless it is there.

        `scope` names whom the image belongs to. A step that fails is an outcome without image.
        Tools and distribution packages are a layer of their own below the steps, which further
        set-ups stand on. Raises `Refused` for what the operator does not allow, `Unavailable`,
        `Missing` (410)."""
        if not self.rules.on:
            raise Refused("this installation does no set-up; name an image that has it all", 403)
        self._allowed(plan)
        if not self.maker.engine.local and (plan.steps or plan.tools or plan.packages):
            raise Refused(
                "set-ups need the engine on the sandbox's own machine; name an image that has it "
                "all, or run the sandbox beside its engine",
                501,
            )
        layer = None
        if plan.steps and (plan.tools or plan.packages):
            below = SetupPlan(plan.tools, plan.packages, hosts=plan.hosts, timeout=plan.timeout)
            layer = self.make(run, base, scope, below, cancelled)
            if not layer.image:
                return layer
            base, plan = layer.image, replace(plan, tools=(), packages=())
        services = [
            {"name": s.name, "image": self.resolve(s.image), "port": s.port, "env": dict(s.env),
             "ready": list(s.ready), "timeout": s.timeout}
            for s in plan.services
        ]  # fmt: skip
        places = json.dumps({"links": list(plan.links), "services": services}, sort_keys=True)
        key = self.key(base, scope, plan, places)
        with self.turns.entered(key, self.wait, cancelled):
            if image := self._there(key):
                made = SetupOutcome(image, key, 0, True, self._log(key))
            else:
                self.maker.disk.check()
                wish = Ask(Kind.SETUP, run, scope, self.rules.memory)
                with self.admission.entered(wish, self.wait, cancelled):
                    made = self._built(run, base, key, scope, plan, places, cancelled)
        if layer is None:
            return made
        return replace(
            made,
            ms=layer.ms + made.ms,
            reused=layer.reused and made.reused,
            log=layer.log + made.log,
            refused=(*layer.refused, *made.refused),
        )

    def key(self, base: str, scope: str, plan: SetupPlan, places: str) -> str:
        """SHA-256 over everything that decides the image."""
        mirrors = dict(sorted(self.rules.environment.items()))
        told = [base, "" if self.rules.shared else scope, plan.digest(), places, mirrors]
        told.append(profile(PROGRAM, self._runtime))
        return hashlib.sha256(json.dumps(told, separators=(",", ":")).encode()).hexdigest()

    @property
    def _runtime(self) -> str:
        return self.rules.runtime or self.maker.runtime

    def _there(self, key: str) -> str:
        with suppress(Missing):
            return self.maker.engine.image_id(f"{REPOSITORY}:{key}")
        return ""

    def _allowed(self, plan: SetupPlan) -> None:
        if "*" in self.rules.hosts:
            return
        for host in plan.hosts:
            fits = any(
                host == one or (one.startswith("*.") and host.endswith(one[1:]))
                for one in self.rules.hosts
            )
            if not fits:
                raise Refused(
                    f"the host {host!r} of `egress` is not one that the operator allows for "
                    "set-ups (PATCHWARRANT_SETUP_HOSTS)",
                    403,
                )

    def _log(self, key: str) -> bytes:
        path, now = self.state / f"{key}.log", self.maker.clock()
        with suppress(OSError):
            os.utime(path, (now, now))  # in use: it stays
            return path.read_bytes()
        return b""

    def forget(self, now: float, age: float) -> int:
        """Remove the logs that nobody asked for within `age` seconds; how many."""
        gone = 0
        for path in self.state.glob("*.log"):
            with suppress(OSError):
                if now - path.stat().st_mtime > age:
                    path.unlink()
                    gone += 1
        return gone

    def _over(self, cancelled: Callable[[], bool]) -> Callable[[], bool]:
        """`cancelled`, which also raises `Unavailable` when the disk gets short meanwhile."""
        looked = time.monotonic()

        def over() -> bool:
            nonlocal looked
            if time.monotonic() - looked > DISK_EVERY:
                looked = time.monotonic()
                self.maker.disk.check()
            return cancelled()

        return over

    def _built(
        self,
        run: str,
        base: str,
        key: str,
        scope: str,
        plan: SetupPlan,
        places: str,
        cancelled: Callable[[], bool],
    ) -> SetupOutcome:
        started = time.monotonic()
        log = Log()
        bounds = Bounds(min(plan.timeout, self.rules.seconds), self.rules.memory, self.rules.disk)
        labels = {
            LABEL_RUN: run,
            LABEL_OWNER: self.maker.owner,
            LABEL_DEADLINE: str(int(self.maker.clock() + bounds.seconds + ENDING)),
        }
        image, error = "", ""
        with temporary("pw-setup-") as seen:
            hosts = Hosts(seen, listed(plan.ecosystems), self.rules, plan.hosts)
            if self.rules.certificates:
                (seen / "certificates.pem").write_bytes(self.rules.certificates)
            where = str(seen), labels, self._runtime
            with (
                _proxy(seen),
                builder(self.maker.engine, base, PROGRAM, bounds, *where) as made,
            ):
                error = self._ran(made, plan, hosts, log, self._over(cancelled))
                if not error and not plan.only_packages:
                    error = self.grounds.shaken(base, made)
                if not error:
                    whose = EVERYBODY if self.rules.shared else scope
                    changes = _changes(base, key, whose, plan, places)
                    image = made.commit(REPOSITORY, key, changes)
            refused = hosts.refused()
        for host in refused:
            why = "" if NOT_PUBLIC in host else " is not on the allow-list and"
            log.say(f"!! the host {host}{why} was not reached")
        kept = log.bytes_of()
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.state / f"{key}.log").write_bytes(kept)
        if image:
            self.prove(image)
        ms = round((time.monotonic() - started) * 1000)
        return SetupOutcome(image, key, ms, False, kept, error, refused)

    def _ran(
        self,
        made: Builder,
        plan: SetupPlan,
        hosts: Hosts,
        log: Log,
        cancelled: Callable[[], bool],
    ) -> str:
        """Run the steps; "" when all of them succeeded, else which did not and how."""
        made.put(packed(plan, self.rules))
        said: dict[str, str] = {}

        def heard(piece: bytes) -> None:
            for word, rest in log.feed(piece):
                said[word] = rest
                if word == "hosts" and "steps" not in said:  # afterwards others speak
                    hosts.learn(rest)

        try:
            code = made.follow(heard, cancelled)
        except Ended as ended:
            log.say(f"!! the set-up did not end by itself: {ended}")
            return str(ended)
        if code == 0 and "done" in said:
            return ""
        if "sealed" in said and "steps" not in said:
            log.say(f"!! the proxy's socket cannot be reached from inside: {said['sealed']}")
            return SEALED.format(self._runtime)
        with suppress(ValueError, TypeError, KeyError):
            title, status = json.loads(said["failed"])
            return f"{title} ended with {status}"
        return f"it ended with {code}"


def packed(plan: SetupPlan, rules: SetupRules) -> bytes:
    """The builder's input as a tar: the plan and the files that set-up sees."""
    told = {
        "env": dict(plan.env),
        "builder_env": dict(rules.environment),
        "certificates": bool(rules.certificates),
        "packages": list(plan.packages),
        "tools": [
            {"name": t.name, "probe": t.probe, "packages": list(t.packages), "install": t.install}
            for t in plan.tools
        ],
        "steps": [{"title": s.title, "run": s.run, "folder": s.folder} for s in plan.steps],
        "links": list(plan.links),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        start = "opt/.patchwarrant-setup"
        for folder in ("opt", start, f"{start}/tree"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        files = [("plan.json", json.dumps(told).encode())]
        files += [(f"tree/{path}", data) for path, data in plan.files]
        for name, data in files:
            entry = tarfile.TarInfo(f"{start}/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _changes(base: str, key: str, scope: str, plan: SetupPlan, places: str) -> list[str]:
    """How the image differs from its container: a check's settings, and what it was made of."""
    lines = [
        f"USER {GROUP}:{GROUP}",
        f"WORKDIR {WORKSPACE}",
        'ENTRYPOINT ["/usr/bin/env"]',
        'CMD ["sh"]',
    ]
    lines += [f"ENV {name}={json.dumps(value)}" for name, value in sorted(plan.env.items())]
    labels = {LABEL_SETUP: key, LABEL_BASE: base, LABEL_PLACES: places, LABEL_SCOPE: scope}
    lines += [f"LABEL {label}={json.dumps(value)}" for label, value in labels.items()]
    # The builder's own would make each container of this image one of the keeper's.
    lines += [f'LABEL {one}=""' for one in (LABEL, LABEL_RUN, LABEL_OWNER, LABEL_DEADLINE)]
    return [line.replace("$", "\\$") for line in lines]


@contextmanager
def _proxy(folder: Path) -> Iterator[None]:
    """The proxy as a process of its own, without this process's environment."""
    words = [sys.executable, "-m", "worker.sandbox.proxy", str(folder)]
    words = tied(words, signal.SIGTERM)  # which it takes as its end, its own processes included
    root = str(Path(__file__).resolve().parents[2])
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": root, "HOME": str(folder), "LANG": "C.UTF-8"}
    with subprocess.Popen(  # noqa: S603 - our own program
        words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            end = time.monotonic() + PROXY_START
            while not (folder / "proxy.sock").exists():
                if process.poll() is not None or time.monotonic() > end:
                    process.kill()
                    said = process.stderr.read() if process.stderr else b""
                    raise Unavailable(f"the set-up's proxy did not start: {said[-500:]!r}")
                time.sleep(0.02)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(PROXY_END)
            with suppress(ProcessLookupError):  # it has processes of its own
                os.killpg(process.pid, signal.SIGKILL)


def environment_of(maker: Maker, image: str) -> Mapping[str, list[Any]]:
    """`links` and `services` of an image, empty lists for one that no set-up made."""
    told = image_labels(maker.engine, image).get(LABEL_PLACES, "")
    return json.loads(told) if told else {"links": [], "services": []}


def scope_of(engine: Engine, image: str) -> str | None:
    """Whose an image of a set-up is, EVERYBODY included, None where it does not say."""
    return image_labels(engine, image).get(LABEL_SCOPE)


def setup_made(engine: Engine, image: str) -> bool:
    """Whether an image came from a set-up, or is gone: neither has to be kept when unused."""
    try:
        names = engine.image_names(image)
    except Missing:
        return True
    return any(name.startswith(f"{REPOSITORY}:") for name in names)
