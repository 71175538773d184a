"""Other machines: runners that come in with certificates, engines behind TLS and behind ssh."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import sys
import threading
import time
from pathlib import Path

import pytest
from docker.errors import DockerException

from app.domain.errors import Missing, Refused, Unavailable
from tests.patience import until
from tests.worker.sandbox.certificates import Authority
from tests.worker.sandbox.relay import ENGINE, relay, secure_relay
from tests.worker.sandbox.running import (
    EMPTY,
    engine_or_skip,
    gone,
    look,
    ours,
    own,
    service,
    sh,
    tar_of,
)
from worker.runner.boxes import SandboxClient
from worker.sandbox import doors
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine, faults
from worker.sandbox.image import ensure_default
from worker.sandbox.tunnel import reached

TREE = {f"d{n % 20}/f{n}.txt": b"%d" % n * 500 for n in range(1000)}


def clock() -> float:
    return time.time()


def server(folder: Path) -> ssl.SSLContext:
    return doors.tls(str(folder))


# -- the sandbox's own second door ----------------------------------------------------------------


@pytest.mark.docker
def test_a_runner_on_another_machine_comes_in_with_its_certificate_only(tmp_path: Path) -> None:
    engine_or_skip()
    authority = Authority.made()
    own, theirs = authority.folder(tmp_path / "own"), authority.folder(tmp_path / "theirs")
    strange = Authority.made("another").folder(tmp_path / "strange")
    (strange / "ca.pem").write_bytes((own / "ca.pem").read_bytes())
    remote = {"remote": ["127.0.0.1:0", str(own)]}
    with service(tmp_path, choices=remote, concurrency=1) as started:
        log = (tmp_path / "sandbox.log").read_text()
        port = int(re.findall(r"with TLS, on \('127\.0\.0\.1', (\d+)\)", log)[0])
        address = f"https://127.0.0.1:{port}"
        client = SandboxClient(address, str(theirs)).of("17")
        image = client.image("")[0]
        assert image == started.image
        found = client.certify("far", image, sh("find . -type f | wc -l"), tar_of(TREE), look)
        assert found.stdout.strip() == b"1000"
        box = client.open("far", image, EMPTY)
        assert box.run(sh("cat a; exit 3"), {"a": b"laid"}, look).exit_code == 3
        assert client.stop("far") == 1
        with pytest.raises(Missing):
            for _ in range(100):
                box.run(sh("exit 0"), {}, look)
        stranger = SandboxClient(address, str(strange))
        assert not stranger.healthy()
        with pytest.raises(Unavailable, match="connection broke"):
            stranger.image("")
        with socket.create_connection(("127.0.0.1", port), 60) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                assert not plain.recv(99).startswith(b"HTTP/1.1 200")
        for one in (client, stranger):
            one.close()
        assert started.client.healthy()
        assert started.stop() == 0


def test_a_second_door_without_certificates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"set PATCHWARRANT_SANDBOX_TLS to a folder"):
        doors.tls("")
    with pytest.raises(Refused, match=r"lacks ca\.pem, cert\.pem, key\.pem"):
        doors.tls(str(tmp_path))
    own = Authority.made().folder(tmp_path / "own")
    (own / "key.pem").chmod(0o644)
    with pytest.raises(Refused, match="chmod 600"):
        doors.tls(str(own))
    (own / "key.pem").chmod(0o600)
    for address in ("nonsense", "127.0.0.1:99999", "127.0.0.1:x"):
        remote = doors.Remote(address, str(own))
        with pytest.raises(Refused, match="address:port"), doors.far(remote):
            pass
    (own / "cert.pem").write_text("nonsense")
    with pytest.raises(Refused, match="cannot be read"):
        doors.tls(str(own))


def test_a_runner_without_certificates_says_which_are_missing(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="PATCHWARRANT_SANDBOX_TLS"):
        SandboxClient("https://127.0.0.1:9", str(tmp_path))


# -- an engine on another machine -----------------------------------------------------------------


@pytest.mark.docker
def test_an_engine_behind_tls_runs_checks(tmp_path: Path) -> None:
    engine_or_skip()
    authority = Authority.made()
    far, near = authority.folder(tmp_path / "far"), authority.folder(tmp_path / "near")
    with secure_relay(server(far)) as (_, address):
        choices = {"docker_host": address, "certs": str(near)}
        with service(tmp_path, choices=choices, ahead=1) as started:
            asked = sh("find . -type f | wc -l; yes | head -c 3000000; exit 7")
            found = started.client.certify("tls", started.image, asked, tar_of(TREE), look)
            assert (found.exit_code, found.seen[0]) == (7, 3_000_005)
            assert found.stdout.startswith(b"1000\ny\n")
            slow = sh("sleep 60", seconds=1)
            assert started.client.certify("tls", started.image, slow, EMPTY, look).limit == "time"
        assert gone("tls")
        other = Authority.made("another").folder(tmp_path / "other")
        with pytest.raises(Unavailable, match="certificate is not of the CA"):
            Engine(address, certs=str(other))


SSH = """#!{python}
import os, socket, sys, threading
near, far = sys.argv[sys.argv.index("-L") + 1].split(":")
def copy(a, b):
    try:
        while piece := a.recv(65536): b.sendall(piece)
        b.shutdown(socket.SHUT_WR)
    except OSError: pass
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(near)
    listening.listen(64)
    open(os.environ["STARTED"], "a").write(str(os.getpid()) + "\\n")
    while True:
        one = listening.accept()[0]
        other = socket.socket(socket.AF_UNIX)
        other.connect(far)
        for pair in ((one, other), (other, one)):
            threading.Thread(target=copy, args=pair, daemon=True).start()
