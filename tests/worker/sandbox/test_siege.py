"""What one check, one caller or one set-up leaves behind never stops the sandbox or another one."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.domain.check import Outcome
from app.domain.errors import Missing, Unavailable
from tests.patience import PATIENCE, until
from tests.worker.sandbox.certificates import Authority
from tests.worker.sandbox.running import (
    EMPTY,
    Service,
    engine_or_skip,
    look,
    python,
    running,
    service,
    sh,
    tar_of,
)
from worker.runner.boxes import SandboxClient
from worker.sandbox import folders, services, setup_engine
from worker.sandbox.cell import SETUP_SECONDS, _unanswered
from worker.sandbox.container import Ending
from worker.sandbox.engine import Users
from worker.sandbox.keeper import birth, space
from worker.sandbox.profile import USERS
from worker.sandbox.protocol import Bounds, Cut, Inbox

__all__ = ["running"]
MIB = 1 << 20
DEEP = """
import os, sys
for name, size in (("a", 200), ("b", 100)):
    with open(name, "wb") as out:
        for _ in range(size): out.write(bytes(1 << 20))
for _ in range(1900):
    os.mkdir("d"); os.chdir("d")
sys.exit(1)
"""
EXHAUST = """
import ctypes, time
libc = ctypes.CDLL(None)
held = 0
while held < 2000 and libc.inotify_init() >= 0: held += 1
print(held)
time.sleep(4)
"""
ASKS = """
import ctypes, os, time
libc, end = ctypes.CDLL(None), time.monotonic() + 3
while time.monotonic() < end:
    one = libc.inotify_init()
    if one < 0: raise SystemExit(9)
    os.close(one)
    time.sleep(0.02)
