"""Servers beside a check: they share a loopback address with it and nothing else with anybody.

One container that only waits owns the network namespace, which has no interface but loopback; the
services and then the check join it. All of them are made for this one check or box and go with it.
They have a profile of their own: like a check's, a user of their own and nothing on disk, with more
memory and more open files. One that ends while a check runs is told where the check did not pass.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.domain.errors import SERVICE_NOT_READY, Missing, Refused, Unavailable
from worker.sandbox.cell import Beside, Maker
from worker.sandbox.engine import Engine, faults
from worker.sandbox.profile import (
    CPU_PERIOD,
    CPU_QUOTA,
    EMPTY_HOST,
    GROUP,
    LABEL,
    LABEL_DEADLINE,
    LABEL_OWNER,
    LABEL_RUN,
    MIB,
    NO_NETWORK,
    differs,
)
from worker.sandbox.seccomp import OPTION as SECCOMP

MEMORY = 1024 * MIB  # of one service, its files in memory included
WAITER = 64 * MIB  # of the container that owns the network namespace
STORE = 512 * MIB  # of each folder that it may write to, all within its memory
INODES = 100_000
NAMES = "ExtraHosts"  # of the option that makes a service's name lead to loopback
PIDS = 512
ULIMITS = {"nofile": 4096, "core": 0, "fsize": STORE, "memlock": 65536, "msgqueue": 0}
WRITABLE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - besides the volumes that its image declares
RUN_CAP = 1 << 20  # bytes looked at to find the folders that an image has below /run
TICK = 0.05  # seconds between looks at a service that gets ready
LISTENING = "0A"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
TAIL = 800  # bytes of a service's last words

Cancelled = Callable[[], bool]


@dataclass(frozen=True)
class Wanted:
    """A service as the environment's label tells it; `image` is an id."""

    name: str
    image: str
    port: int
    env: Mapping[str, str]
    ready: tuple[str, ...]
    timeout: int
    entry: tuple[str, ...] = ()  # instead of the image's own; for the self-test

    @staticmethod
    def read(told: Mapping[str, Any]) -> Wanted:
        return Wanted(
            str(told["name"]),
            str(told["image"]),
            int(told["port"]),
            {str(k): str(v) for k, v in told["env"].items()},
            tuple(map(str, told["ready"])),
            int(told["timeout"]),
        )


