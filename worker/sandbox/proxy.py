"""The builder's only way out: proxy.py behind a unix socket, with an allow-list of host names.

Run as `python -m worker.sandbox.proxy FOLDER`: FOLDER/proxy.sock is served, FOLDER/hosts is read
again at every connection, FOLDER/own (the operator's hosts) and FOLDER/networks say which names may
lead to addresses off the public net, and hosts that are turned away go to FOLDER/refused.
"""

from __future__ import annotations

import ipaddress
import os
import resource
import selectors
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from proxy import Proxy
from proxy.http.exception import HttpRequestRejected
from proxy.http.handler import HttpProtocolHandler
from proxy.http.parser import HttpParser, httpParserStates
from proxy.http.proxy import HttpProxyBasePlugin

from worker.sandbox.allow_list import PRIVATE, matching, named, shut

FORBIDDEN = 403
LOOK = 1.0  # seconds between looks at who started us
CONNECTIONS = 128  # at the same time, of one set-up; each has a thread here
HEAD = 64 << 10  # bytes of a request's head
HEAD_SECONDS = 15.0
BUFFER = 2 << 20  # bytes that wait for one side before the other is not read any further
REFUSED = 32 << 10  # bytes of the list of refused hosts
MEMORY = 512 << 20  # bytes of data
FILES = 16 * CONNECTIONS  # each needs seven: its two sides and the library's own loop
STACK = 512 << 10
PLACES = threading.BoundedSemaphore(CONNECTIONS)


class Bounded(HttpProtocolHandler):
    """One connection, with an end to what it may say, take and keep waiting."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        self._since = time.monotonic()

    def run(self) -> None:
        if not PLACES.acquire(blocking=False):
            with suppress(OSError):
                self.work.connection.close()
            if self.selector:
                self.selector.close()
            return
        try:
            super().run()
        finally:
            PLACES.release()

    def is_inactive(self) -> bool:
        late = time.monotonic() - self._since > HEAD_SECONDS
        return (late and self._asking()) or super().is_inactive()

    def handle_data(self, data: memoryview) -> bool | None:
        asking = self._asking()
        if not asking:  # the next request of a kept connection may begin here
            self._head, self._since = 0, time.monotonic()
        self._head += len(data)
        if asking and self._head > HEAD:
            return True
        return super().handle_data(data)

    async def get_events(self) -> dict[int, int]:
        """A side whose words pile up before the other is not read until they are gone."""
        events: dict[int, int] = await super().get_events()
        upstream = getattr(self.plugin, "upstream", None)
        client, far = self.work, upstream
        if far is None or far.closed:
            return events
        sides = ((client, far), (far, client))
        for reading, writing in sides:
            number = reading.connection.fileno()
            if number in events and sum(map(len, writing.buffer)) > BUFFER:
                events[number] &= ~selectors.EVENT_READ
                if not events[number]:
                    del events[number]
        return events

    def _asking(self) -> bool:
        """Whether a request has begun and not ended."""
        if self.request.state != httpParserStates.COMPLETE:
            return True
        further = getattr(self.plugin, "pipeline_request", None)
        return further is not None and not further.is_connection_upgrade


class AllowList(HttpProxyBasePlugin):
    """Asked before any connection is made, and before each further request of a kept one."""

    def before_upstream_connection(self, request: HttpParser) -> HttpParser | None:
        self._asked(request)
        return request

    def handle_client_request(self, request: HttpParser) -> HttpParser | None:
        self._asked(request)
        return request

    def handle_upstream_chunk(self, chunk: memoryview) -> memoryview | None:
        """Handed on here: the library would keep each plain answer whole to parse it."""
        self.client.queue(chunk)
        return None

    def resolve_dns(self, host: str, port: int) -> tuple[str | None, tuple[str, int] | None]:
        """A name is followed to the public net and to the operator's networks; anywhere else,
        and to this machine, only where the operator named this very host."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        told = named(host, port, self._lines("own"))
        networks = [ipaddress.ip_network(one) for one in self._lines("networks")]
        for *_, address in found:
            where = str(address[0])
            if told or not (shut(where, networks) or ours(where)):
                return where, None
        raise self._refusal(host, port, PRIVATE)

    def _lines(self, name: str) -> list[str]:
        folder = Path(self.flags.unix_socket_path).parent
        return (folder / name).read_text(encoding="utf-8").split()

    def _asked(self, request: HttpParser) -> None:
        host = (request.host or b"").decode("ascii", "replace")
        port = int(request.port or 0)
        if not matching(host, port, self._lines("hosts")):
            raise self._refusal(host, port)

    def _refusal(self, host: str, port: int, why: str = "") -> HttpRequestRejected:
        folder = Path(self.flags.unix_socket_path).parent
        with (folder / "refused").open("a", encoding="utf-8") as refused:
            if refused.tell() < REFUSED:
                refused.write(f"{host[:253]}:{port}{why}\n")
        said = "leads to no public address" if why else "is not on the allow-list of this set-up"
        return HttpRequestRejected(
            status_code=FORBIDDEN,
            reason=b"no public address" if why else b"not on the allow-list",
            body=f"{host[:253]} {said}\n".encode(),
        )


def ours(address: str) -> bool:
    """Whether an address is this machine's own: the kernel would send from it to itself. Nothing
    is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    plain = address.partition("%")[0]
    with socket.socket(family, socket.SOCK_DGRAM) as asked, suppress(OSError):
        asked.connect((plain, 9))
        return ipaddress.ip_address(asked.getsockname()[0]) == ipaddress.ip_address(plain)
    return False


def bound() -> None:
    """Limits of this process and of those that it starts, below the program's own."""
    for what, most in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_NOFILE, FILES)):
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))
    threading.stack_size(STACK)


def main(folder: str) -> None:
    """Serve until SIGTERM."""
    place = Path(folder)
    words = ["--unix-socket-path", str(place / "proxy.sock"), "--threaded", "--num-acceptors", "1"]
    words += ["--num-workers", "1", "--timeout", "120", "--log-level", "ERROR"]
    words += ["--data-dir", str(place / "data"), "--client-recvbuf-size", "65536"]
    words += ["--server-recvbuf-size", "262144", "--max-sendbuf-size", "262144"]
    bound()
    ended, parent = threading.Event(), os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Proxy(words, plugins=[AllowList], work_klass=Bounded):
        while os.getppid() == parent and not ended.wait(LOOK):
            pass  # whoever started us may be killed: nobody else ends us then


if __name__ == "__main__":
    main(sys.argv[1])
