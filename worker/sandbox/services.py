"""Servers beside a check: they share a loopback address with it and nothing else with anybody.

One container that only waits owns the network namespace, which has no interface but loopback; the
services and then the check join it. All of them are made for this one check or box and go with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Missing, Refused, Unavailable
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine, faults
from worker.sandbox.profile import (
    CPU_PERIOD,
    CPU_QUOTA,
    LABEL,
    LABEL_DEADLINE,
    LABEL_OWNER,
    LABEL_RUN,
    MIB,
    NO_NETWORK,
    USER,
)

MEMORY = 1024 * MIB  # of one service, its files in memory included
STORE = 512 * MIB  # of each volume that its image declares
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]  # to leave root at its start
TICK = 0.1  # seconds between looks at a service that gets ready
LISTENING = "0A"
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


def host_options(network: str, memory: int) -> dict[str, Any]:
    """What every container of this file has in common."""
    return {
        "NetworkMode": network,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "Privileged": False,
        "PidsLimit": 512,
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
    }


@contextmanager
def beside(
    maker: Maker, run: str, image: str, services: list[Wanted], seconds: float, cancelled: Cancelled
) -> Iterator[str]:
    """The network that a check joins, with every service ready; all are gone afterwards.

    Raises `Refused` for a service that does not get ready, with its last words, `Missing` (410)
    when cancelled, `Unavailable`."""
    if not services:
        yield NO_NETWORK
        return
    longest = seconds + sum(one.timeout for one in services) + 60
    labels = {
        LABEL: "1",
        LABEL_RUN: run,
        LABEL_OWNER: maker.owner,
        LABEL_DEADLINE: str(int(maker.clock() + longest)),
    }
    with ExitStack() as gone:
        owner = _started(maker.engine, gone, _waiter(image, services, int(longest), labels))
        network = f"container:{owner}"
        for one in services:
            made = _started(maker.engine, gone, _service(maker.engine, one, network, labels))
            _await(maker.engine, one, owner, made, cancelled)
        yield network


def _started(engine: Engine, gone: ExitStack, config: dict[str, Any]) -> str:
    with faults("making a service"):
        made = str(engine._api().create_container_from_config(config)["Id"])
    gone.callback(engine.remove, made)
    with faults("starting a service"):
        engine._api().start(made)
    return made


def _waiter(
    image: str, services: list[Wanted], seconds: int, labels: Mapping[str, str]
) -> dict[str, Any]:
    options = {
        **host_options(NO_NETWORK, 64 * MIB),
        "ReadonlyRootfs": True,
        "ExtraHosts": [f"{one.name}:127.0.0.1" for one in services],
        "LogConfig": {"Type": "none", "Config": {}},
    }
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": USER,
        "Entrypoint": ["/bin/sleep", str(seconds)],
        "Cmd": [],
        "Labels": dict(labels),
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": options,
    }


def _service(
    engine: Engine, one: Wanted, network: str, labels: Mapping[str, str]
) -> dict[str, Any]:
    with faults("looking at a service's image"):
        known = engine._api().inspect_image(one.image).get("Config") or {}
    stores = known.get("Volumes") or {}
    options = {
        **host_options(network, MEMORY),
        "CapAdd": CAPABILITIES,
        "ReadonlyRootfs": False,
        "Tmpfs": {path: f"rw,nosuid,nodev,size={STORE},mode=1777" for path in stores},
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
    }
    return {
        "Image": one.image,
        "Env": [f"{name}={value}" for name, value in one.env.items()],
        "Labels": dict(labels),
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": options,
    }


def _await(engine: Engine, one: Wanted, owner: str, made: str, cancelled: Cancelled) -> None:
    end = time.monotonic() + one.timeout
    while True:
        if cancelled():
            raise Missing("the check was stopped together with its run", 410)
        with faults("looking at a service"):
            state = engine._api().inspect_container(made)["State"]
        if not state.get("Running"):
            said = _words(engine, made)
            raise Refused(f"the service {one.name!r} ended with {state.get('ExitCode')}: {said}")
        if _listens(engine, owner, one.port) and _says_ready(engine, one, made):
            return
        if time.monotonic() > end:
            raise Refused(
                f"the service {one.name!r} was not ready on port {one.port} within "
                f"{one.timeout} s: {_words(engine, made)}"
            )
        time.sleep(TICK)


def _listens(engine: Engine, owner: str, port: int) -> bool:
    _, out = _executed(engine, owner, ["/bin/cat", "/proc/net/tcp", "/proc/net/tcp6"])
    return listening(out.decode("ascii", "replace"), port)


def listening(table: str, port: int) -> bool:
    """Whether the kernel's table of TCP sockets has one that listens on `port`."""
    for line in table.splitlines():
        words = line.split()
        if len(words) > 3 and words[3] == LISTENING and words[1].endswith(f":{port:04X}"):
            return True
    return False


def _says_ready(engine: Engine, one: Wanted, made: str) -> bool:
    return not one.ready or _executed(engine, made, list(one.ready))[0] == 0


def _executed(engine: Engine, container: str, argv: list[str]) -> tuple[int, bytes]:
    """A command in a container of this file, never in a check's."""
    with suppress(Refused), faults("asking a service"):
        api = engine._api()
        made = api.exec_create(container, argv)["Id"]
        out = api.exec_start(made)
        return int(api.exec_inspect(made)["ExitCode"] or 0), out
    return 255, b""


def _words(engine: Engine, made: str) -> str:
    with suppress(Refused, Unavailable), faults("reading a service's words"):
        said = engine._api().logs(made, tail=20)
        return json.dumps(said[-TAIL:].decode("utf-8", "replace"))
    return "it said nothing"
