"""Proves in real containers, as hostile code would try, that the profile holds; names what fails.

Two containers: in the first a probe tries to get out and leaves marks behind; in the second the
same probe must find nothing of the first, and then every limit is run into. The profile itself is
compared with the published one before that, for what cannot be seen from inside.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from app.domain.errors import Refused
from app.domain.ports.sandbox import Job
from worker.sandbox import services
from worker.sandbox.cell import KeptBox, Maker, Tree, certify
from worker.sandbox.image import RECIPE
from worker.sandbox.profile import (
    CPU_PERIOD,
    CPU_QUOTA,
    ENVIRONMENT,
    GROUP,
    INODES,
    PIDS,
    ULIMITS,
    USERS,
    Limits,
    departures,
    described,
)
from worker.sandbox.protocol import LEAST_FLOOD

MEMORY = 256 << 20
SECONDS = 120  # for each try: a machine with much else to do is slow, not unsafe
BOX_SECONDS = 1200  # that the box for all of them may live
RUN = "selftest"
EMPTY_TAR = bytes(10240)
PID_1_ALONE = "LC_ALL"
PUBLISHED = RECIPE / "profile.json"
ZERO = {"0000000000000000"}
CAPABILITIES = ("CapEff", "CapBnd", "CapPrm", "CapInh", "CapAmb")
_TERMINALS = ("console", "ptmx", "pts", "tty")
_STREAMS = ("core", "fd", "stderr", "stdin", "stdout")
_PLAIN = ("full", "mqueue", "null", "random", "shm", "urandom", "zero")
DEVICES = frozenset((*_TERMINALS, *_STREAMS, *_PLAIN))
LIMITS = Limits(MEMORY)
OWN_KERNEL = ("runsc", "kata")  # their guests see no seccomp filter and no counters of the host's

Facts = Mapping[str, Any]


def _mounted(facts: Facts, place: str) -> bool:
    """Whether a mount has the options that the profile asks for."""
    return {"rw", "nosuid", "nodev"} <= set(facts.get("options", {}).get(place, ()))


def _size(facts: Facts, place: str) -> list[int]:
    return list(facts.get("sizes", {}).get(place, (0, 0)))


def _cores(facts: Facts) -> bool:
    told = facts["counters"]
    quota = told.get("quota", "").split()
    return [*quota, told.get("period", "")][:2] == [str(CPU_QUOTA), str(CPU_PERIOD)]


def _swap(facts: Facts) -> bool:
    """No swap: 0 for it alone (cgroup 2), or the same limit with it (cgroup 1, where counted)."""
    return facts["counters"].get("swap", "") in ("", "0", str(MEMORY))


# What must hold, by the sentence that is said when it does not.
SEEN: dict[str, Callable[[Facts], bool]] = {
    "the network is not off": lambda f: f["nets"] == ["lo"] and bool(f["outside"]),
    "there is a route out": lambda f: f["routes"] == 0,
    "datagrams leave": lambda f: bool(f["datagram"]),
    "names are resolved (DNS)": lambda f: bool(f["dns"]),
    "the cloud's metadata address answers": lambda f: bool(f["metadata"]),
    "raw sockets can be opened": lambda f: bool(f["raw"]),
    "the Docker engine's socket is inside": lambda f: f["sockets"] == [],
    "abstract sockets of the host are inside": lambda f: f["abstract"] == 0,
    "a capability is left": lambda f: all(set(f.get(cap, ())) == ZERO for cap in CAPABILITIES),
    "new privileges are possible (NoNewPrivs)": lambda f: f.get("NoNewPrivs") == ["1"],
    "no seccomp filter is active": lambda f: f.get("Seccomp") == ["2"],
    "io_uring can be used": lambda f: bool(f["io_uring"]),
    "the limits of PID 1 can be changed": lambda f: bool(f["limits_of_1"]),
    "user and group are not the sandbox's": lambda f: (
        len(set(f["Uid"])) == 1 and int(f["Uid"][0]) in USERS and set(f["Gid"]) == {str(GROUP)}
    ),
    "the user can become root": lambda f: bool(f["root"]),
    "file systems can be mounted": lambda f: bool(f["mount"]),
    "user namespaces can be made": lambda f: bool(f["unshare"]["user"]),
    "other namespaces can be made": lambda f: bool(
        f["unshare"]["mount"] and f["unshare"]["network"]
    ),
    "PID 1 can be touched by a check": lambda f: bool(
        f["forge"] and f["memory_of_1"] and f["ptrace"]
    ),
    "the root file system can be written": lambda f: f["root_read_only"] and bool(f["etc"]),
    "the kernel's settings can be written": lambda f: bool(f["kernel"]),
    "more can be written than the profile says": lambda f: (
        set(f["writable"]) <= {"/dev", "/dev/shm", "/tmp", "/workspace"}  # noqa: S108
    ),
    "the workspace cannot be written": lambda f: f["work"] == 0 and f["place"] == "/workspace",
    "the workspace has not its size": lambda f: (
        _size(f, "/workspace") == [LIMITS.workspace, INODES] and _mounted(f, "/workspace")
    ),
    "the scratch space has not its size": lambda f: (
        _size(f, "/tmp") == [LIMITS.scratch, INODES] and _mounted(f, "/tmp")  # noqa: S108
    ),
    "/dev/shm has not its size": lambda f: _size(f, "/dev/shm")[0] == LIMITS.shm,  # noqa: S108
    "the profile's environment is not set": lambda f: (
        set(ENVIRONMENT) - {PID_1_ALONE} <= set(f["environment"])
    ),
    "a device is inside": lambda f: set(f["devices"]) <= DEVICES,
    "python3 does not belong to root": lambda f: f["python_owner"] == 0,
    "a limit of the process is not set (ulimit)": lambda f: f["limits"] == ULIMITS,
    f"the process limit is not {PIDS}": lambda f: f["counters"]["pids"] == str(PIDS),
    f"the memory limit is not {MEMORY}": lambda f: f["counters"]["memory"] == str(MEMORY),
    "memory can be swapped out": _swap,
    "more cores can be used": _cores,
    "the cores are not shared out below the host's": lambda f: (
        f["counters"]["shares"] in ("512", "20", "59")
    ),
    "the kernel would not end the sandbox first": lambda f: f["badness"] == "500",
    "the host's cgroups are seen": lambda f: all(one == "/" for one in f["cgroups"]),
    "the host's processes are seen": lambda f: f["processes"] <= 4,
    "shared memory of others is seen": lambda f: f["shared_memory"] == 0,
    "the host's name is seen": lambda f: f["hostname"] == "sandbox",
    "a terminal is attached": lambda f: not f["tty"],
    "something of an earlier container is left": lambda f: f["leftovers"] == [],
}
HOSTS_VIEW = frozenset(  # of a runtime that brings a kernel of its own, these say nothing
    {
        "no seccomp filter is active",
        f"the process limit is not {PIDS}",
        f"the memory limit is not {MEMORY}",
        "memory can be swapped out",
        "more cores can be used",
        "the cores are not shared out below the host's",
        "the kernel would not end the sandbox first",
        "the host's cgroups are seen",
        "file systems can be mounted",
        "user namespaces can be made",
        "other namespaces can be made",
        "a device is inside",
    }
)


@dataclass(frozen=True)
class Abuse:
    """One limit that is run into: the command, and the limit with its number that must be met."""

    fails: str
    argv: tuple[str, ...]
    limit: str
    ceiling: int
    seconds: int = SECONDS
    output_cap: int = 4096

    @property
    def job(self) -> Job:
        return Job(
            self.argv, {}, "", "", self.seconds, self.output_cap, memory=MEMORY, name=self.limit
        )


def _python(text: str) -> tuple[str, ...]:
    return ("python3", "-I", "-S", "-c", text)


def _shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


BOMB = "import os, signal\nfor _ in range(400): os.fork() or signal.pause()"
HOG = "b = [b'x' * (1 << 20) for _ in range(4000)]"
# Full it stays to the end, so that no look comes too late; room is made in a run of its own.
FILL = "cat /dev/zero > /tmp/fill 2>/dev/null; exit 9"
EMPTIED = "rm -f /tmp/fill"
FILES = """
import os, time
open("/tmp/n", "w").close()
try:
    for n in range(10**9): os.link("/tmp/n", "/tmp/n%d" % n)  # a name more counts as a file more
