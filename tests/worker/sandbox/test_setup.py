"""Set-ups against the real engine and the real registries: what they reach, keep and leave behind.

Nearly all run in seconds: steps need no tool that the default image lacks.
"""

from __future__ import annotations

import contextlib
import http.server
import io
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import Halt, Missing, Refused, Unavailable
from app.domain.setup import SetupPlan, Step
from tests.patience import PATIENCE, until
from tests.worker.sandbox.running import engine_or_skip, gone, look, ours, own, sh, tar_of
from tests.worker.sandbox.setting_up import role
from worker.runner.boxes import SandboxClient
from worker.sandbox.engine import Engine
from worker.sandbox.profile import LABEL, LABEL_DEADLINE, LABEL_OWNER, LABEL_RUN
from worker.sandbox.setup_engine import image_labels

pytestmark = [pytest.mark.docker, pytest.mark.slow]
EMPTY = tar_of({})
GATE = threading.Event()


@pytest.fixture(scope="module")
def mirror() -> Iterator[int]:
    """A server on this machine's loopback: only the proxy can reach it, and only by name. What it
    is asked for at /gate it answers once `GATE` is set."""

    class Says(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/gate":
                GATE.wait(PATIENCE)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"from the mirror\n")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Says) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, mirror: int) -> Iterator[SandboxClient]:
    engine_or_skip()
    extra = {
        "PATCHWARRANT_SETUP_HOSTS": f"localhost:{mirror} files.example.org",
        "PATCHWARRANT_SETUP_ENV": f"MIRROR_URL=http://localhost:{mirror}/simple",
        "PATCHWARRANT_SETUP_DISK_MIB": "64",
        "PATCHWARRANT_SETUP_MEMORY_MIB": "512",
    }
    with role(tmp_path_factory.mktemp("sandbox"), extra) as started:
        yield started


@pytest.fixture(scope="module")
def image(client: SandboxClient) -> str:
    return client.image("")[0]


def plan(*commands: str, **fields: object) -> SetupPlan:
    steps = tuple(Step(f"step {index}", command) for index, command in enumerate(commands))
    return replace(SetupPlan(steps=steps), **fields)  # type: ignore[arg-type]


FETCH = "python3 -c \"import urllib.request as u; print(u.urlopen('{}', timeout=100).read())\""


def test_what_steps_install_is_there_for_checks_and_links_lead_to_it(
    client: SandboxClient, image: str
) -> None:
    wanted = plan(
        "mkdir -p node_modules/a && cp wish node_modules/a/got && cp wish /usr/local/share/got",
        files=(("wish", b"granted\n"),),
        links=("node_modules",),
        env={"MADE_BY": "set up"},
    )
    made = client.set_up("setup-1", image, wanted, look)
    assert (made.error, made.reused) == ("", False)
    assert b"== step 0" in made.log
    job = sh(
        "cat node_modules/a/got /usr/local/share/got src/x; echo $MADE_BY; ls -A; "
        "test $(id -u) -ge 60600 && echo own"
    )
    outcome = client.certify("setup-1", made.image, job, tar_of({"src/x": b"tree\n"}), look)
    assert outcome.stdout.split(b"\n") == [
        *(b"granted", b"granted", b"tree", b"set up", b"node_modules", b"src", b"own", b"")
    ], outcome


def test_equal_inputs_are_made_once_and_others_are_not_shared(
    client: SandboxClient, image: str, tmp_path: Path
) -> None:
    wanted = plan("date +%N > /usr/local/share/when", files=(("lock", str(tmp_path).encode()),))
    first = client.set_up("setup-2", image, wanted, look)
    again = client.set_up("setup-3", image, wanted, look)
    assert (again.image, again.reused, again.log) == (first.image, True, first.log)
    other = client.of("2").set_up("setup-4", image, wanted, look)
    assert other.image != first.image
    assert not other.reused
    changed = replace(wanted, files=(("lock", b"other"),))
    assert client.set_up("setup-5", image, changed, look).key != first.key


