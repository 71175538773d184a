"""The sandbox's client against the real service: cancelling, limits of room, deaths, strangers."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.domain.errors import Missing, Refused, Stop, Unavailable
from app.domain.ports.sandbox import Job
from tests.patience import PATIENCE, until
from tests.worker.sandbox.running import (
    EMPTY,
    Service,
    engine_or_skip,
    gone,
    look,
    ours,
    running,
    service,
    sh,
    tar_of,
)
from worker.runner.boxes import SandboxClient, _job

__all__ = ["running"]

SLOW = sh("sleep 999", seconds=999)


class Cancelled(Exception):
    """A person said stop."""


def containers(run: str) -> int:
    return len(ours(run))


class Aside:
    """A call in a thread of its own, with what it raised."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.raised: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except Stop as error:
            self.raised = error

    def join(self) -> BaseException | None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.raised


def slowly(at: Service, run: str, seconds: int = 60) -> Aside:
    """A long check that runs by the time this returns."""
    asked = sh(f"sleep {seconds}", seconds=seconds + 30)
    aside = Aside(lambda: at.client.certify(run, at.image, asked, EMPTY, look))
    until(lambda: containers(run) == 1)
    return aside


def tried(at: Service, run: str, asked: Job) -> int | None:
    """Exit code of a check, None where there is no place yet: one comes back behind an answer."""
    try:
        return at.client.certify(run, at.image, asked, EMPTY, look).exit_code
    except Unavailable:
        return None


# -- without a service ----------------------------------------------------------------------------


def test_no_service_is_unavailable_and_names_the_socket(tmp_path: Path) -> None:
    client = SandboxClient(str(tmp_path / "none.sock"))
    with pytest.raises(Unavailable, match=r"none\.sock"):
        client.image("")
    with pytest.raises(Unavailable):
        client.certify("r", "sha256:" + "0" * 64, SLOW, EMPTY, look)
    assert not client.healthy()
    client.close()


