"""A small loopback proxy, as a process: cuts, delays or swallows what goes over a TCP connection.

    with Proxy("127.0.0.1:8080") as link:      # or the path of a unix socket
        link.port; link.cut(0.3); link.delay(0.05, 1.0); link.half_open(1.0)

Each disturbance lasts for its seconds and then heals by itself; connections that were cut or went
deaf stay dead, as in a network that comes back.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.tied import tied

ROOT = Path(__file__).resolve().parents[2]
PIECE = 65_536


class _Relay:
    """Both directions of every connection, and what is wrong with the network just now."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.kind, self.until, self.seconds = "", 0.0, 0.0
        self.open: set[asyncio.StreamWriter] = set()
        self.deaf: set[asyncio.StreamWriter] = set()

    def now(self) -> str:
        return self.kind if time.monotonic() < self.until else ""

    def disturb(self, kind: str, lasts: float, seconds: float) -> None:
        self.kind, self.until, self.seconds = kind, time.monotonic() + lasts, seconds
        if kind == "cut":
            for writer in list(self.open):
                writer.transport.abort()
        elif kind == "half-open":
            self.deaf |= self.open

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.now() == "cut":
            writer.transport.abort()
            return
        if self.target.startswith("/"):
            there, back = await asyncio.open_unix_connection(self.target)
        else:
            host, _, port = self.target.rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
        if self.now() == "half-open":
            self.deaf |= {writer, back}
        self.open |= {writer, back}
        await asyncio.gather(self.pump(reader, back), self.pump(there, writer))
        self.open -= {writer, back}
        self.deaf -= {writer, back}

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE):
                if writer in self.deaf:
                    continue
                if self.now() == "delay":
                    await asyncio.sleep(self.seconds)
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()


async def _serve(target: str) -> None:
    relay = _Relay(target)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    print(json.dumps(server.sockets[0].getsockname()[1]), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        told = json.loads(line)
        relay.disturb(told["kind"], told["lasts"], told["seconds"])
        print("true", flush=True)


class Proxy:
    """The proxy before `target` (host:port, or the path of a unix socket), as its own process."""

    def __init__(self, target: str) -> None:
        words = [sys.executable, "-m", "tests.crash.proxy", target]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, preexec_fn=tied()
        )
        self.port = int(self._heard())

    def cut(self, lasts: float) -> None:
        """Every connection breaks, and new ones break for `lasts` seconds."""
        self._tell("cut", lasts, 0.0)

    def delay(self, seconds: float, lasts: float) -> None:
        """Each piece takes `seconds` longer, for `lasts` seconds."""
        self._tell("delay", lasts, seconds)

    def half_open(self, lasts: float) -> None:
        """Connections stay open and nothing comes through; new ones too for `lasts` seconds."""
        self._tell("half-open", lasts, 0.0)

    def _tell(self, kind: str, lasts: float, seconds: float) -> None:
        assert self._process.stdin is not None
        told = {"kind": kind, "lasts": lasts, "seconds": seconds}
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        self._heard()

    def _heard(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the proxy ended: {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
