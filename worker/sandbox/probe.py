"""Runs inside a sandbox as hostile code would, and prints what it found there as one JSON object.

Given as argument text like PID 1's program: one file, standard library only, Python 3.8 or newer.
Every `…` of the answer that is an error number is 0 where the attempt worked.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

WRITABLE = ("/workspace", "/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own tmpfs mounts
SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock")
PLACES = {"outside": ("192.0.2.1", 80), "metadata": ("169.254.169.254", 80)}
KERNEL = frozenset({"proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2"})
UNSHARED = {"user": 0x10000000, "mount": 0x00020000, "network": 0x40000000}
LIMITS = {
    "nofile": resource.RLIMIT_NOFILE,
    "core": resource.RLIMIT_CORE,
    "fsize": resource.RLIMIT_FSIZE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "msgqueue": resource.RLIMIT_MSGQUEUE,
}
IO_URING_SETUP = 425  # the same on every machine
COUNTERS = {
    "pids": ("pids.max", "pids/pids.max"),
    "memory": ("memory.max", "memory/memory.limit_in_bytes"),
    "quota": ("cpu.max", "cpu/cpu.cfs_quota_us"),
    "period": ("", "cpu/cpu.cfs_period_us"),
    "shares": ("cpu.weight", "cpu/cpu.shares"),
    "swap": ("memory.swap.max", "memory/memory.memsw.limit_in_bytes"),
    "swappiness": ("", "memory/memory.swappiness"),
}


def refused(act: Callable[[], Any]) -> int:
    try:
        act()
    except OSError as error:
        return error.errno or errno.EPERM
    return 0


def read(path: str) -> str:
    with contextlib.suppress(OSError), open(path) as source:  # noqa: PTH123 - small and early
        return source.read().strip()
    return ""


def call(name: str, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if getattr(libc, name)(*arguments) == 0 else ctypes.get_errno()


def status() -> dict[str, list[str]]:
    found = {}
    for line in read("/proc/self/status").splitlines():
        key, _, value = line.partition(":")
        if key[:3] == "Cap" or key in ("NoNewPrivs", "Seccomp", "Uid", "Gid", "Groups"):
            found[key] = value.split()
    return found


def unshare(flag: int) -> int:
    """In a child: what works must not change this process."""
    child = os.fork()
    if not child:
        os._exit(min(call("unshare", flag), 255))
    return os.WEXITSTATUS(os.waitpid(child, 0)[1])


def send(kind: int) -> None:
    with socket.socket(socket.AF_INET, kind) as made:
        made.settimeout(1)
        made.sendto(b"x", ("192.0.2.1", 53))


def raw(family: int) -> None:
    socket.socket(family, socket.SOCK_RAW).close()


def connect(place: tuple[str, int]) -> None:
    socket.create_connection(place, 1).close()


def network() -> dict[str, Any]:
    found: dict[str, Any] = {"nets": [], "routes": read("/proc/net/route").count("\n")}
    with contextlib.suppress(OSError):
        found["nets"] = sorted(os.listdir("/sys/class/net"))  # noqa: PTH208
    for name, place in PLACES.items():
        found[name] = refused(partial(connect, place))
    found["datagram"] = refused(lambda: send(socket.SOCK_DGRAM))
    try:
        socket.getaddrinfo("patchwarrant.invalid", 80)
        found["dns"] = 0
    except OSError as error:
        found["dns"] = abs(error.errno or 1)
    found["raw"] = min(refused(partial(raw, kind)) for kind in (socket.AF_INET, socket.AF_PACKET))
    found["sockets"] = [path for path in SOCKETS if os.path.exists(path)]  # noqa: PTH110
    found["abstract"] = read("/proc/net/unix").count("@")
    return found


def mounts() -> dict[str, Any]:
    """Writable mounts with options; sizes of those that checks may write to."""
    writable, options = [], {}
    for line in read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()[0]
        point, flags = fields[4], fields[5].split(",")
        if point in WRITABLE:
            options[point] = flags
        # What lies below /proc and /sys is the kernel's, and masked; /dev holds no file of ours.
        if "rw" in flags and kind not in KERNEL and not point.startswith(("/proc/", "/sys/")):
            writable.append(point)
    sizes = {}
    for point in WRITABLE:
        with contextlib.suppress(OSError):
            room = os.statvfs(point)
            sizes[point] = [room.f_blocks * room.f_frsize, room.f_files]
    return {"writable": sorted(writable), "options": options, "sizes": sizes}


def counters() -> dict[str, str]:
    found = {}
    for name, (new, old) in COUNTERS.items():
        found[name] = (new and read("/sys/fs/cgroup/" + new)) or read("/sys/fs/cgroup/" + old)
    return found


def leftovers() -> list[str]:
    """What lies in the writable mounts; a mark is left behind in each for the next one to find."""
    found = []
    for place in WRITABLE:
        with contextlib.suppress(OSError):
            found += [f"{place}/{name}" for name in os.listdir(place)]  # noqa: PTH208
        with contextlib.suppress(OSError), open(place + "/patchwarrant-mark", "w") as mark:  # noqa: PTH123
            mark.write("x")
    return found


def main() -> None:
    before = leftovers()
    facts: dict[str, Any] = {
        **status(),
        **network(),
        **mounts(),
        "counters": counters(),
        "leftovers": before,
        "root_read_only": bool(os.statvfs("/").f_flag & os.ST_RDONLY),
        "etc": refused(lambda: open("/etc/patchwarrant-mark", "w")),  # noqa: PTH123,SIM115
        "kernel": refused(lambda: open("/proc/sys/kernel/core_pattern", "w")),  # noqa: PTH123,SIM115
        "forge": refused(lambda: open("/proc/1/fd/1", "wb")),  # noqa: PTH123,SIM115
        "memory_of_1": refused(lambda: open("/proc/1/mem", "rb")),  # noqa: PTH123,SIM115
        "ptrace": call("ptrace", 16, 1, 0, 0),
        "io_uring": call("syscall", IO_URING_SETUP, 1, bytes(120)),
        "limits_of_1": call("prlimit", 1, int(resource.RLIMIT_CORE), bytes(16), None),
        "mount": call("mount", b"none", b"/tmp", b"tmpfs", 0, 0),
        "root": refused(lambda: os.setuid(0)),
        "unshare": {name: unshare(flag) for name, flag in UNSHARED.items()},
        "devices": sorted(os.listdir("/dev")),  # noqa: PTH208
        "work": refused(lambda: open("/workspace/probe", "w")),  # noqa: PTH123,SIM115
        "python_owner": os.stat(os.path.realpath("/proc/self/exe")).st_uid,  # noqa: PTH116
        "limits": {name: resource.getrlimit(which)[1] for name, which in LIMITS.items()},
        "badness": read("/proc/self/oom_score_adj"),
        "cgroups": sorted({line.split(":")[2] for line in read("/proc/self/cgroup").split()}),
        "processes": sum(name.isdecimal() for name in os.listdir("/proc")),  # noqa: PTH208
        "hostname": socket.gethostname(),
        "environment": sorted(os.environ),  # noqa: TID251 - to show what is in it
        "place": os.getcwd(),  # noqa: PTH109
        "shared_memory": read("/proc/sysvipc/shm").count("\n"),
        "tty": os.isatty(0) or os.isatty(1),
    }
    sys.stdout.write(json.dumps(facts))


if __name__ == "__main__":
    main()
