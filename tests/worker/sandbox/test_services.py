"""Services beside checks, with a real Redis out of the distribution's packages.

No image registry is needed: the service's image is made here, by a set-up and a commit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.domain.environment_config import ServiceConfig
from app.domain.errors import SERVICE_NOT_READY, Missing, Refused, Unavailable
from app.domain.setup import SetupPlan
from tests.patience import until
from tests.stack import descendants
from tests.worker.sandbox.running import (
    MARK,
    engine_or_skip,
    gone,
    look,
    ours,
    python,
    service,
    tar_of,
)
from tests.worker.sandbox.setting_up import role
from worker.runner.boxes import SandboxClient
from worker.sandbox.engine import Engine
from worker.sandbox.services import listening

pytestmark = [pytest.mark.docker, pytest.mark.slow]
EMPTY = tar_of({})
NAME = f"patchwarrant-test-redis:{MARK}"
LOST = f"patchwarrant-test-lost:{MARK}"
ASK = """
import socket, sys
with socket.create_connection(("cache", 6379), 60) as s:
    for line in sys.argv[1:]:
        s.sendall(line.encode() + b"\\r\\n")
        sys.stdout.write(s.recv(100).decode())
"""


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxClient]:
    engine_or_skip()
    with role(
        tmp_path_factory.mktemp("sandbox"), {"PATCHWARRANT_IMAGES": f"{NAME},{LOST}"}
    ) as started:
        base = started.image("")[0]
        made = started.set_up("redis", base, SetupPlan(packages=("redis-server",)), look)
        if not made.image:
            pytest.skip(f"no package of Redis: {made.error}")
        container = docker("create", made.image, "true")
        command = 'ENTRYPOINT ["redis-server", "--protected-mode", "no", "--save", ""]'
        docker("commit", "--change", command, container, NAME)
        docker("rm", container)
        yield started
        until(lambda: subprocess.run(["docker", "rmi", NAME], capture_output=True).returncode == 0)


def environment(client: SandboxClient, **fields: object) -> str:
    known: dict[str, object] = {"name": "cache", "image": NAME, "port": 6379, "timeout": 120}
    wanted = ServiceConfig(**{**known, **fields})  # type: ignore[arg-type]
    base = client.image("")[0]
    made = client.set_up("services", base, SetupPlan(services=(wanted,)), look)
    assert made.error == ""
    return made.image


def test_a_check_reaches_its_service_by_name_and_nothing_else(client: SandboxClient) -> None:
    image = environment(client, ready=("redis-cli", "ping"))
    outcome = client.certify("services-1", image, python(ASK + "\nimport os\n"
        "print(os.listdir('/sys/class/net'))\n"
        "try: socket.create_connection(('192.0.2.1', 80), 2)\n"
        "except OSError as e: print(e.errno)", ), EMPTY, look)  # fmt: skip
    assert outcome.stdout == b"['lo']\n101\n", outcome
    asked = python(ASK)
    asked = type(asked)(**{**asked.__dict__, "argv": (*asked.argv, "PING", "SET a 1", "GET a")})
    outcome = client.certify("services-1", image, asked, EMPTY, look)
    assert outcome.stdout == b"+PONG\r\n+OK\r\n$1\r\n1\r\n", outcome
    assert gone("services-1")


def test_each_check_has_services_of_its_own(client: SandboxClient) -> None:
    image = environment(client)
    asked = python(ASK)
    asked = type(asked)(**{**asked.__dict__, "argv": (*asked.argv, "INCR a")})
    with ThreadPoolExecutor(2) as two:
        found = [
            two.submit(client.certify, f"services-2{n}", image, asked, EMPTY, look)
            for n in range(2)
        ]
    assert [one.result().stdout for one in found] == [b":1\r\n", b":1\r\n"]


def test_a_box_keeps_its_services_as_long_as_it_lives(client: SandboxClient) -> None:
    image = environment(client)
    asked = python(ASK)
    asked = type(asked)(**{**asked.__dict__, "argv": (*asked.argv, "INCR a")})
    box = client.open("services-3", image, EMPTY)
    assert box.run(asked, {}, look).stdout == b":1\r\n"
    assert box.run(asked, {}, look).stdout == b":2\r\n"
    box.close()
    assert gone("services-3")


def test_a_service_that_does_not_get_ready_is_named_with_its_last_words(
    client: SandboxClient,
) -> None:
    image = environment(client, port=6380, timeout=10)  # it has said its first words by then
    with pytest.raises(Refused, match=r"'cache' was not ready on port 6380 .*port=6379"):
        client.certify("services-4", image, python("print(1)"), EMPTY, look)
    assert gone("services-4")


def test_the_memory_of_services_counts_where_it_is_decided_who_may_start(
    client: SandboxClient,
) -> None:
    """1,088 MiB beside 1,112 of the box's own: together all that there is."""
    image = environment(client)
    with service(total=2200 << 20, concurrency=4, boxes=2) as started:
        mine = started.client.of("1")
        box = mine.open("services-5", image, EMPTY)
        asked = python("print(1)", memory=64 << 20)
        with pytest.raises(Unavailable, match="memory for places for checks is in use"):
            mine.certify("services-6", started.image, asked, EMPTY, look)
        box.close()
        assert gone("services-5")
        until(lambda: said(mine, image) == b"1\n")