"""


def certify(running: Service, asked: object, tar: bytes = EMPTY) -> Outcome:
    return running.client.certify("siege", running.image, asked, tar, look)  # type: ignore[arg-type]


@pytest.mark.docker
def test_a_tree_too_deep_to_walk_is_a_failed_check(running: Service) -> None:
    found = certify(running, python(DEEP))
    assert (found.exit_code, found.limit) == (1, "")


@pytest.mark.docker
def test_a_tree_of_too_many_files_is_a_limit_and_quick(running: Service) -> None:
    many = tar_of({f"{'name' * 20}{n}": b"" for n in range(103_000)})
    began = time.monotonic()
    found = certify(running, sh("true"), many)
    assert (found.exit_code, found.limit, found.ceiling) == (None, "inodes", 100_000)
    assert time.monotonic() - began < SETUP_SECONDS  # by far, where nothing else is at work


@pytest.mark.docker
def test_a_file_of_the_tree_over_the_size_limit_is_that_limit(running: Service) -> None:
    large = tar_of({"large": bytes(300 * MIB)})
    found = certify(running, sh("true"), large)
    assert (found.exit_code, found.limit, found.ceiling) == (None, "file-size", 256 * MIB)


@pytest.mark.docker
def test_only_a_measured_limit_is_one(running: Service) -> None:
    found = certify(running, sh("exit 153"))
    assert (found.exit_code, found.limit) == (153, "")


class Dead:
    """A container whose PID 1 ended without an answer."""

    cut = Cut.NONE

    def __init__(self, code: int) -> None:
        self.code = code

    def ending(self) -> Ending:
        return Ending(self.code, killed_for_memory=False)


def test_a_runner_that_falls_over_what_a_check_left_is_the_checks_failure() -> None:
    inbox = Inbox(0)
    inbox.said += b"RecursionError: too deep"
    found = _unanswered(Dead(1), inbox, Bounds(5, MIB))  # type: ignore[arg-type]
    assert (found.exit_code, found.limit) == (1, "")
    assert "RecursionError" in found.error
    with pytest.raises(Exception, match="ended early with 137"):
        _unanswered(Dead(137), inbox, Bounds(5, MIB))  # type: ignore[arg-type]


# -- one user each --------------------------------------------------------------------------------


@pytest.mark.docker
def test_what_the_kernel_counts_for_a_user_is_no_other_checks_trouble(running: Service) -> None:
    greedy, other = (running.client.open("siege", running.image, EMPTY) for _ in range(2))
    try:
        names = [box.run(sh("id -u"), {}, look).stdout for box in (greedy, other)]
        assert names[0] != names[1]
        assert all(int(name) in USERS for name in names)
        found: list[Outcome] = []
        holding = threading.Thread(
            target=lambda: found.append(greedy.run(python(EXHAUST), {}, look))
        )
        holding.start()
        assert other.run(python(ASKS), {}, look).exit_code == 0
        holding.join()
        assert 0 < int(found[0].stdout) < 2000, "the limit was met, so that it could have hurt"
    finally:
        greedy.close()
        other.close()


@pytest.mark.docker
def test_a_check_knows_its_own_name(running: Service) -> None:
    found = certify(running, python("import os, pwd; print(pwd.getpwuid(os.getuid()).pw_dir)"))
    assert found.stdout == b"/tmp\n", found.stderr


def test_a_user_is_handed_out_once_at_a_time() -> None:
    users = Users(range(10, 13), 2)
    assert [users.take() for _ in range(3)] == [12, 10, 11]
    with pytest.raises(Exception, match="all 3 users"):
        users.take()
    users.give(10)
    assert users.take() == 10


# -- services -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("HostConfig", "CapDrop", []),
        ("HostConfig", "ReadonlyRootfs", False),
        ("HostConfig", "SecurityOpt", ["no-new-privileges:true"]),
        ("HostConfig", "Ulimits", []),
        ("HostConfig", "Tmpfs", {}),
        ("HostConfig", "Runtime", "other"),
        ("HostConfig", "ExtraHosts", ["x:192.0.2.1"]),
        ("HostConfig", "CapAdd", ["SETUID"]),
        ("HostConfig", "Binds", ["/:/host"]),
        ("Config", "User", "0:0"),
    ],
)
def test_a_service_that_the_engine_makes_weaker_is_noticed(
    part: str, key: str, value: object
) -> None:
    options = services.host_options("none", MIB, 60_600, "runc", ("/data",))
    asked = {"User": "60600:65534", "HostConfig": options}
    made = {"HostConfig": dict(options), "Config": {"User": "60600:65534"}}
    assert services.weaker(made, asked, swap_limit=True) == []
    made[part][key] = value
    (said,) = services.weaker(made, asked, swap_limit=True)
    assert said.startswith(key)
    waiter = services.host_options("none", MIB, 60_600, "runc")
    bare = {"HostConfig": {**waiter, "Tmpfs": None, "ExtraHosts": ["a:127.0.0.1"]}}
    named = {"User": "", "HostConfig": {**waiter, "ExtraHosts": ["a:127.0.0.1"]}}
    bare["Config"] = {"User": ""}
    assert services.weaker(bare, named, swap_limit=True) == []
    mounted = {**made, "Mounts": [{"Type": "volume"}]}
    assert any(one.startswith("Mounts") for one in services.weaker(mounted, asked, swap_limit=True))


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("HostConfig", "Runtime", "runc"),
        ("HostConfig", "CapDrop", []),
        ("HostConfig", "CapAdd", ["SYS_ADMIN"]),
        ("HostConfig", "SecurityOpt", []),
        ("HostConfig", "NetworkMode", "bridge"),
        ("HostConfig", "PidsLimit", 0),
        ("HostConfig", "Memory", 0),
        ("HostConfig", "Privileged", True),
        ("HostConfig", "Devices", [{"PathOnHost": "/dev/kmsg"}]),
        ("HostConfig", "Binds", ["/:/run/patchwarrant:ro"]),
        ("Config", "User", "1:1"),
    ],
)
def test_a_builder_that_the_engine_makes_weaker_is_noticed(
    part: str, key: str, value: object
) -> None:
    options = setup_engine.host_options(MIB, "/tmp/seen", "runsc")
    asked = {"User": "0:0", "HostConfig": options}
    caps = [f"CAP_{one}" for one in reversed(options["CapAdd"])]  # as newer engines tell it
    mount = {"Source": "/tmp/seen", "Destination": "/run/patchwarrant", "RW": False}
    made: dict[str, Any] = {
        "HostConfig": {**options, "CapAdd": caps},
        "Config": {"User": "0:0"},
        "Mounts": [mount],
    }
    assert setup_engine.weaker(made, asked, swap_limit=True) == []
    made[part][key] = value
    (said, *_) = setup_engine.weaker(made, asked, swap_limit=True)
    assert said.startswith(key)
    for mounts in ([], [mount, mount], [{**mount, "RW": True}]):
        told = setup_engine.weaker({**made, "Mounts": mounts}, asked, swap_limit=True)
        assert told[-1].startswith("Mounts")


# -- callers --------------------------------------------------------------------------------------


@pytest.mark.docker
def test_a_run_is_stopped_by_its_own_installation_only(running: Service) -> None:
    mine, other = running.client.of("1"), running.client.of("2")
    box = mine.open("siege-stop", running.image, EMPTY)
    assert other.stop("siege-stop") == 0
    other.forget("siege-stop", box._name)
    assert box.run(sh("exit 4"), {}, look).exit_code == 4
    assert mine.stop("siege-stop") == 1
    with pytest.raises(Missing):
        for _ in range(200):
            box.run(sh("exit 0"), {}, look)


@pytest.mark.docker
def test_laid_files_are_read_in_linear_time(running: Service) -> None:
    box = running.client.open("siege", running.image, EMPTY)
    try:
        began = time.monotonic()
        files = {"large": bytes(50 * MIB)}
        assert box.run(sh("stat -c %s large"), files, look).stdout == b"%d\n" % (50 * MIB)
        assert time.monotonic() - began < 60
    finally:
        box.close()


@pytest.mark.docker
def test_strangers_at_the_tls_door_do_not_keep_callers_out(tmp_path: Path) -> None:
    engine_or_skip()
    authority = Authority.made()
    own, theirs = authority.folder(tmp_path / "own"), authority.folder(tmp_path / "theirs")
    remote = {"remote": ["127.0.0.1:0", str(own)]}
    with contextlib.ExitStack() as stack:
        started = stack.enter_context(service(tmp_path, choices=remote, files=256, concurrency=1))
        log = (tmp_path / "sandbox.log").read_text()
        port = int(re.findall(r"with TLS, on \('127\.0\.0\.1', (\d+)\)", log)[0])
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        assert started.client.healthy()
        far = SandboxClient(f"https://127.0.0.1:{port}", str(theirs))
        stack.callback(far.close)
        # A try may come while strangers still wait on a busy machine: a caller asks again, and who
        # says nothing is gone after the handshake's time.
        until(far.healthy)
        until(lambda: asked_again(far, started.image) == 5)
        assert started.stop() == 0


def asked_again(far: SandboxClient, image: str) -> int | None:
    try:
        return far.certify("siege", image, sh("exit 5"), EMPTY, look).exit_code
    except Unavailable:
        return None


# -- what is left ---------------------------------------------------------------------------------


def test_folders_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    kept = [f"pw-setup-{space()}-1-{birth(1)}-a", "pw-ssh-other-boot-1-2-b", "other"]
    gone = [f"pw-setup-{space()}-{dead.pid}-1-a", f"pw-ssh-{space()}-1-12-c"]
    for name in (*kept, *gone):
        (tmp_path / name / "below").mkdir(parents=True)
    assert folders.sweep(time.time(), tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    assert folders.sweep(time.time() + 3 * 86_400, tmp_path) == 1


def test_a_temporary_folder_tells_whose_it_is_and_goes() -> None:
    with folders.temporary("pw-ssh-") as made:
        assert folders.sweep(time.time(), made.parent) >= 0
        assert made.is_dir()
    assert not made.exists()


PARENT = """
import subprocess, sys, time
from worker.sandbox.folders import tied
made = subprocess.Popen(tied(["sleep", "99"]))
print(made.pid, flush=True)
time.sleep(99)
"""


def test_a_tied_child_ends_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until(lambda: b"sleep" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0])
        born = birth(child)
        parent.send_signal(signal.SIGKILL)
        until(lambda: birth(child) != born or _zombie(child))


def _zombie(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return ") Z" in Path(f"/proc/{pid}/stat").read_text()
    return True