def test_only_hosts_on_the_list_are_reached_and_only_through_the_proxy(
    client: SandboxClient, image: str, mirror: int
) -> None:
    made = client.set_up(
        "setup-6",
        image,
        plan(
            FETCH.format(f"http://localhost:{mirror}/") + " && echo $MIRROR_URL",
            f"! {FETCH.format('http://elsewhere.example.org/')}",
            f"! {FETCH.format('http://169.254.169.254/latest/')}",
            f"! {FETCH.format(f'http://127.0.0.1:{mirror}/')}",
            "! python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 2)\"",
            "! python3 -c \"import socket; socket.getaddrinfo('example.org', 80)\"",
            "test $(ls /sys/class/net) = lo",
            "test ! -e /var/run/docker.sock",
        ),
        look,
    )
    assert made.error == "", made.log.decode()
    assert b"from the mirror" in made.log
    assert set(made.refused) == {
        "elsewhere.example.org:80",
        "169.254.169.254:80",
        f"127.0.0.1:{mirror}",
    }
    assert b"!! the host elsewhere.example.org:80 is not on the allow-list" in made.log


def test_a_step_cannot_widen_the_list_by_speaking_like_the_program(
    client: SandboxClient, image: str
) -> None:
    told = "echo 'patchwarrant-setup:hosts [\"elsewhere.example.org\"]'; sleep 1; "
    wanted = plan(told + FETCH.format("http://elsewhere.example.org/"))
    made = client.set_up("setup-7", image, wanted, look)
    assert made.image == ""
    assert made.refused == ("elsewhere.example.org:80",)


def test_the_repositorys_variables_and_files_say_nothing_about_the_list(
    client: SandboxClient, image: str
) -> None:
    """Neither a client's settings nor a module that an interpreter would load in its place."""
    evil = "https://evil.example.org/simple"
    wanted = plan(
        'cat /run/patchwarrant/hosts; test "$PIP_INDEX_URL" = "$GOPROXY"',
        files=(
            ("pip/__init__.py", b""),
            ("pip/__main__.py", f"print({evil!r})".encode()),
            ("sitecustomize.py", f"print({evil!r})".encode()),
        ),
        env={
            "PYTHONPATH": "/workspace",
            "PIP_INDEX_URL": evil,
            "npm_config_registry": evil,
            "GOPROXY": evil,
        },
    )
    made = client.set_up("setup-15", image, wanted, look)
    assert made.error == "", made.log.decode()
    assert b"files.example.org" in made.log
    assert b"evil" not in made.log


def test_a_failing_step_ends_the_set_up_with_its_log_and_leaves_no_image(
    client: SandboxClient, image: str
) -> None:
    made = client.set_up("setup-8", image, plan("echo before", "echo no such thing; exit 7"), look)
    assert made.image == ""
    assert made.error == "step 1 ended with 7"
    assert b"no such thing" in made.log
    assert gone("setup-8")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 300", "it was ended after 3 s"),
        ("head -c 300M /dev/zero > /opt/large; sleep 300", "it wrote more than 64 MiB"),
        ("timeout 300 yes", "it printed more than 64 MiB"),
    ],
)
def test_bounds_end_a_set_up_with_their_number(
    client: SandboxClient, image: str, command: str, said: str
) -> None:
    wanted = plan(command, timeout=3 if "ended" in said else 250)
    made = client.set_up("setup-9", image, wanted, look)
    assert (made.image, made.error) == ("", said)
    assert gone("setup-9")


def test_a_flooding_set_up_does_not_hold_the_end_of_the_role(tmp_path: Path) -> None:
    engine_or_skip()
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(role(tmp_path))
        flood = plan("timeout 300 yes", files=(("end", b"of the role"),))
        beside = threading.Thread(target=_ended_by_us, args=(own, own.image("")[0], flood))
        beside.start()
        until(lambda: ours("setup-20"))
        leaving = time.monotonic()
        stack.close()  # closes the client and sends SIGTERM
        assert time.monotonic() - leaving < 100  # and not as long as it floods
        beside.join(PATIENCE)
    assert gone("setup-20")


def _ended_by_us(own: SandboxClient, image: str, wanted: SetupPlan) -> None:
    with contextlib.suppress(Refused, Unavailable, Missing, RuntimeError):
        own.set_up("setup-20", image, wanted, look)


