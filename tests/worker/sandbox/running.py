"""The real sandbox service as a process of its own, for as long as a block runs."""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.check import Outcome
from app.domain.errors import Unavailable
from app.domain.ports.sandbox import Job
from app.domain.setup import SetupOutcome, SetupPlan
from tests.patience import PATIENCE, until
from worker.runner.boxes import ClientBox, Look, SandboxClient
from worker.sandbox.engine import Engine, Found

START = 600.0  # seconds: the first start on a machine makes the image
# Less than the keeper needs to see that something was forgotten: it hides no leak from a test.
REMOVAL = 45.0
MARK = secrets.token_hex(4)  # of this process: on one engine others try the same at the same time
PROGRAM = """
import json, resource, sys
from worker.sandbox.service import Ceilings
from worker.sandbox import keeper, selftest
from worker.sandbox.doors import Remote
from worker.sandbox.wiring import Choices, serve
asked = json.loads(sys.argv[1])
if asked["files"]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (asked["files"],) * 2)
keeper.space = lambda: asked["space"]  # as in a pid namespace of its own: no neighbour reaps it
choices = asked["choices"]
if "remote" in choices:
    choices["remote"] = Remote(*choices["remote"])
serve(asked["socket"], ceilings=Ceilings(**asked["ceilings"]), choices=Choices(**choices),
      prove=selftest.prove if asked["whole"] else selftest.probe,
      say=lambda words: print(words, flush=True))
"""


def engine_or_skip() -> None:
    """Skips the test, with the reason, where no Docker engine answers."""
    try:
        Engine().close()
    except Unavailable as error:
        pytest.skip(f"no Docker engine: {error}")


def look() -> None:
    """Nobody cancels."""


def own(run: str) -> str:
    """A run's name as nobody else uses it."""
    return run if run.endswith(MARK) else f"{run}-{MARK}"


def ours(run: str) -> list[Found]:
    """The containers of a run, now."""
    with Engine() as engine:
        return [c for c in engine.ours() if c.labels.get("patchwarrant.run") == own(run)]


def gone(run: str) -> bool:
    """Wait until no container of a run is left: they are removed behind the answer."""
    until(lambda: not ours(run), REMOVAL)
    return True


class Apart(SandboxClient):
    """A client whose runs are of this process alone."""

    def set_up(self, run: str, image: str, plan: SetupPlan, look: Look) -> SetupOutcome:
        return super().set_up(own(run), image, plan, look)

    def certify(self, run: str, image: str, job: Job, tar: bytes, look: Look) -> Outcome:
        return super().certify(own(run), image, job, tar, look)

    def open(self, run: str, image: str, tar: bytes, look: Look = look) -> ClientBox:
        return super().open(own(run), image, tar, look)

    def stop(self, run: str) -> int:
        return super().stop(own(run))

    def forget(self, run: str, box: str) -> None:
        super().forget(own(run), box)


def job(*argv: str, **fields: object) -> Job:
    asked: dict[str, object] = {"env": {}, "workdir": "", "report": "", "seconds": 120, **fields}
    return Job(argv=argv, **asked)  # type: ignore[arg-type]


def sh(script: str, **fields: object) -> Job:
    return job("sh", "-c", script, **fields)


def python(script: str, **fields: object) -> Job:
    return job("python3", "-c", script, **fields)


def tar_of(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.uid, entry.gid = len(data), 0o644, 65534, 65534
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


EMPTY = tar_of({})


@dataclass
class Service:
    """A running service: its process, its socket, a client and the default image's id."""

    process: subprocess.Popen[str]
    socket: str
    client: SandboxClient
    image: str

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def service(
    folder: Path | None = None,
    choices: Mapping[str, object] | None = None,
    whole: bool = False,
    files: int = 0,
    **ceilings: int,
) -> Iterator[Service]:
    """Start it and wait until it answers. Raises `RuntimeError` with its words if it ends.

    Only with `whole` the self-test runs into every limit: seconds that most tests need not spend.
    `files` is its limit of open files, 0 for this process's own.
    Waiting for a place is off unless it is asked for."""
    with contextlib.ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        socket = str(place / "closed" / "sandbox.sock")
        limits = {"wait": 0, **ceilings}
        asked = json.dumps(
            {
                "socket": socket,
                "ceilings": limits,
                "choices": dict(choices or {}),
                "whole": whole,
                "files": files,
                "space": f"tests-{MARK}",
            }
        )
        log = stack.enter_context((place / "sandbox.log").open("w+"))
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, asked], stdout=log, stderr=subprocess.STDOUT, text=True
        )
        client = Apart(socket)
        stack.callback(client.close)
        try:
            end = time.monotonic() + START
            while "listens on" not in (place / "sandbox.log").read_text() or not client.healthy():
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise RuntimeError(f"the sandbox did not start: {log.read()[-2000:]}")
                time.sleep(0.05)
            yield Service(process, socket, client, client.image("")[0])
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    """One service for a file's tests."""
    engine_or_skip()
    with service(concurrency=2, boxes=4, box_memory=256 << 20) as started:
        yield started
