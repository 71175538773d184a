"""The rows S1-S10 and F19-F25 of the threat table and P49-P53, P72, by name, on the real engine.

F17, F18 and P71 are in test_far.py, test_own_engine.py and test_engine_judged.py.

The service keeps containers warm here: what is promised holds for those that were started ahead.
"""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import httpx
import pytest

from app.domain.check import Check, CheckResult, Outcome, Standing
from app.domain.errors import IntegrityError, Missing, Refused, Unavailable
from app.domain.ports.sandbox import Job
from tests.fakes.hold import FakeHold
from tests.fakes.objects import MemoryObjects
from tests.patience import until
from tests.shared_data import REPOSITORY
from tests.worker.runner.test_boxes import answering, head, slowly
from tests.worker.sandbox.running import (
    EMPTY,
    Service,
    engine_or_skip,
    look,
    ours,
    own,
    python,
    service,
    sh,
    tar_of,
)
from worker.runner.checks.run import Certifier, read_outcome
from worker.sandbox import keeper, selftest
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine, Found
from worker.sandbox.image import ensure_default
from worker.sandbox.profile import LABEL_OWNER, LABEL_RUN
from worker.sandbox.wiring import serve

pytestmark = pytest.mark.docker
MIB = 1 << 20


@pytest.fixture(scope="module")
def warm() -> Iterator[Service]:
    engine_or_skip()
    with service(concurrency=2, boxes=2, ahead=1, wait=200) as started:
        yield started


def certify(warm: Service, asked: Job, tar: bytes = EMPTY, run: str = "rows") -> Outcome:
    return warm.client.certify(run, warm.image, asked, tar, look)


def judged(outcome: Outcome, check: Check) -> CheckResult:
    image = "sha256:" + "1" * 64
    none: frozenset[str] = frozenset()
    return read_outcome(check, "t" * 40, image, outcome, none, FakeHold(), lambda _path: None)


# -- S: what hostile code meets -------------------------------------------------------------------


def test_s1_nothing_of_a_network_is_reached(warm: Service) -> None:
    script = """
import os, socket
def tried(name, act):
    try: act()
    except OSError: return
    print(name)
for host in ("192.0.2.1", "169.254.169.254", "172.17.0.1", "10.0.0.1"):
    for port in (53, 80, 443, 2375, 2376):
        tried(host, lambda: socket.create_connection((host, port), 0.5))
    tried("udp " + host, lambda: socket.socket(2, 2).sendto(b"x", (host, 53)))
tried("six", lambda: socket.create_connection(("2001:db8::1", 80), 0.5))
tried("dns", lambda: socket.gethostbyname("example.com"))
for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
    tried(path, lambda: socket.socket(1).connect(path))
for line in open("/proc/net/unix"):
    name = line.split()[-1]
    if name.startswith("@"): print(name)
print(*[net for net in os.listdir("/sys/class/net") if net != "lo"])
"""
    found = certify(warm, python(script))
    assert (found.exit_code, found.stdout.strip()) == (0, b"")


def test_s2_nothing_of_the_kernel_is_open(warm: Service) -> None:
    script = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *given):
    ctypes.set_errno(0)
    if getattr(libc, name)(*given) >= 0: print(name, given)
call("mount", b"none", b"/tmp", b"tmpfs", 0, 0)
call("umount", b"/tmp")
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000): call("unshare", flag)
call("ptrace", 16, 1, 0, 0)
for number in (321, 250, 246, 175, 313, 155, 165): call("syscall", number, 0, 0, 0, 0, 0)
call("setuid", 0); call("setgid", 0); call("chroot", b"/tmp"); call("sethostname", b"x", 1)
for family in (2, 17):
    try: socket.socket(family, 3); print("raw", family)
    except OSError: pass
text = open("/proc/self/status").read()
for name in ("CapEff", "CapBnd", "CapPrm"):
    if f"{name}:\\t0000000000000000" not in text: print(name)
for line in ("NoNewPrivs:\\t1", "Seccomp:\\t2"):
    if line not in text: print(line)