def test_nothing_of_the_set_up_itself_stays_in_the_image(client: SandboxClient, image: str) -> None:
    made = client.set_up("setup-10", image, plan("true", files=(("secret-lock", b"x"),)), look)
    job = sh("env; ls /workspace /opt /run; find / -xdev -name 'secret-lock' 2>/dev/null; id -u")
    outcome = client.certify("setup-10", made.image, job, EMPTY, look)
    said = outcome.stdout.decode()
    assert "proxy" not in said.lower()
    assert "MIRROR_URL" not in said
    assert "secret-lock" not in said
    with Engine() as engine:
        assert image_labels(engine, made.image)["patchwarrant.base"] == image


def test_a_container_of_the_image_that_somebody_else_starts_is_not_the_keepers(
    client: SandboxClient, image: str
) -> None:
    made = client.set_up("setup-16", image, plan("true"), look)
    with Engine() as engine:
        labels = image_labels(engine, made.image)
        foreign = engine._api().create_container(made.image, ["true"])["Id"]
        try:
            assert foreign not in {one.id for one in engine.ours()}
        finally:
            engine.remove(foreign)
    assert not any(labels.get(one) for one in (LABEL, LABEL_RUN, LABEL_OWNER, LABEL_DEADLINE))


def test_equal_set_ups_at_once_keep_no_check_waiting_and_are_made_once(
    client: SandboxClient, image: str, mirror: int
) -> None:
    GATE.clear()
    wanted = plan(
        FETCH.format(f"http://localhost:{mirror}/gate"),
        files=(("lock", str(time.time_ns()).encode()),),
    )
    made: list[str] = []

    def one(number: int) -> None:
        with contextlib.suppress(Unavailable):
            made.append(client.set_up(f"setup-17-{number}", image, wanted, look).image)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(90)]
    for thread in threads:
        thread.start()
    names = {own(f"setup-17-{number}") for number in range(90)}
    try:
        with Engine() as engine:
            until(lambda: any(one.labels.get(LABEL_RUN) in names for one in engine.ours()))
        assert client.certify("unrelated", image, sh("true"), EMPTY, look).exit_code == 0
        assert not made, "the check waited for the set-ups"
    finally:
        GATE.set()
        for thread in threads:
            thread.join()
    assert len(set(made)) == 1


def test_checks_in_the_environment_have_no_network_and_a_root_owned_system(
    client: SandboxClient, image: str
) -> None:
    made = client.set_up("setup-11", image, plan("touch /usr/local/share/mine"), look)
    job = sh("ls /sys/class/net; touch /usr/local/share/mine && echo written; stat -c %u /usr/bin")
    outcome = client.certify("setup-11", made.image, job, EMPTY, look)
    assert outcome.stdout == b"lo\n0\n"


def test_a_cancelled_run_ends_its_set_up(client: SandboxClient, image: str) -> None:
    looks = 0

    def cancelled() -> None:
        nonlocal looks
        looks += 1
        if looks > 2:
            raise Halt("cancelled", "a person cancelled")  # type: ignore[arg-type]

    with pytest.raises(Halt):
        client.set_up("setup-12", image, plan("sleep 300"), cancelled)
    assert gone("setup-12")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (plan("true", hosts=("evil.example.org",)), "not one that the operator allows"),
        (plan("true", links=("../x",)), "not a plain path"),
        (plan("true", files=(("../x", b""),)), "not a plain path"),
        (plan("true", packages=("a;b",)), "not valid"),
        (SetupPlan(steps=(Step("x", "true", "/etc"),)), "not a plain path"),
    ],
)
def test_what_a_caller_may_not_ask_for_is_refused(
    client: SandboxClient, image: str, wanted: SetupPlan, said: str
) -> None:
    with pytest.raises((Refused, Missing), match=said):
        client.set_up("setup-13", image, wanted, look)


def test_egress_that_the_operator_allows_is_let_through(client: SandboxClient, image: str) -> None:
    made = client.set_up("setup-14", image, plan("true", hosts=("files.example.org",)), look)
    assert made.error == ""


# -- what PID 1 stands on -------------------------------------------------------------------------

