"""A relay in front of the real engine's socket that can cut, hang, lose answers or speak TLS."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ENGINE = "/var/run/docker.sock"
PIECE = 1 << 16


@dataclass
class Relay:
    """Passes connections on. `loses` is the beginning of a request whose answer never arrives."""

    listening: socket.socket
    tls: ssl.SSLContext | None = None
    loses: bytes = b""
    hangs: bool = False
    away: bool = False
    lost: int = 0
    pairs: list[socket.socket] = field(default_factory=list)

    def serve(self) -> None:
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(near,), daemon=True).start()

    def cut(self) -> None:
        """The engine goes away: what is open breaks, what is new is closed at once."""
        self.away = True
        for sock in self.pairs:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _pass(self, near: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(near.close)
            if self.away:
                return
            if self.tls is not None:
                near = stack.enter_context(self.tls.wrap_socket(near, server_side=True))
            far = stack.enter_context(socket.socket(socket.AF_UNIX))
            far.connect(ENGINE)
            self.pairs += [near, far]
            lossy = threading.Event()
            back = threading.Thread(target=self._back, args=(far, near, lossy), daemon=True)
            back.start()
            while piece := near.recv(PIECE):
                if self.loses and piece.startswith(self.loses):
                    lossy.set()
                if not self.hangs:
                    far.sendall(piece)
            with contextlib.suppress(OSError):
                far.shutdown(socket.SHUT_WR)
            back.join()

    def _back(self, far: socket.socket, near: socket.socket, lossy: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := far.recv(PIECE):
                if lossy.is_set():
                    self.lost += 1
                    near.shutdown(socket.SHUT_RDWR)
                    return
                near.sendall(piece)
            near.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relay(folder: Path) -> Iterator[tuple[Relay, str]]:
    """A relay on a unix socket, and the address to give to the product."""
    path = folder / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        with _served(Relay(listening)) as made:
            yield made, f"unix://{path}"


@contextlib.contextmanager
def secure_relay(tls: ssl.SSLContext) -> Iterator[tuple[Relay, str]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with _served(Relay(listening, tls)) as made:
            yield made, f"tcp://127.0.0.1:{port}"


@contextlib.contextmanager
def _served(made: Relay) -> Iterator[Relay]:
    made.listening.listen(64)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        with contextlib.suppress(OSError):
            made.listening.shutdown(socket.SHUT_RDWR)
        made.cut()
        thread.join(60)
