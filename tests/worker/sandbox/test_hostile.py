"""What hostile code in a check can and cannot do: every limit is told as what it is."""

from __future__ import annotations

import threading

import pytest

from app.domain.check import Outcome
from app.domain.ports.sandbox import Job
from tests.worker.sandbox.running import (
    EMPTY,
    Service,
    gone,
    job,
    look,
    python,
    running,
    service,
    sh,
    tar_of,
)

__all__ = ["running", "service"]
pytestmark = pytest.mark.docker
MIB = 1 << 20


def certify(running: Service, asked: Job, tar: bytes = EMPTY) -> Outcome:
    return running.client.certify("hostile", running.image, asked, tar, look)


@pytest.mark.parametrize(
    "attack",
    [
        "open('/proc/1/fd/1', 'wb').write(b'forged')",
        "open('/proc/1/mem', 'rb').read(1)",
        "open('/proc/1/environ', 'rb').read(1)",
        "import os; os.readlink('/proc/1/exe')",
        "open('/etc/passwd', 'a').write('x')",
        "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
        "import ctypes, os; r = ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0); "
        "r == 0 or (_ for _ in ()).throw(OSError(ctypes.get_errno(), 'ptrace'))",
        "import os; os.setuid(0)",
        "import ctypes; r = ctypes.CDLL(None, use_errno=True).unshare(0x10000000); "
        "r == 0 or (_ for _ in ()).throw(OSError(ctypes.get_errno(), 'unshare'))",
        "import os; os.setpriority(os.PRIO_PROCESS, 1, 19)",
    ],
)
def test_pid_1_and_host_are_out_of_reach(running: Service, attack: str) -> None:
    script = f"""
import sys
try:
    {attack}
except OSError as error:
    sys.exit(42)
"""
    found = certify(running, python(script))
    if "setpriority" in attack:  # the same uid may lower its niceness; it gains nothing
        assert found.exit_code in (0, 42)
    else:
        assert (found.exit_code, found.stderr) == (42, b"")


def test_killing_everybody_does_not_touch_the_runner_of_checks(running: Service) -> None:
    script = (
        "import os, signal; os.fork() or signal.pause(); os.kill(-1, 9); os.wait(); print('on')"
    )
    found = certify(running, python(script))
    assert (found.exit_code, found.stdout, found.limit) == (0, b"on\n", "")
    for number in ("KILL", "STOP", "TERM", "INT", "HUP"):
        found = certify(running, sh(f"kill -{number} 1; sleep 0.1; exit 3"))
        assert (found.exit_code, found.limit) == (3, "")


def test_a_fork_bomb_meets_the_process_limit(running: Service) -> None:
    bomb = "import os\nwhile True:\n    os.fork()"
    found = certify(running, python(bomb, seconds=4))
    assert found.limit == "pids" or (found.limit == "time" and found.exit_code == 137)
    quiet = certify(
        running, python("import os, signal\nfor _ in range(400): os.fork() or signal.pause()")
    )
    assert (quiet.exit_code, quiet.limit) == (1, "pids")


def test_a_memory_hog_is_killed_for_memory_and_nothing_else(running: Service) -> None:
    hog = "b = [b'x' * (1 << 20) for _ in range(1000)]"
    found = certify(running, python(hog, memory=128 * MIB))
    assert (found.exit_code, found.limit, found.ceiling) == (137, "memory", 128 * MIB)


def test_a_killed_child_taints_a_check_that_says_zero(running: Service) -> None:
    hog = "python3 -c \"b = [b'x' * (1 << 20) for _ in range(1000)]\"; exit 0"
    found = certify(running, sh(hog, memory=128 * MIB))
    assert (found.exit_code, found.limit) == (0, "memory")


@pytest.mark.parametrize("where", ["/workspace/big", "/tmp/big"])
def test_a_full_disk_is_a_disk_limit(running: Service, where: str) -> None:
    fill = (
        f"i=0; while dd if=/dev/zero of={where}$i bs=1M count=32 2>/dev/null; do i=$((i+1)); done;"
        " exit 9"
    )
    found = certify(running, sh(fill, memory=256 * MIB))
    size = 128 * MIB if where.startswith("/workspace") else 32 * MIB
    assert (found.exit_code, found.limit, found.ceiling) == (9, "disk", size)


def test_too_many_files_are_a_limit_of_their_own(running: Service) -> None:
    made = certify(running, python("for n in range(10**6): open(str(n), 'w').close()"))
    assert (made.exit_code, made.limit, made.ceiling) == (1, "inodes", 100_000)


def test_a_file_over_the_size_limit_is_a_limit_of_its_own(running: Service) -> None:
    found = certify(running, sh("exec dd if=/dev/zero of=/workspace/big bs=1M count=300"))
    assert (found.exit_code, found.limit, found.ceiling) == (153, "file-size", 256 * MIB)


def test_a_program_that_ignores_the_signal_meets_the_size_limit_too(running: Service) -> None:
    grow = "with open('big', 'wb') as f:\n    while True: f.write(bytes(1 << 20))"
    found = certify(running, python(grow))
    assert (found.exit_code, found.limit, found.ceiling) == (1, "file-size", 256 * MIB)