def host_options(
    network: str, memory: int, user: int, runtime: str, stores: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The `HostConfig` of every container of this file, all of it; `stores` are written to."""
    owned = f"rw,nosuid,nodev,size={STORE},nr_inodes={INODES},uid={user},gid={GROUP},mode=0700"
    return {
        "Runtime": runtime,
        "NetworkMode": network,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", SECCOMP],
        "Privileged": False,
        "ReadonlyRootfs": True,
        "Ulimits": [{"Name": name, "Soft": n, "Hard": n} for name, n in sorted(ULIMITS.items())],
        "ShmSize": 64 * MIB,
        "PidsLimit": PIDS,
        "Memory": memory,
        "MemorySwap": memory,
        "OomScoreAdj": 500,
        "CpuPeriod": CPU_PERIOD,
        "CpuQuota": CPU_QUOTA,
        "CpuShares": 512,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "AutoRemove": False,
        "PublishAllPorts": False,
        **({"Tmpfs": dict.fromkeys(stores, owned)} if stores else {}),
    }


def weight(services: list[Wanted]) -> int:
    """Bytes of memory that the containers beside one check may take together."""
    return len(services) * MEMORY + WAITER if services else 0


@contextmanager
def beside(
    maker: Maker, run: str, image: str, services: list[Wanted], seconds: float, cancelled: Cancelled
) -> Iterator[Beside]:
    """What a check joins, with every service ready; all are gone afterwards.

    Raises `Refused` (424) for a service that does not get ready, with its last words, `Missing`
    (410) when cancelled, `Unavailable`."""
    if not services:
        yield Beside()
        return
    longest = seconds + sum(one.timeout for one in services) + 60
    labels = {
        LABEL: "1",
        LABEL_RUN: run,
        LABEL_OWNER: maker.owner,
        LABEL_DEADLINE: str(int(maker.clock() + longest)),
    }
    with ExitStack() as gone:
        waiter = partial(_waiter, image, services, int(longest), labels, maker.runtime)
        owner = _started(maker.engine, gone, waiter)
        network = f"container:{owner}"
        up: list[tuple[Wanted, str]] = []
        for one in services:
            ask = partial(_service, maker, one, network, labels)
            try:
                made = _started(maker.engine, gone, ask)
            except Missing as lost:
                said = (
                    f"the image of the service {one.name!r} is gone from the engine, load it again"
                )
                raise Refused(f"{said} ({lost})", SERVICE_NOT_READY) from lost
            _await(maker.engine, one, owner, made, cancelled)
            up.append((one, made))
        yield Beside(network, partial(_over, maker.engine, up))


def _over(engine: Engine, up: list[tuple[Wanted, str]]) -> list[str]:
    """A sentence for each service that has ended; none where the engine cannot say."""
    with suppress(Refused, Unavailable):
        return [said for one, made in up if (said := _ended(engine, one, made))]
    return []


def _started(engine: Engine, gone: ExitStack, ask: Callable[[int], dict[str, Any]]) -> str:
    """A container as asked for with a user of its own, compared and started.

    Raises `Refused` where the engine made it otherwise."""
    user = engine.users.take()
    gone.callback(engine.users.give, user)
    config = ask(user)
    with faults("making a service"):
        made = str(engine._api().create_container_from_config(config)["Id"])
    gone.callback(engine.remove, made)
    with faults("inspecting a service"):
        inspected = engine._api().inspect_container(made)
    if wrong := weaker(inspected, config, swap_limit=engine.facts.swap_limit):
        raise Refused("the engine weakens a service's profile: " + "; ".join(wrong), 500)
    with faults("starting a service"):
        engine._api().start(made)
    return made


def weaker(
    inspected: Mapping[str, Any], asked: Mapping[str, Any], *, swap_limit: bool
) -> list[str]:
    """What the engine made differently from what was asked for, a sentence each."""
    host, config = inspected.get("HostConfig") or {}, inspected.get("Config") or {}
    wanted = {key: value for key, value in asked["HostConfig"].items() if key != NAMES}
    wrong = differs(wanted, host, swap_limit=swap_limit)
    wrong += [
        f"{key} should be empty and is {host[key]!r}"
        for key in (*EMPTY_HOST, "Tmpfs")
        if key != NAMES and host.get(key) and key not in wanted
    ]
    if (host.get(NAMES) or []) != asked["HostConfig"].get(NAMES, []):
        wrong.append(f"{NAMES} should be the services' names and is {host.get(NAMES)!r}")
    if config.get("User") != asked["User"]:
        wrong.append(f"User should be {asked['User']} and is {config.get('User')!r}")
    if inspected.get("Mounts"):
        wrong.append(f"Mounts should be empty and is {inspected['Mounts']!r}")
    return wrong


def _waiter(
    image: str,
    services: list[Wanted],
    seconds: int,
    labels: Mapping[str, str],
    runtime: str,
    user: int,
) -> dict[str, Any]:
    options = {
        **host_options(NO_NETWORK, WAITER, user, runtime),
        NAMES: [f"{one.name}:127.0.0.1" for one in services],
        "LogConfig": {"Type": "none", "Config": {}},
    }
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": f"{user}:{GROUP}",
        "Entrypoint": ["/bin/sleep", str(seconds)],
        "Cmd": [],
        "Labels": dict(labels),
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": options,
    }


def _service(
    maker: Maker, one: Wanted, network: str, labels: Mapping[str, str], user: int
) -> dict[str, Any]:
    options = {
        **host_options(network, MEMORY, user, maker.runtime, stores_of(maker, one.image)),
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
    }
    entry = {"Entrypoint": list(one.entry), "Cmd": []} if one.entry else {}
    return {
        **entry,
        "User": f"{user}:{GROUP}",
        "Image": one.image,
        "Env": [f"{name}={value}" for name, value in one.env.items()],
        "Labels": dict(labels),
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": options,
    }


def stores_of(maker: Maker, image: str) -> tuple[str, ...]:
    """Where a service of an image may write: the volumes that it declares, the usual temporary
    places, and the folders that it has below /run, which would be hidden otherwise."""
    if image in maker.stores:
        return maker.stores[image]
    with faults("looking at a service's image"):
        known = maker.engine._api().inspect_image(image).get("Config") or {}
    volumes = [path.rstrip("/") for path in known.get("Volumes") or {}]
    maker.stores[image] = tuple(sorted({*volumes, *WRITABLE, *_below_run(maker, image)}))
    return maker.stores[image]


def _below_run(maker: Maker, image: str) -> tuple[str, ...]:
    engine, kept = maker.engine, bytearray()
    made = maker.still(image)
    try:
        with suppress(Missing), faults("looking at a service's image"):
            pieces, _ = engine._api().get_archive(made, "/run")
            for piece in pieces:
                kept += piece
                if len(kept) > RUN_CAP:
                    pieces.close()
                    break
    finally:
        engine.remove(made)
    found = []
    with suppress(tarfile.TarError), tarfile.open(fileobj=io.BytesIO(bytes(kept))) as tar:
        found = [f"/{entry.name.strip('/')}" for entry in tar if entry.isdir()]
    return tuple(path for path in found if path.startswith("/run/") and path.count("/") == 2)


@dataclass
class _Question:
    """A command that runs in a container of this file, never in a check's, until it ends with 0.

    Nobody reads what it prints and nobody waits for its end: one that floods or hangs costs no
    more than the service's own time."""

    engine: Engine
    container: str
    argv: tuple[str, ...]
    at_work: str = ""
    code: int | None = None  # how it ended last

    def answered(self) -> bool:
        """Whether it has ended with 0; it is begun, looked at, or begun anew."""
        if self.code == 0 or not self.argv:
            return True
        with suppress(Refused), faults("asking a service"):
            api = self.engine._api()
            if not self.at_work:
                made = api.exec_create(self.container, list(self.argv), stdout=False, stderr=False)
                self.at_work = str(made["Id"])
                with suppress(Refused), faults("asking a service"):  # no such program: 126 or 127
                    api.exec_start(self.at_work, detach=True)
            seen = api.exec_inspect(self.at_work)
            if not seen.get("Running"):
                code = seen.get("ExitCode")
                self.at_work, self.code = "", 255 if code is None else int(code)
        return self.code == 0

    @property
    def told(self) -> str:
        if self.code is None:
            return "it has not ended"
        missing = " (no such program?)" if self.code in (126, 127) else ""
        return f"it ended with {self.code}{missing}"


def _await(engine: Engine, one: Wanted, owner: str, made: str, cancelled: Cancelled) -> None:
    end = time.monotonic() + one.timeout
    port = _Question(engine, owner, ("grep", "-Eq", listening(one.port), *TABLES))
    ready = _Question(engine, made, one.ready)
    while True:
        if cancelled():
            raise Missing("the check was stopped together with its run", 410)
        if ended := _ended(engine, one, made):
            raise Refused(ended, SERVICE_NOT_READY)
        if port.answered() and ready.answered():
            return
        if time.monotonic() > end:
            within = f"on port {one.port} within {one.timeout} s"
            why = f"was not ready {within}"
            if port.code == 0:
                why = f"listens, but its `ready` did not end with 0 {within} ({ready.told})"
            said = f"the service {one.name!r} {why}: {_words(engine, made)}"
            raise Refused(said, SERVICE_NOT_READY)
        time.sleep(TICK)


def listening(port: int) -> str:
    """What finds a socket that listens on `port` in the kernel's tables of TCP sockets."""
    return f"^ *[0-9]+: [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ {LISTENING} "


def _ended(engine: Engine, one: Wanted, made: str) -> str:
    """How a service ended, with its last words; "" while it runs."""
    with faults("looking at a service"):
        state = engine._api().inspect_container(made)["State"]
    if state.get("Running"):
        return ""
    memory = f" (out of memory, limit {MEMORY >> 20} MiB)" if state.get("OOMKilled") else ""
    code = state.get("ExitCode")
    return f"the service {one.name!r} ended with {code}{memory}: {_words(engine, made)}"


def _words(engine: Engine, made: str) -> str:
    with suppress(Refused, Unavailable), faults("reading a service's words"):
        said = engine._api().logs(made, tail=20)
        return json.dumps(said[-TAIL:].decode("utf-8", "replace"))
    return "it said nothing"


def looked(maker: Maker, image: str, argv: list[str]) -> bytes:
    """What a program prints as a service, for the self-test. Raises `Refused`, `Unavailable`."""
    one = Wanted("probe", image, 1, {}, (), 30, tuple(argv))
    labels = {
        LABEL: "1",
        LABEL_RUN: "selftest",
        LABEL_OWNER: maker.owner,
        LABEL_DEADLINE: str(int(maker.clock() + 120)),
    }
    with ExitStack() as gone:
        ask = partial(_service, maker, one, NO_NETWORK, labels)
        made = _started(maker.engine, gone, ask)
        maker.engine.ending(made)
        with faults("reading a service's words"):
            return bytes(maker.engine._api().logs(made, stdout=True, stderr=False))