except OSError:
    time.sleep(0.05)
    raise SystemExit(9)
"""
DEAF = "trap '' TERM INT HUP; while :; do sleep 0.2; done"
SPAWN = "(setsid sh -c 'trap \"\" TERM HUP; sleep 99' >/dev/null 2>&1 &) ; setsid sleep 99 & exit 0"
LISTED = "for p in /proc/[0-9]*; do cat $p/cmdline 2>/dev/null | tr '\\0' ' '; echo; done"

ABUSES = (
    Abuse("a fork bomb is not stopped", _python(BOMB), "pids", PIDS),
    Abuse("a memory hog is not stopped", _python(HOG), "memory", MEMORY),
    Abuse("a full /tmp is not seen", _shell(FILL), "disk", LIMITS.scratch),
    Abuse(
        "a file without end is not stopped",
        _shell("exec dd if=/dev/zero of=/workspace/big bs=1 count=1 seek=300M 2>/dev/null"),
        "file-size",
        ULIMITS["fsize"],
    ),
    Abuse("a flood of output is not stopped", _shell("exec yes"), "output", LEAST_FLOOD),
    Abuse("a check that ignores SIGTERM is not stopped", _shell(DEAF), "time", 1, seconds=1),
    Abuse("files without end are not stopped", _python(FILES), "inodes", INODES),
)
SERVICE = "a service may do more than its profile says"
ALIKE = (  # what holds for services as it does for checks
    "the network is not off",
    "there is a route out",
    "raw sockets can be opened",
    "the Docker engine's socket is inside",
    "abstract sockets of the host are inside",
    "a capability is left",
    "new privileges are possible (NoNewPrivs)",
    "no seccomp filter is active",
    "io_uring can be used",
    "user and group are not the sandbox's",
    "the user can become root",
    "file systems can be mounted",
    "user namespaces can be made",
    "other namespaces can be made",
    "the root file system can be written",
    "the kernel's settings can be written",
    "a device is inside",
    "more cores can be used",
    "the host's cgroups are seen",
    "the host's processes are seen",
)
PROPERTIES = (
    *SEEN,
    *(abuse.fails for abuse in ABUSES),
    "children that became daemons live on",
    SERVICE,
)


def failing(facts: Facts, runtime: str = "runc") -> list[str]:
    """The properties that do not hold, a sentence each; what is missing does not hold."""
    return [sentence for sentence in visible(runtime) if not _holds(SEEN[sentence], facts)]


def visible(runtime: str) -> list[str]:
    """The properties that can be seen from inside under a runtime."""
    own = any(word in runtime for word in OWN_KERNEL)
    return [sentence for sentence in SEEN if not (own and sentence in HOSTS_VIEW)]


def _holds(holds: Callable[[Facts], bool], facts: Facts) -> bool:
    try:
        return bool(holds(facts))
    except (KeyError, TypeError):
        return False


def probe(maker: Maker, image: str) -> None:
    """Look around in one container of `image`. Raises `Refused` that names what does not hold."""
    _judged(_seen_wrong(maker, image))


def _seen_wrong(maker: Maker, image: str) -> list[str]:
    outcome = certify(maker, RUN, image, _look(), _tree(), lambda: False)
    return failing(_facts(outcome.stdout, outcome.error, outcome.stderr), maker.runtime)


def prove(maker: Maker, image: str, published: Path = PUBLISHED) -> int:
    """The whole self-test; how many properties held. Raises `Refused` that names what does not."""
    _judged(unpublished(maker, published))
    _judged(found_wrong(maker, image, published))
    return len(visible(maker.runtime)) + len(ABUSES) + 2


def found_wrong(maker: Maker, image: str, published: Path = PUBLISHED) -> list[str]:
    """Everything that does not hold, a sentence each. Raises `Refused` and `Unavailable` where
    nothing could be tried."""
    wrong = [*unpublished(maker, published), *_seen_wrong(maker, image)]
    box = KeptBox.open(maker, RUN, image, MEMORY, BOX_SECONDS, _tree(), lambda: False)
    try:
        found = box.run(_look(), {}, lambda: False)
        facts = _facts(found.stdout, found.error, found.stderr)
        wrong += failing(facts, maker.runtime)
        wrong += _abused(box, maker.runtime)
    finally:
        box.close()
    wrong += _service_wrong(maker, image)
    return list(dict.fromkeys(wrong))


def unpublished(maker: Maker, published: Path) -> list[str]:
    """Where the profile in use is not the published one."""
    try:
        told = json.loads(published.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"the published profile {published.name} cannot be read: {error}"]
    made = described(list(maker.argv), maker.runtime)
    return [f"the profile's option {one}" for one in departures(told, made)]


def _abused(box: KeptBox, runtime: str) -> list[str]:
    wrong = []
    for abuse in ABUSES:
        met = box.run(abuse.job, {}, lambda: False)
        if (met.limit, met.ceiling) != (abuse.limit, abuse.ceiling) and not _hidden(abuse, runtime):
            wrong.append(f"{abuse.fails} ({met.limit or 'no limit'}, exit {met.exit_code})")
        if abuse.limit == "disk":
            box.run(Job(_shell(EMPTIED), {}, "", "", SECONDS), {}, lambda: False)
    box.run(Job(_shell(SPAWN), {}, "", "", SECONDS), {}, lambda: False)
    listed = box.run(Job(_shell(LISTED), {}, "", "", SECONDS), {}, lambda: False)
    if b"sleep" in listed.stdout:
        wrong.append("children that became daemons live on")
    return wrong


def _service_wrong(maker: Maker, image: str) -> list[str]:
    facts = _facts(services.looked(maker, image, list(_look().argv)), "", b"")
    seen = [one for one in ALIKE if one in visible(maker.runtime) and not _holds(SEEN[one], facts)]
    places = {"/dev", "/dev/shm", *services.stores_of(maker, image)}  # noqa: S108
    if not set(facts.get("writable", ["?"])) <= places:
        seen.append(f"it can write to {facts.get('writable')}")
    if facts.get("limits") != services.ULIMITS:
        seen.append(f"its limits are {facts.get('limits')}")
    told = facts.get("counters", {})
    if not any(word in maker.runtime for word in OWN_KERNEL):
        wanted = {"pids": str(services.PIDS), "memory": str(services.MEMORY)}
        seen += [f"its {key} are {told.get(key)}" for key in wanted if told.get(key) != wanted[key]]
    return [f"{SERVICE}: {'; '.join(seen)}"] if seen else []


def _hidden(abuse: Abuse, runtime: str) -> bool:
    """A kernel of its own tells no counters: there the limit holds without being told apart."""
    return abuse.limit in ("pids", "memory") and any(word in runtime for word in OWN_KERNEL)


def _look() -> Job:
    text = resources.files("worker.sandbox").joinpath("probe.py").read_text(encoding="utf-8")
    return Job(_python(text), {}, "", "", SECONDS, memory=MEMORY)


def _tree() -> Tree:
    return Tree(io.BytesIO(EMPTY_TAR), len(EMPTY_TAR))


def _facts(stdout: bytes, error: str, stderr: bytes) -> Facts:
    try:
        facts = json.loads(stdout)
    except ValueError:
        words = error or stderr.decode("utf-8", "replace").strip()
        raise Refused(f"the sandbox's self-test gave no answer: {words[-500:]}") from None
    return facts if isinstance(facts, dict) else {}


def _judged(wrong: Iterable[str]) -> None:
    if told := list(dict.fromkeys(wrong)):
        raise Refused("the sandbox's self-test failed: " + "; ".join(told))
