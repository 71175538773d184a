"""Missed deliveries: what no receiver took reaches one that came back, and the mark moves on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from app.domain.missed import FIRST_MS
from tests.standins.github_world import REPO, Acme
from tests.worker.desk.ways import app_of
from worker.desk.github.deliveries import Deliveries
from worker.desk.missed import MARK, Redeliver


class Marks:
    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    def mark(self, name: str) -> int:
        return self.kept.get(name, 0)

    def set_mark(self, name: str, at: int) -> None:
        self.kept[name] = at


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append(self.headers["x-github-delivery"])  # type: ignore[attr-defined]
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.taken = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_what_a_receiver_missed_is_delivered_when_it_is_back(
    world: Acme, receiver: HTTPServer
) -> None:
    world.standin.set_webhook("patchwarrant", "http://127.0.0.1:9/nobody", "s")
    for _ in range(3):
        world.standin.open_issue(REPO, "alice", "T")
    world.standin.wait_delivered()
    missed = [one["guid"] for one in world.standin.deliveries()[-3:]]
    newest = next(Deliveries(app_of(world)).since(0)).at
    late = newest + FIRST_MS + 1000
    marks = Marks()
    keeper = Redeliver(Deliveries(app_of(world)), marks, lambda: late)

    assert keeper() == 1  # still away: one is tried
    world.standin.wait_delivered()
    world.standin.set_webhook("patchwarrant", f"http://127.0.0.1:{receiver.server_port}/", "s")
    late += 5 * FIRST_MS
    assert keeper() == 1  # away as far as is known
    world.standin.wait_delivered()
    assert keeper() == 2  # it took that one, so it gets the rest
    world.standin.wait_delivered()
    assert keeper() == 0
    assert sorted(set(receiver.taken)) == sorted(missed)  # type: ignore[attr-defined]
    assert marks.kept[MARK] >= newest