@contextlib.contextmanager
def answering(folder: Path, answer: bytes) -> Iterator[SandboxClient]:
    """A client of a stand-in that reads one request's head and answers with these bytes."""
    path = str(folder / "odd.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def serve() -> None:
            for _ in range(2):  # the client knocks first
                conn, _ = listening.accept()
                with conn:
                    if conn.recv(1 << 16):
                        conn.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        client = SandboxClient(path)
        try:
            yield client
        finally:
            client.close()
            thread.join(PATIENCE)


def head(text: bytes, status: bytes = b"200 OK", extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n%b" % (status, extra, len(text), text)


FAULT = json.dumps({"fault": {"status": 422, "message": "no", "retry_after": None}, "sizes": []})
ODD = json.dumps({"outcome": {"exit_code": 0}, "sizes": []})


@pytest.mark.parametrize(
    ("answer", "raised", "retry_after"),
    [
        (b"", Unavailable, None),
        (b"nonsense\r\n\r\n", Unavailable, None),
        (head(b""), Unavailable, None),
        (head(struct.pack(">I", 0) * 3), Unavailable, None),
        (head(struct.pack(">I", 99) + b"{"), Unavailable, None),
        (head(struct.pack(">I", len(ODD)) + ODD.encode()), Unavailable, None),
        (head(struct.pack(">I", len(FAULT)) + FAULT.encode()), Refused, None),
        (head(b'{"error": "full"}', b"503 Busy", b"retry-after: 2.5\r\n"), Unavailable, 2.5),
        (head(b"<html>", b"500 Oops"), Unavailable, None),
        (head(b'{"error": "gone"}', b"404 No"), Missing, None),
        (head(b'{"error": "bad"}', b"400 No"), Refused, None),
    ],
)
def test_odd_answers_are_endings_of_ours(
    tmp_path: Path, answer: bytes, raised: type[Exception], retry_after: float | None
) -> None:
    with answering(tmp_path, answer) as client, pytest.raises(raised) as caught:
        client.certify("r", "sha256:" + "0" * 64, SLOW, EMPTY, look)
    assert type(caught.value) is raised
    assert getattr(caught.value, "retry_after", None) == retry_after


# -- with one -------------------------------------------------------------------------------------


@pytest.mark.docker
def test_looking_away_kills_the_container(running: Service) -> None:
    calls: list[float] = []

    def cancel() -> None:
        calls.append(time.monotonic())
        if len(calls) == 2:
            raise Cancelled

    asked = sh("sleep 999", seconds=999)
    began = time.monotonic()
    with pytest.raises(Cancelled):
        running.client.certify("cancelled", running.image, asked, EMPTY, cancel)
    assert calls[1] - began < PATIENCE  # long before the check's own end
    gone("cancelled")


@pytest.mark.docker
def test_a_cancelled_check_in_a_box_ends_the_box(running: Service) -> None:
    def cancel() -> None:
        raise Cancelled

    box = running.client.open("boxed", running.image, EMPTY)
    with pytest.raises(Cancelled):
        box.run(SLOW, {}, cancel)
    gone("boxed")
    with pytest.raises(Missing):
        box.run(SLOW, {}, look)


@pytest.mark.docker
def test_a_thousand_files_arrive_as_they_are(running: Service) -> None:
    files = {f"d{n % 20}/f{n}.txt": b"%d" % n * 500 for n in range(1000)}
    asked = sh(
        "find . -type f | wc -l; cat d7/f987.txt | wc -c; "
        "test $(stat -c %u d7/f987.txt) = $(id -u) && echo own; stat -c %a d7/f987.txt"
    )
    found = running.client.certify("many", running.image, asked, tar_of(files), look)
    assert found.stdout.split() == [b"1000", b"1500", b"own", b"644"]


@pytest.mark.docker
def test_a_box_outlives_its_checks_limits(running: Service) -> None:
    box = running.client.open("lasting", running.image, tar_of({"a": b"1"}))
    try:
        hog = "python3 -c \"b = [b'x' * (1 << 20) for _ in range(4000)]\""
        assert box.run(sh("sleep 9 & setsid sleep 9 & wait", seconds=1), {}, look).limit == "time"
        assert box.run(sh(hog), {}, look).limit == "memory"
        assert box.run(sh("cat a; exit 4"), {}, look).exit_code == 4
        assert box.run(sh("ps 2>/dev/null; ls /proc | grep -c '^[0-9]'"), {}, look).exit_code == 0
    finally:
        box.close()
    gone("lasting")


@pytest.mark.docker
def test_a_box_belongs_to_its_run(running: Service) -> None:
    box = running.client.open("mine", running.image, EMPTY)
    try:
        name = box._name
        with httpx.Client(transport=httpx.HTTPTransport(uds=running.socket)) as http:
            answer = http.delete(f"http://sandbox/boxes/{name}", params={"run": "other"})
        assert answer.status_code == 404
        stranger = type(box)(running.client, "other", name)
        with pytest.raises(Missing):
            stranger.run(sh("exit 0"), {}, look)
        assert box.run(sh("exit 0"), {}, look).exit_code == 0
    finally:
        box.close()


@pytest.mark.docker
def test_stopping_a_run_ends_its_checks_and_boxes_only(running: Service) -> None:
    box = running.client.open("ended", running.image, EMPTY)
    other = running.client.open("kept", running.image, EMPTY)
    aside = slowly(running, "ended-too")
    try:
        assert running.client.stop("ended") == 1
        with pytest.raises(Missing):
            for _ in range(100):
                box.run(sh("exit 0"), {}, look)
        assert running.client.stop("ended-too") == 1
        assert isinstance(aside.join(), Missing)
        assert other.run(sh("exit 0"), {}, look).exit_code == 0
    finally:
        other.close()
    gone("ended")
    gone("ended-too")


@pytest.mark.docker
def test_a_full_sandbox_says_when_to_come_back() -> None:
    engine_or_skip()
    with service(concurrency=1, boxes=1) as small:
        aside = slowly(small, "first")
        with pytest.raises(Unavailable, match="in use") as caught:
            small.client.certify("second", small.image, SLOW, tar_of({"big": bytes(5 << 20)}), look)
        assert caught.value.retry_after is not None
        box = small.client.open("first", small.image, EMPTY)  # boxes have places of their own
        with pytest.raises(Unavailable, match="in use"):
            small.client.open("second", small.image, EMPTY)
        box.close()
        small.client.stop("first")
        assert isinstance(aside.join(), Missing)
        gone("first")
        until(lambda: tried(small, "second", sh("exit 2")) == 2)


@pytest.mark.docker
def test_a_caller_that_hangs_up_in_mid_sending_frees_its_place() -> None:
    engine_or_skip()
    with service(concurrency=1) as small:
        head = {"run": "r", "image": small.image, "job": _job(sh("exit 0"))}
        text = json.dumps(head).encode()
        body = struct.pack(">I", len(text)) + text + struct.pack(">Q", 1 << 20) + bytes(9)
        for _ in range(2):
            with socket.socket(socket.AF_UNIX) as raw:
                raw.connect(small.socket)
                raw.sendall(b"POST /certify HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\n")
                raw.sendall(body)
        until(lambda: tried(small, "r", sh("exit 0")) == 0)


@pytest.mark.docker
def test_ceilings_of_the_operator_hold() -> None:
    engine_or_skip()
    with service(seconds=1, memory=64 << 20, tree=1 << 20) as tight:
        found = tight.client.certify("r", tight.image, SLOW, EMPTY, look)
        assert (found.limit, found.exit_code) == ("time", 137)
        with pytest.raises(Refused, match="over the limit") as caught:
            tight.client.certify("r", tight.image, SLOW, bytes(3 << 20), look)
        assert caught.value.status == 413
    with service(seconds=120, memory=64 << 20) as small:  # a busy machine must not end it first
        hog = sh("exec python3 -c \"b = [b'x' * (1 << 20) for _ in range(900)]\"", seconds=120)
        assert small.client.certify("r", small.image, hog, EMPTY, look).limit == "memory"


@pytest.mark.docker
def test_requests_are_read_strictly(running: Service) -> None:
    good = sh("exit 0")
    for bad in (
        replace(good, argv=()),
        replace(good, argv=("a\0b",)),
        replace(good, env={"A=B": "x"}),
        replace(good, seconds=0),
        replace(good, memory=1),
        replace(good, output_cap=1 << 40),
    ):
        with pytest.raises(Refused):
            running.client.certify("r", running.image, bad, EMPTY, look)
    for run in ("", "../x", "a b", "x" * 200):
        with pytest.raises(Refused):
            running.client.certify(run, running.image, good, EMPTY, look)
    text = json.dumps({"run": "r", "image": running.image, "mounts": ["/:/host"]}).encode()
    with httpx.Client(transport=httpx.HTTPTransport(uds=running.socket)) as http:
        body = struct.pack(">I", len(text)) + text
        answer = http.post("http://sandbox/boxes", content=body)
        assert answer.status_code == 400
        assert "mounts" in answer.json()["error"]
        assert http.post("http://sandbox/certify", content=b"\xff" * 9).status_code == 413
        assert http.post("http://sandbox/certify", content=b"").status_code == 400
        assert http.post("http://sandbox/images", content=b"[]").status_code == 400


@pytest.mark.docker
def test_a_broken_tree_is_no_result_of_the_check(running: Service) -> None:
    found = running.client.certify("r", running.image, sh("exit 0"), b"no tar at all" * 99, look)
    assert found.exit_code is None
    assert "unpacked" in found.error
    with pytest.raises(Refused, match="unpacked"):
        running.client.open("r", running.image, b"no tar at all" * 99)