"""
    found = certify(warm, python(script))
    assert (found.exit_code, found.stdout, found.stderr) == (0, b"", b"")


@pytest.mark.parametrize("abuse", selftest.ABUSES, ids=lambda abuse: abuse.limit)
def test_s3_each_limit_is_met_and_told_apart_with_its_number(
    warm: Service, abuse: selftest.Abuse
) -> None:
    found = certify(warm, abuse.job)
    assert (found.limit, found.ceiling) == (abuse.limit, abuse.ceiling)
    result = judged(found, Check("tests", abuse.argv))
    assert (result.standing, result.reason) == (Standing.FAILED, f"limit:{abuse.limit}")
    assert re.search(r"\d", result.limit)


def test_s4_what_a_check_does_to_its_tree_and_says_changes_nothing(warm: Service) -> None:
    tree = tar_of({"a.py": b"good\n", "b/c.py": b"good\n"})
    forged = json.dumps({"gitTree": "0" * 40, "exitCode": 0, "standing": "passed"})
    hostile = f"echo bad > a.py; rm -r b; ln -s / root; printf '%s' '{forged}'; exit 1"
    found = certify(warm, sh(hostile), tree)
    assert (found.exit_code, found.report) == (1, None)
    assert found.stdout == forged.encode()
    after = certify(warm, sh("cat a.py b/c.py; ls"), tree)
    assert after.stdout == b"good\ngood\na.py\nb\n"


def test_s5_nothing_is_left_for_another_run(warm: Service) -> None:
    places = "/workspace /tmp /dev/shm"
    for number in range(3):
        certify(warm, sh(f"for p in {places}; do echo x > $p/mark; done"), run=f"a{number}")
        found = certify(warm, sh(f"cat /proc/sysvipc/shm | wc -l; ls -A {places}"), run="b")
        assert b"mark" not in found.stdout
        assert found.stdout.startswith(b"1\n")


@pytest.mark.parametrize(
    "more",
    [
        {"mounts": ["/:/host"]},
        {"binds": ["/:/host"]},
        {"privileged": True},
        {"runtime": "runc"},
        {"labels": {"a": "b"}},
        {"container": "x"},
        {"network": "host"},
        {"run": "a/../b"},
        {"run": "--privileged"},
        {"image": "evil:latest"},
        {"image": "sha256:" + "9" * 64},
        {"tenant": "a b"},
    ],
)
def test_s6_a_caller_can_name_nothing_but_run_image_and_job(
    warm: Service, more: dict[str, object]
) -> None:
    header = {"run": "rows", "image": warm.image, **more}
    text = json.dumps(header).encode()
    body = struct.pack(">I", len(text)) + text + struct.pack(">Q", len(EMPTY)) + EMPTY
    with httpx.Client(transport=httpx.HTTPTransport(uds=warm.socket)) as http:
        answer = http.post("http://sandbox/boxes", content=body)
    said = answer.text
    assert answer.status_code == 400 or '"fault"' in said
    assert '"box"' not in said


def test_s6_an_image_is_never_taken_from_a_name(warm: Service) -> None:
    with pytest.raises(Refused, match="not on the operator's list"):
        warm.client.image("evil:latest")


def hostile_tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, kind, target in (
            ("plain.txt", tarfile.REGTYPE, ""),
            ("../escaped", tarfile.REGTYPE, ""),
            ("/etc/escaped", tarfile.REGTYPE, ""),
            ("a", tarfile.SYMTYPE, "/etc"),
            ("a/passwd", tarfile.REGTYPE, ""),
            ("hard", tarfile.LNKTYPE, "/etc/passwd"),
            ("disk", tarfile.BLKTYPE, ""),
        ):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.mode = kind, target, 0o644
            data = b"root::0:0::/:/bin/sh\n" if kind == tarfile.REGTYPE else b""
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def test_s7_and_p52_a_hostile_tree_stays_where_it_is(warm: Service) -> None:
    """Ours holds regular files and links only; even a foreign one writes nothing outside."""
    before = Path("/etc/passwd").read_bytes()
    found = certify(warm, sh("exit 0"), hostile_tar())
    assert found.exit_code is None
    assert "could not be unpacked" in found.error
    assert Path("/etc/passwd").read_bytes() == before
    assert not Path("/etc/escaped").exists()
    link = io.BytesIO()
    with tarfile.open(fileobj=link, mode="w") as tar:
        entry = tarfile.TarInfo("passwd")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry)
    found = certify(warm, sh("readlink passwd; grep -c 65534 passwd"), link.getvalue())
    assert found.stdout.startswith(b"/etc/passwd\n")


ARCHIVES = {".get_archive(", ".put_archive(", ".export("}
COMMANDS = {".exec_create(", ".exec_start(", ".exec_run("}
ALLOWED = {  # none of them is asked of a container that a check runs in
    # How a database is, in its own container; which folders an image has that has not started.
    "services.py": COMMANDS | {".get_archive("},
    "ground.py": {".get_archive("},  # single files of a builder that has stopped: only their hash
    "setup_engine.py": {".put_archive("},  # lock files into a builder that has not started
}


def test_s7_no_archive_ever_comes_out_and_no_second_command_runs_beside_a_check() -> None:
    for path in (REPOSITORY / "worker").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        forbidden = (ARCHIVES | COMMANDS) - ALLOWED.get(path.name, set())
        assert [call for call in sorted(forbidden) if call in text] == [], path.name


def test_p52_a_sparse_giant_is_cut_and_told(warm: Service) -> None:
    found = certify(warm, sh("truncate -s 10G r.xml; exit 0", report="r.xml"))
    assert (found.limit, found.exit_code) == ("", 0)  # the shell's truncate failed, the shell not
    asked = sh("truncate -s 200M r.xml", report="r.xml", report_cap=100)
    found = certify(warm, asked)
    assert found.report is not None
    assert len(found.report) == 101


@dataclass(frozen=True)
class Only:
    """An engine that shows the containers of one run: a keeper that looks from later on would take
    away those of others, and one that looks now would take away ours."""

    engine: Engine
    run: str

    def ours(self) -> list[Found]:
        return [one for one in self.engine.ours() if one.labels.get(LABEL_RUN) == self.run]

    def remove(self, container: str) -> None:
        self.engine.remove(container)


def test_s8_and_f25_a_container_past_its_deadline_goes_whoever_made_it() -> None:
    engine_or_skip()
    with Engine() as engine:
        image = ensure_default(engine, lambda _: None)
        maker = Maker.of(engine, "", time.time)
        container = maker.make(own("late"), image, 64 * MIB, 3600)
        who = keeper.Owner("place", "space", 1, "born")
        seen = cast(Engine, Only(engine, own("late")))
        assert keeper.reap(seen, who, time.time() + 3000) == 0
        assert len(ours("late")) == 1
        assert keeper.reap(seen, who, time.time() + 4000) == 1
        assert ours("late") == []
        container.remove()
        maker.close()


CONFTEST = b"import os\nos._exit(0)\n"
TESTS = Check(
    "tests", ("python3", "-m", "pytest", "-q", "--junitxml=r.xml"), report="r.xml", timeout=120
)


def test_s9_a_runner_of_tests_that_is_killed_with_exit_0_is_no_pass(warm: Service) -> None:
    objects = MemoryObjects()
    files = {"test_a.py": b"def test_a():\n    assert False\n", "conftest.py": CONFTEST}
    certifier = Certifier(FakeHold(), objects, warm.client)
    result = certifier("rows", "verify", TESTS, objects.tree(files), warm.image)
    assert result.exit_code == 0
    assert result.standing is Standing.UNAVAILABLE
    assert result.digest == TESTS.digest()


def test_s10_a_profile_that_lost_an_option_does_not_start(tmp_path: Path) -> None:
    engine_or_skip()
    published = json.loads(selftest.PUBLISHED.read_text(encoding="utf-8"))
    published["host"]["Sysctls"] = {"net.ipv4.ip_forward": "0"}
    other = tmp_path / "profile.json"
    other.write_text(json.dumps(published), encoding="utf-8")
    prove = partial(selftest.prove, published=other)
    with pytest.raises(Refused, match="option Sysctls is missing"):
        serve(str(tmp_path / "closed" / "s.sock"), prove=prove)
    assert not (tmp_path / "closed" / "s.sock").exists()


def test_an_allowed_image_that_is_not_there_is_told_before_anything_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine_or_skip()

    def stop(*_: object) -> None:
        raise Refused("as far as this")

    absent = ("patchwarrant-absent:1", "patchwarrant-absent@sha256:" + "a" * 64, "Not An Image")
    with pytest.raises(Refused, match="as far as this"):
        serve(str(tmp_path / "closed" / "s.sock"), images=absent, prove=stop)
    said = [one.getMessage() for one in caplog.records if "PATCHWARRANT_IMAGES" in one.getMessage()]
    assert [name in words for name, words in zip(absent, said, strict=True)] == [True] * 3


# -- F: what runs out -----------------------------------------------------------------------------


def test_f19_a_child_killed_for_memory_taints_a_pass(warm: Service) -> None:
    script = "python3 -c \"b = b'x' * (1 << 31)\"; exit 0"
    found = certify(warm, sh(script, memory=128 * MIB))
    assert (found.exit_code, found.limit, found.ceiling) == (0, "memory", 128 * MIB)
    result = judged(found, Check("tests", ("true",)))
    assert (result.standing, result.reason) == (Standing.FAILED, "limit:memory")
    assert result.limit == "out of memory (limit 128 MiB)"


def test_f20_a_fork_bomb_is_its_own_verdict_and_others_go_on(warm: Service) -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    done: list[Outcome] = []
    thread = threading.Thread(target=lambda: done.append(certify(warm, python(bomb, seconds=200))))
    thread.start()
    assert certify(warm, sh("exit 6")).exit_code == 6
    thread.join()
    assert (done[0].limit, done[0].ceiling) == ("pids", 256)
    assert done[0].ms < 120_000  # long before its time is over


@pytest.mark.parametrize("place", ["/workspace", "/tmp", "/dev/shm"])
def test_f21_a_full_disk_in_memory_is_its_own_verdict_and_no_memory_kill(
    warm: Service, place: str
) -> None:
    """Each is smaller than the memory that it counts as, so that a full one leaves room."""
    fill = f"cd {place}; for n in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=f$n bs=1M count=99; done"
    sized = sh(f"df -B1 --output=size {place} | tail -1", memory=512 * MIB)
    room = int(certify(warm, sized).stdout)
    assert 0 < room <= 256 * MIB
    found = certify(warm, sh(f"{fill}; exit 1", memory=512 * MIB))
    assert (found.limit, found.ceiling, found.exit_code) == ("disk", room, 1)
    passed = certify(warm, sh(f"{fill}; exit 0", memory=512 * MIB))
    assert (passed.limit, passed.exit_code) == ("", 0)  # its own word for it, and no kill


def test_every_row_is_named_by_a_test() -> None:
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
    named = {word for text in texts for test in re.findall(r"def test_(\w+)", text)
             for word in test.split("_")}  # fmt: skip
    rows = {f"s{n}" for n in range(1, 11)} | {f"f{n}" for n in range(17, 26)}
    rows |= {f"p{n}" for n in (49, 50, 51, 52, 53, 71, 72)}
    assert rows - named == set()


def rss(process: int) -> int:
    text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) * 1024


def test_f23_and_p50_a_flood_does_not_fill_the_services_memory(warm: Service) -> None:
    before = rss(warm.process.pid)
    found = certify(warm, sh("yes | head -c 300000000"))
    assert (found.exit_code, found.seen) == (0, (300_000_000, 0))
    assert len(found.stdout) < 2 * MIB
    found = certify(warm, sh("exec yes"))
    assert (found.exit_code, found.limit, found.ceiling) == (137, "output", 512 * MIB)
    assert rss(warm.process.pid) - before < 48 * MIB


def test_p50_bytes_of_any_kind_come_out_as_they_are(warm: Service) -> None:
    found = certify(warm, sh("printf 'caf\\351'; printf 'caf\\303' >&2; sleep 0.1; printf '\\251'"))
    assert (found.exit_code, found.stdout, found.stderr) == (0, b"caf\xe9\xa9", b"caf\xc3")


def test_f24_and_p49_nothing_of_a_timed_out_command_lives_on(warm: Service) -> None:
    script = "trap '' TERM HUP; sleep 999 & setsid sleep 999 & (setsid sh -c 'trap \"\" TERM; "
    script += "sleep 999' &) ; cat; while :; do sleep 1; done"
    box = warm.client.open("p49", warm.image, EMPTY)
    try:
        began = time.monotonic()
        found = box.run(sh(script, seconds=2), {}, look)
        assert (found.exit_code, found.limit, found.ceiling) == (137, "time", 2)
        assert found.limit_words == "timed out after 2 s"
        assert time.monotonic() - began < 120
        left = box.run(sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), {}, look)
        assert b"sleep" not in left.stdout
    finally:
        box.close()


def test_f22_a_disk_below_the_floor_starts_nothing(tmp_path: Path) -> None:
    engine_or_skip()
    with (
        pytest.raises(RuntimeError, match="MiB free, and"),
        service(tmp_path, choices={"floor": 1 << 60}),
    ):
        pass
    place = place_of(tmp_path / "closed" / "sandbox.sock")
    with Engine() as engine:
        assert [one.id for one in engine.ours() if one.labels[LABEL_OWNER].startswith(place)] == []


# -- P: what people met elsewhere -----------------------------------------------------------------


def volumes() -> set[str]:
    words = ["docker", "volume", "ls", "-q"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_p51_no_container_and_no_volume_is_left(tmp_path: Path) -> None:
    engine_or_skip()
    before = volumes()
    with service(tmp_path, ahead=2, boxes=1) as started:
        for number in range(3):
            certify(started, sh(f"exit {number}"), run="p51")
        started.client.open("p51", started.image, EMPTY)
        with Engine() as engine:
            until(lambda: len(mine(engine, started)) >= 3)
        assert started.stop() == 0
    with Engine() as engine:
        assert mine(engine, started) == []
    until(lambda: volumes() <= before)  # others have theirs, for a moment


def mine(engine: Engine, started: Service) -> list[str]:
    place = place_of(Path(started.socket))
    return [c.id for c in engine.ours() if c.labels[LABEL_OWNER].startswith(place)]


def place_of(socket: Path) -> str:
    """How the owner of every container begins that a sandbox at this socket makes."""
    return keeper.owner(socket, 1).place + ":"


def test_p53_a_missing_module_is_the_environments_and_not_the_codes(warm: Service) -> None:
    objects = MemoryObjects()
    check = Check("tests", ("python3", "-c", "import requests"))
    certifier = Certifier(FakeHold(), objects, warm.client)
    result = certifier("rows", "baseline", check, objects.tree({"a.py": b""}), warm.image)
    assert (result.standing, result.reason) == (Standing.UNAVAILABLE, "environment")
    assert "requests" in result.tail


def test_p72_a_memory_kill_is_never_told_as_failed_tests(warm: Service) -> None:
    found = certify(warm, python("b'x' * 10**9", memory=32 * MIB))
    assert (found.exit_code, found.limit) == (137, "memory")
    result = judged(found, Check("tests", ("python3",)))
    assert (result.standing, result.reason) == (Standing.FAILED, "limit:memory")
    assert result.limit == "out of memory (limit 32 MiB)"


# -- the pool, the queue, the digest --------------------------------------------------------------


def waiting(engine: Engine, started: Service) -> set[str]:
    ids = set(mine(engine, started))
    return {
        one.id
        for one in engine.ours()
        if one.id in ids and one.running and one.labels["patchwarrant.run"] == "nobody-yet"
    }


def test_a_container_started_ahead_serves_one_check_and_goes(tmp_path: Path) -> None:
    engine_or_skip()
    with service(tmp_path, ahead=1) as started, Engine() as engine:
        until(lambda: len(waiting(engine, started)) == 1)
        first = waiting(engine, started)
        assert certify(started, sh("exit 3")).exit_code == 3
        until(lambda: bool(waiting(engine, started)) and not first & waiting(engine, started))
        (second,) = waiting(engine, started)
        engine.kill(second)  # one that died while it waited is no trouble of a check
        until(lambda: second not in waiting(engine, started))
        assert certify(started, sh("exit 4")).exit_code == 4


def test_a_container_started_ahead_carries_the_name_of_its_run(warm: Service) -> None:
    box = warm.client.open("named", warm.image, EMPTY)
    words = ["docker", "ps", "-q", "--filter", f"name=patchwarrant.{own('named')}."]

    def shown() -> bool:
        label = ours("named")
        listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return bool(label) or bool(listed.split())

    until(shown)
    box.close()
    until(lambda: not shown())


def at_once(count: int, act: Callable[[int], None]) -> list[BaseException]:
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            act(number)
        except (Unavailable, AssertionError) as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_who_finds_no_place_waits_for_it(warm: Service) -> None:
    def one(number: int) -> None:
        found = warm.client.of(str(number % 2)).certify(
            f"q{number}", warm.image, sh("sleep 0.3; exit 2"), EMPTY, look
        )
        assert (found.exit_code, found.limit) == (2, "")

    assert at_once(8, one) == []


def test_who_waited_too_long_is_told_the_place(tmp_path: Path) -> None:
    engine_or_skip()
    with service(tmp_path, concurrency=1, wait=1, per_run=1) as small:
        first = slowly(small, "first", seconds=900)
        with pytest.raises(Unavailable, match="place 1 of 1 in the queue") as caught:
            small.client.certify("second", small.image, sh("exit 0"), EMPTY, look)
        assert caught.value.retry_after == 5
        small.client.stop("first")
        assert isinstance(first.join(), Missing)


def test_the_check_that_ran_is_the_check_that_was_sent(warm: Service, tmp_path: Path) -> None:
    asked = replace(sh("exit 0", report="a/r.xml", env={"B": "1", "A": "2"}), name="tests")
    found = certify(warm, asked)
    check = Check("tests", asked.argv, dict(asked.env), "", (), "a/r.xml", timeout=asked.seconds)
    assert found.digest == asked.digest() == check.digest()
    other = {"exit_code": 0, "limit": "", "ms": 1, "seen": [0, 0], "report": False, "error": ""}
    told = {"outcome": {**other, "ceiling": 0, "digest": "0" * 64}, "sizes": [0, 0, 0]}
    text = json.dumps(told).encode()
    with (
        answering(tmp_path, head(struct.pack(">I", len(text)) + text)) as client,
        pytest.raises(IntegrityError, match="another command than 'tests'"),
    ):
        client.certify("r", warm.image, asked, EMPTY, look)