def test_a_big_output_is_counted_and_both_ends_kept(running: Service) -> None:
    found = certify(running, sh("echo first; yes | head -c 30000000; echo last", output_cap=4096))
    assert found.exit_code == 0
    assert found.seen == (30_000_011, 0)
    assert len(found.stdout) < 4096 + 100
    assert found.stdout.startswith(b"first\n")
    assert found.stdout.endswith(b"y\nlast\n")
    assert b"[... 29995915 bytes left out ...]" in found.stdout


def test_a_flood_is_ended_as_an_output_limit(running: Service) -> None:
    found = certify(running, sh("exec yes", seconds=60))
    assert (found.exit_code, found.limit) == (137, "output")
    assert found.seen[0] > 512 * MIB


def test_bytes_are_bytes(running: Service) -> None:
    found = certify(running, sh("printf 'caf\\351\\000\\377'"))
    assert found.stdout == b"caf\xe9\x00\xff"


def test_nothing_survives_the_time_limit(running: Service) -> None:
    script = "trap '' TERM INT HUP; setsid sleep 999 & sleep 999 & cat; while :; do sleep 1; done"
    found = certify(running, sh(script, seconds=1))
    assert (found.exit_code, found.limit) == (137, "time")
    assert 1000 <= found.ms < 100_000  # it waited for none of them


def test_daemons_do_not_hold_an_ended_check(running: Service) -> None:
    found = certify(running, sh("setsid sh -c 'sleep 999' & echo done; exit 5"))
    assert (found.exit_code, found.stdout, found.limit) == (5, b"done\n", "")


def test_a_stopped_runner_of_tests_meets_the_limit(running: Service) -> None:
    found = certify(running, sh("kill -STOP $$", seconds=1))
    assert (found.exit_code, found.limit) == (137, "time")


@pytest.mark.parametrize(
    ("make", "report", "unread"),
    [
        ("ln -s /etc/passwd r.xml", None, "link"),
        ("ln -s nowhere r.xml", None, "link"),
        ("mkfifo r.xml", None, "pipe"),
        ("mkdir r.xml", None, "folder"),
        ("python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind(\"r.xml\")'", None, "special"),
        ("ln -s / d", None, "way"),
        ("touch d", None, "way"),
        ("mkdir -p d/etc; chmod 0 d", None, "denied"),
        ("echo x > r.xml; chmod 0 r.xml", None, "denied"),
        ("true", None, "missing"),
        ("printf '<x/>' > r.xml", b"<x/>", ""),
    ],
)
def test_only_a_regular_file_is_a_report_and_what_else_lies_there_is_told(
    running: Service, make: str, report: bytes | None, unread: str
) -> None:
    name = "d/etc/passwd" if " d" in make else "r.xml"
    found = certify(running, sh(make, report=name))
    assert (found.exit_code, found.report, found.unread) == (0, report, unread)


def test_a_huge_report_is_cut_visibly(running: Service) -> None:
    found = certify(running, sh("truncate -s 200M r.xml", report="r.xml", report_cap=1000))
    assert found.report is not None
    assert len(found.report) == 1001
    assert (found.unread, found.report_size) == ("large", 200 << 20)


def test_a_report_that_lay_in_the_tree_is_not_read(running: Service) -> None:
    tree = tar_of({"out/r.xml": b"<forged/>"})
    found = certify(running, sh("ls out", report="out/r.xml"), tree)
    assert (found.exit_code, found.stdout, found.report) == (0, b"", None)


def test_nothing_of_one_check_is_seen_by_the_next(running: Service) -> None:
    certify(running, sh("echo x | tee /workspace/mark /tmp/mark /dev/shm/mark"))
    found = certify(running, sh("ls /workspace /tmp /dev/shm"))
    assert b"mark" not in found.stdout


def test_the_environment_is_the_image_the_profile_and_the_job(running: Service) -> None:
    found = certify(running, job("env", env={"EXTRA": "1"}))
    names = {line.partition(b"=")[0] for line in found.stdout.splitlines()}
    assert names <= {b"PATH", b"HOME", b"LANG", b"PYTHONDONTWRITEBYTECODE", b"HOSTNAME", b"EXTRA"}
    assert {b"PATH", b"EXTRA"} <= names


def test_multiprocessing_and_programs_in_tmp_work(running: Service) -> None:
    script = "import multiprocessing as m; m.Lock(); print(m.Pool(2).map(abs, [-1, -2]))"
    assert certify(running, python(script)).stdout == b"[1, 2]\n"
    built = "printf '#!/bin/sh\\nexit 6\\n' > /tmp/t && chmod +x /tmp/t && exec /tmp/t"
    assert certify(running, sh(built)).exit_code == 6


def test_no_container_is_left_after_all_that(running: Service) -> None:
    assert gone("hostile")


def test_two_checks_at_once_are_two_containers(running: Service) -> None:
    found: list[Outcome] = []
    threads = [
        threading.Thread(target=lambda: found.append(certify(running, sh("ls | wc -l; touch x"))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.stdout.strip() for outcome in found] == [b"0", b"0"]