"""


@pytest.mark.docker
def test_an_engine_behind_ssh_is_reached_and_again_after_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ssh` is stood in for by a program that forwards as it would; the engine is the real one."""
    engine_or_skip()
    started = tmp_path / "started"
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH.replace("{python}", sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("STARTED", str(started))
    with reached(f"ssh://me@far{ENGINE}") as near:
        with Engine(near) as engine:
            assert ensure_default(engine, lambda _: None).startswith("sha256:")
        first = int(started.read_text().split()[0])
        os.kill(first, 9)
        until(lambda: len(started.read_text().split()) == 2)
        with Engine(near) as engine:
            assert engine.facts.version
    second = int(started.read_text().split()[1])
    until(lambda: not Path(f"/proc/{second}").exists())


def test_ssh_that_does_not_get_through_is_a_sentence() -> None:
    with (
        pytest.raises(Unavailable, match=r"by ssh did not open: .*refused"),
        reached("ssh://nobody@127.0.0.1:1"),
    ):
        pass


# -- engines that fail ----------------------------------------------------------------------------


@pytest.mark.docker
def test_f17_an_engine_that_goes_away_in_mid_check_is_no_result(tmp_path: Path) -> None:
    engine_or_skip()
    with (
        relay(tmp_path) as (way, address),
        service(tmp_path, choices={"docker_host": address}) as started,
    ):
        assert (
            started.client.certify("f17", started.image, sh("exit 4"), EMPTY, look).exit_code == 4
        )
        seen: list[int] = []

        def cutting() -> None:
            if not seen and any(one.running for one in ours("f17")):
                seen.append(1)
                way.cut()

        with pytest.raises(Unavailable):
            started.client.certify(
                "f17", started.image, sh("sleep 999", seconds=999), EMPTY, cutting
            )
        with pytest.raises(Unavailable, match="engine"):
            started.client.certify("f17", started.image, sh("exit 0"), EMPTY, look)
        until(lambda: not any(one.running for one in ours("f17")))
        way.away = False
        found = started.client.certify("f17", started.image, sh("exit 5"), EMPTY, look)
        assert (found.exit_code, found.limit) == (5, "")


@pytest.mark.docker
def test_f18_a_container_whose_making_was_not_answered_is_removed(tmp_path: Path) -> None:
    engine_or_skip()
    with relay(tmp_path) as (way, address), Engine(address) as engine:
        image = ensure_default(engine, lambda _: None)
        maker = Maker.of(engine, "", clock)
        way.loses = b"POST /v1.41/containers/create"
        with pytest.raises(Unavailable, match="creating a container"):
            maker.make(own("f18"), image, 64 << 20, 60)
        assert way.lost == 1
        way.loses = b""
        assert ours("f18") == []
        maker.make(own("f18"), image, 64 << 20, 60).remove()


@pytest.mark.docker
def test_f18_an_engine_that_hangs_is_given_up(tmp_path: Path) -> None:
    engine_or_skip()
    with relay(tmp_path) as (way, address):
        way.hangs = True
        began = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer in time"):
            Engine(address, timeout=1)
        assert time.monotonic() - began < 60


def test_p71_an_engine_of_another_age_is_told_with_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "future.sock"
    body = b'{"ApiVersion":"1.99","MinAPIVersion":"1.60","Components":[]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            with listening.accept()[0] as one:
                one.recv(1 << 16)
                one.sendall(answer % (len(body), body))

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(Refused, match=r"API 1\.60 to 1\.99 and this program 1\.41 to 1\.52"):
            Engine(f"unix://{path}")
        thread.join(60)


def test_p71_a_socket_that_may_not_be_opened_says_what_to_do(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        with pytest.raises(Unavailable, match="add it to the group"), faults("asking"):
            raise DockerException(
                "('Connection aborted.', PermissionError(13, 'Permission denied'))"
            )
        return
    path = tmp_path / "closed.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        path.chmod(0)
        with pytest.raises(Unavailable, match="add it to the group"):
            Engine(f"unix://{path}")
