"""The builder's only way out: proxy.py behind a unix socket, with an allow-list of host names.

Run as `python -m worker.sandbox.proxy FOLDER`: FOLDER/proxy.sock is served, FOLDER/hosts is read
again at every connection, and each host that is turned away is appended to FOLDER/refused.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from pathlib import Path

from proxy import Proxy
from proxy.http.exception import HttpRequestRejected
from proxy.http.parser import HttpParser
from proxy.http.proxy import HttpProxyBasePlugin

from worker.sandbox.allow_list import matching, near

FORBIDDEN = 403
LOOK = 1.0  # seconds between looks at who started us


class AllowList(HttpProxyBasePlugin):
    """Asked before any connection is made, and before each further request of a kept one."""

    def before_upstream_connection(self, request: HttpParser) -> HttpParser | None:
        self._asked(request)
        return request

    def handle_client_request(self, request: HttpParser) -> HttpParser | None:
        self._asked(request)
        return request

    def resolve_dns(self, host: str, port: int) -> tuple[str | None, tuple[str, int] | None]:
        """A name that leads to this machine or to its neighbours on the link is not followed,
        unless the list names the port as well, which only the operator's part of it does."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        named = f"{host}:{port}" in self._allowed()
        for *_, address in found:
            if named or not near(str(address[0])):
                return str(address[0]), None
        raise self._refusal(host, port)

    def _allowed(self) -> list[str]:
        folder = Path(self.flags.unix_socket_path).parent
        return (folder / "hosts").read_text(encoding="utf-8").split()

    def _asked(self, request: HttpParser) -> None:
        host = (request.host or b"").decode("ascii", "replace")
        port = int(request.port or 0)
        if not matching(host, port, self._allowed()):
            raise self._refusal(host, port)

    def _refusal(self, host: str, port: int) -> HttpRequestRejected:
        folder = Path(self.flags.unix_socket_path).parent
        with (folder / "refused").open("a", encoding="utf-8") as refused:
            refused.write(f"{host[:253]}:{port}\n")
        return HttpRequestRejected(
            status_code=FORBIDDEN,
            reason=b"not on the allow-list",
            body=f"{host[:253]} is not on the allow-list of this set-up\n".encode(),
        )


def main(folder: str) -> None:
    """Serve until SIGTERM."""
    place = Path(folder)
    words = ["--unix-socket-path", str(place / "proxy.sock"), "--threaded", "--num-acceptors", "1"]
    words += ["--num-workers", "1", "--timeout", "120", "--log-level", "ERROR"]
    words += ["--data-dir", str(place / "data"), "--client-recvbuf-size", "262144"]
    words += ["--server-recvbuf-size", "262144", "--max-sendbuf-size", "262144"]
    ended, parent = threading.Event(), os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Proxy(words, plugins=[AllowList]):
        while os.getppid() == parent and not ended.wait(LOOK):
            pass  # whoever started us may be killed: nobody else ends us then


if __name__ == "__main__":
    main(sys.argv[1])