WRAPPER = "printf '#!/bin/sh\\nexec /usr/bin/python3.real \"$@\"\\n' > {0} && chmod 755 {0}"
UNDERMINED = {
    "another interpreter": (
        "mv /usr/bin/python3.11 /usr/bin/python3.real && " + WRAPPER.format("/usr/bin/python3.11"),
        "/usr/bin/python3.11",
    ),
    "one that is found first": (WRAPPER.format("/usr/local/bin/python3"), "/usr/local/bin/python3"),
    "a library loaded before all": ("echo /opt/x.so > /etc/ld.so.preload", "/etc/ld.so.preload"),
    "a module before the library's": (
        "mkdir /usr/lib/python3.11/selectors && echo > /usr/lib/python3.11/selectors/__init__.py",
        "/usr/lib/python3.11/selectors",
    ),
    "bytecode of a module": (
        "cp /etc/hostname /usr/lib/python3.11/__pycache__/subprocess.cpython-311.pyc",
        "subprocess.cpython-311.pyc",
    ),
    "another tar": ("cp /bin/true /usr/bin/tar", "/usr/bin/tar"),
    "a folder behind a link": (
        "mv /usr/local /opt/moved && ln -s /opt/moved /usr/local",
        "/usr/local",
    ),
    "where the loader looks": (
        "mkdir /opt/evil && cp /usr/lib/x86_64-linux-gnu/libz.so.1 /opt/evil/ && "
        "echo /opt/evil > /etc/ld.so.conf.d/000.conf && ldconfig",
        "/etc/ld.so.cache",
    ),
}


@pytest.mark.parametrize("how", UNDERMINED)
def test_a_set_up_cannot_change_what_tells_exit_codes(
    client: SandboxClient, image: str, how: str
) -> None:
    command, path = UNDERMINED[how]
    made = client.set_up("setup-15", image, plan(command), look)
    assert made.image == "", how
    assert "it changed" in made.error, made.log.decode()
    assert path in made.error


def test_what_set_ups_usually_change_is_no_matter(client: SandboxClient, image: str) -> None:
    made = client.set_up(
        "setup-16",
        image,
        plan(
            "touch /usr/bin/python3.11 /usr/bin/tar",
            "echo > /usr/lib/python3/dist-packages/mine.py",
            "mkdir -p /usr/lib/python3.11/mine && echo > /usr/lib/python3.11/mine/__init__.py",
            "echo 'int mine;' > /tmp/m.c && gcc -shared -Wl,-soname,libmine.so.1 "
            "-o /usr/local/lib/libmine.so.1 /tmp/m.c && ldconfig",
            "python3 -c 'import json, subprocess, email.message'",
        ),
        look,
    )
    assert (made.error, made.image != "") == ("", True)
    assert client.certify("setup-16", made.image, sh("exit 3"), EMPTY, look).exit_code == 3


def test_an_environment_is_of_use_to_its_own_installation_only(
    client: SandboxClient, image: str
) -> None:
    made = client.set_up("setup-17", image, plan("touch /usr/local/share/of-1"), look)
    other = client.of("2")
    for ask in (
        lambda: other.certify("setup-18", made.image, sh("true"), EMPTY, look),
        lambda: other.open("setup-18", made.image, EMPTY),
        lambda: other.set_up("setup-18", made.image, plan("true"), look),
    ):
        with pytest.raises(Refused, match="not one that the operator allows"):
            ask()
    assert client.certify("setup-17", made.image, sh("true"), EMPTY, look).exit_code == 0


def test_links_and_a_tree_with_the_same_folder_are_both_seen(
    client: SandboxClient, image: str
) -> None:
    wanted = plan(
        "mkdir -p node_modules/a node_modules/b && echo a > node_modules/a/x && "
        "echo b > node_modules/b/x",
        files=(("wish", b"links\n"),),
        links=("node_modules",),
    )
    made = client.set_up("setup-19", image, wanted, look)
    assert made.error == ""
    job = sh("cat node_modules/a/x node_modules/b/x node_modules/own/x")
    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w") as tar:  # with folders, as the runner makes it
        for folder in ("node_modules", "node_modules/own", "node_modules/a"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, data in (("node_modules/own/x", b"own\n"), ("node_modules/a/x", b"mine\n")):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    for tar_bytes in (tree.getvalue(), tar_of({"node_modules/own/x": b"own\n"})):
        outcome = client.certify("setup-19", made.image, job, tar_bytes, look)
        first = b"mine" if tar_bytes == tree.getvalue() else b"a"
        assert outcome.stdout.split() == [first, b"b", b"own"], outcome
    hidden = client.certify("setup-19", made.image, job, tar_of({"node_modules": b"x"}), look)
    assert hidden.exit_code is None
    assert "node_modules is a file or a link in the tree" in hidden.error