def said(client: SandboxClient, image: str) -> bytes:
    """What the check prints, nothing while the box's memory is not given back yet."""
    try:
        asked = python("print(1)", memory=64 << 20)
        return client.certify("services-6", image, asked, EMPTY, look).stdout
    except Unavailable:
        return b""


def test_an_image_that_the_operator_did_not_allow_is_refused(client: SandboxClient) -> None:
    with pytest.raises(Refused, match="not on the operator's list"):
        environment(client, image="postgres:16")


@pytest.mark.parametrize(
    ("ready", "said"),
    [
        (("sleep", "600"), "listens, but its `ready` did not end with 0 .*it has not ended"),
        (("sh", "-c", "exit 3"), r"it ended with 3\): .*Ready to accept"),
        (("no-such-program",), r"it ended with 12[67] \(no such program\?\)"),
    ],
)
def test_a_ready_command_that_never_says_so_costs_the_services_time_and_no_more(
    client: SandboxClient, ready: tuple[str, ...], said: str
) -> None:
    image = environment(client, ready=ready, timeout=8)  # it listens by then
    with pytest.raises(Refused, match=said) as refused:
        client.certify("services-7", image, python("print(1)"), EMPTY, look)
    assert refused.value.status == SERVICE_NOT_READY
    assert gone("services-7")


def test_what_a_ready_command_prints_is_never_held(client: SandboxClient) -> None:
    """Printing takes the sandbox's own memory in no way: its peak does not grow by what came."""
    flood = ("sh", "-c", "head -c 150000000 /dev/zero")
    image = environment(client, ready=flood, timeout=300)
    (sandbox,) = [pid for pid in descendants(os.getpid()) if knows(pid, NAME)]
    before = peak(sandbox)
    assert client.certify("services-8", image, python("print(1)"), EMPTY, look).stdout == b"1\n"
    assert peak(sandbox) - before < 60 << 20


@pytest.mark.parametrize("kept", [False, True])
def test_a_service_that_ends_while_a_check_runs_is_told_where_the_check_fails(
    client: SandboxClient, kept: bool
) -> None:
    image = environment(client)
    ends = "import socket\nwith socket.create_connection(('cache', 6379), 60) as s:\n"
    ends += "    s.sendall(b'SHUTDOWN NOSAVE\\r\\n')\n    s.recv(9)\n"
    ends += (
        "import time\nwhile True:\n    try: socket.create_connection(('cache', 6379), 5).close()"
    )
    ends += "\n    except OSError: break\n    time.sleep(0.01)\n"
    if kept:
        box = client.open("services-9", image, EMPTY)
        outcome = box.run(python(ends + "raise SystemExit(1)"), {}, look)
    else:
        assert client.certify("services-9", image, python(ends), EMPTY, look).stderr == b""
        outcome = client.certify("services-9", image, python(ends + "1/0"), EMPTY, look)
    assert b"while the check ran, the service 'cache' ended with 0" in outcome.stderr
    assert outcome.seen[1] == len(outcome.stderr)
    if kept:  # the next check opens a box with services that run
        with pytest.raises(Missing):
            box.run(python("print(1)"), {}, look)
    assert gone("services-9")


def test_a_run_that_is_stopped_does_not_wait_for_services(client: SandboxClient) -> None:
    image = environment(client, ready=("sleep", "600"), timeout=300)

    class Over(Exception):
        pass

    def cancel() -> None:
        if ours("services-10"):
            raise Over

    with pytest.raises(Over):
        client.open("services-10", image, EMPTY, cancel)
    assert gone("services-10")


def test_a_services_image_that_was_removed_meanwhile_is_named(client: SandboxClient) -> None:
    container = docker("create", NAME)
    docker("commit", "--change", "LABEL lost=yes", container, LOST)
    docker("rm", container)
    image = environment(client, image=LOST)
    docker("rmi", LOST)
    with pytest.raises(Refused, match=r"the service 'cache' is gone.* No such image") as no:
        client.certify("services-11", image, python("print(1)"), EMPTY, look)
    assert no.value.status == SERVICE_NOT_READY
    assert gone("services-11")


def knows(pid: int, image: str) -> bool:
    """Whether a process is the sandbox that was started with that image; other tests' roles may be
    children of the same process."""
    try:
        told = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(one.startswith(b"PATCHWARRANT_IMAGES=") and image.encode() in one for one in told)


def peak(pid: int) -> int:
    """The most bytes of memory that a process ever held."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def test_a_listening_socket_is_found_in_the_kernels_table() -> None:
    table = "   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000"

    def found(text: str, port: int) -> bool:
        asked = ["grep", "-Eq", listening(port)]
        return subprocess.run(asked, input=text, text=True, check=False).returncode == 0

    assert found(table, 6379)
    assert found(table.replace("0100007F", "0" * 32), 6379)
    assert not found(table.replace(" 0A ", " 01 "), 6379)
    assert not found(table, 6380)
    assert not found(table.replace("18EB 00000000:0000", "0050 00000000:18EB"), 6379)


def test_an_image_counts_for_what_it_adds_to_the_one_it_was_made_from(
    client: SandboxClient,
) -> None:
    """A hundred environments share their base on the disk; counted whole they would go early."""
    held = {one.id: one.size for one in Engine("").images()}
    base, redis = client.image("")[0], docker("inspect", "-f", "{{.Parent}}", NAME)
    added = docker("inspect", "-f", "{{.Id}}", NAME)
    assert held[base] > 100_000_000
    assert 1_000_000 < held[redis] < held[base]
    assert held[added] == 0
