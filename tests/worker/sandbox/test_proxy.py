"""The proxy as a process, from the builder's side: what it takes, keeps and gives up."""

from __future__ import annotations

import contextlib
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until
from tests.shared_data import REPOSITORY
from worker.sandbox.allow_list import PRIVATE
from worker.sandbox.proxy import BUFFER, CONNECTIONS, HEAD, REFUSED

PROGRAM = (
    "import sys; from worker.sandbox import proxy; proxy.HEAD_SECONDS = float(sys.argv[2]); "
    "proxy.main(sys.argv[1])"
)


@dataclass
class Running:
    folder: Path
    process: subprocess.Popen[bytes]

    def joined(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(self.folder / "proxy.sock"))
        made.settimeout(PATIENCE)
        return made

    def asked(self, host: str, port: int) -> bytes:
        with self.joined() as one:
            one.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return one.recv(4096)

    def memory(self) -> int:
        """Bytes of the process and of those that it started."""
        found = subprocess.run(
            ["ps", "-o", "rss=", "-g", str(self.process.pid)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return sum(int(one) << 10 for one in found.stdout.split())


@pytest.fixture
def running(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    for name, text in (("hosts", "localhost:1 far.invalid"), ("own", ""), ("networks", "")):
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), getattr(request, "param", "600")]
    with subprocess.Popen(
        words, cwd=REPOSITORY, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            until((tmp_path / "proxy.sock").exists)
            yield Running(tmp_path, process)
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def source() -> Iterator[int]:
    """A server on loopback that never stops talking."""
    piece = b"x" * (1 << 18)

    def talk(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while True:
                client.sendall(piece)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=talk, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def gone(one: socket.socket) -> bool:
    try:
        return one.recv(4096) == b""
    except ConnectionError:
        return True


def test_a_name_that_leads_here_is_followed_only_where_the_operator_named_it(
    running: Running, source: int
) -> None:
    (running.folder / "hosts").write_text(f"localhost:{source}")
    assert b"200" not in running.asked("localhost", source)
    assert f"localhost:{source}{PRIVATE}" in (running.folder / "refused").read_text()
    (running.folder / "networks").write_text("127.0.0.0/8")
    assert b"200" not in running.asked("localhost", source)
    (running.folder / "own").write_text(f"localhost:{source}")
    assert b"200" in running.asked("localhost", source)


@pytest.mark.parametrize("running", ["2"], indirect=True)
def test_a_head_without_end_and_one_without_haste_are_given_up(running: Running) -> None:
    with running.joined() as endless, running.joined() as slow:
        slow.sendall(b"GET http://far.invalid/ HTTP/1.1\r\nA: ")
        endless.sendall(b"GET http://far.invalid/ HTTP/1.1\r\nA: ")
        sent = 0
        with pytest.raises(ConnectionError):
            while sent < 64 * HEAD:
                endless.sendall(b"x" * 4096)
                sent += 4096
        assert gone(slow)


def test_connections_are_counted_and_places_come_back(running: Running) -> None:
    with contextlib.ExitStack() as held, selectors.DefaultSelector() as watch:
        for _ in range(CONNECTIONS + 8):
            one = held.enter_context(running.joined())
            with contextlib.suppress(ConnectionError):
                one.sendall(b"GET ")
            watch.register(one, selectors.EVENT_READ)
        until(lambda: len(watch.select(0)) >= 8)  # whichever of them came last to a place
        turned_away = [key.fileobj for key, _ in watch.select(0)]
        assert len(turned_away) == 8
        assert all(gone(one) for one in turned_away if isinstance(one, socket.socket))
    until(lambda: b"403" in running.asked("elsewhere.invalid", 443))


def test_what_nobody_reads_is_not_piled_up(running: Running, source: int) -> None:
    for name in ("hosts", "own"):
        (running.folder / name).write_text(f"localhost:{source}")
    assert b"200" in running.asked("localhost", source)
    before = running.memory()
    with running.joined() as deaf:
        deaf.sendall(f"CONNECT localhost:{source} HTTP/1.1\r\n\r\n".encode())
        end = time.monotonic() + 2
        while time.monotonic() < end:
            assert running.memory() - before < 8 * BUFFER
            time.sleep(0.1)
        until(lambda: deaf.recv(1 << 16))


def test_the_list_of_refused_hosts_has_an_end(running: Running) -> None:
    for number in range(2 * REFUSED // 240):
        with contextlib.suppress(ConnectionError):
            running.asked(f"{'x' * 200}.{number}.invalid", 443)
    assert 0 < (running.folder / "refused").stat().st_size <= REFUSED + 300
