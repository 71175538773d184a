"""Every property of the profile is noticed when the engine makes it differently."""

from __future__ import annotations

import copy
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Refused, Unavailable
from tests.patience import until
from tests.worker.sandbox.running import engine_or_skip
from worker.sandbox import engine as engine_module
from worker.sandbox import profile as profile_module
from worker.sandbox import selftest
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine
from worker.sandbox.image import ensure_default
from worker.sandbox.profile import (
    EMPTY_HOST,
    LABEL_OWNER,
    Limits,
    container_options,
    departures,
    described,
    differences,
    digest,
    host_options,
)

LIMITS = Limits(1 << 30)
COMMAND = ["python3", "-c", "pass"]
IMAGE = "sha256:" + "1" * 64


def made() -> dict[str, Any]:
    """An inspection that agrees with the profile."""
    config = {**container_options(COMMAND), "Cmd": None, "Volumes": None}
    config["Env"] = ["PATH=/usr/bin", *config["Env"]]
    host = {**host_options(LIMITS), "Binds": None, "Devices": []}
    host["MemorySwappiness"] = None
    found = {"HostConfig": host, "Config": config, "Image": IMAGE, "Mounts": []}
    return copy.deepcopy(found)


def wrong(inspected: dict[str, Any], swap_limit: bool = True) -> list[str]:
    return differences(inspected, LIMITS, COMMAND, IMAGE, swap_limit=swap_limit)


def test_an_equal_container_has_no_differences() -> None:
    assert wrong(made()) == []


@pytest.mark.parametrize("key", [key for key in host_options(LIMITS) if key not in EMPTY_HOST])
def test_each_dropped_option_of_the_host_is_a_difference(key: str) -> None:
    inspected = made()
    del inspected["HostConfig"][key]
    assert [found.partition(" ")[0] for found in wrong(inspected)] == [key]


@pytest.mark.parametrize("key", EMPTY_HOST)
def test_each_way_out_is_a_difference(key: str) -> None:
    inspected = made()
    inspected["HostConfig"][key] = ["something"]
    assert any(found.startswith(f"{key} should be") for found in wrong(inspected))


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("Config", "User", "0:0"),
        ("Config", "Entrypoint", ["sh"]),
        ("Config", "Cmd", ["more"]),
        ("Config", "Tty", True),
        ("Config", "Healthcheck", None),
        ("Config", "Volumes", {"/data": {}}),
        ("Config", "WorkingDir", "/"),
        ("HostConfig", "SecurityOpt", ["no-new-privileges:true", "seccomp=unconfined"]),
        ("HostConfig", "MemorySwap", -1),
        ("HostConfig", "PidsLimit", 0),
        ("HostConfig", "NetworkMode", "bridge"),
    ],
)
def test_each_weaker_value_is_a_difference(part: str, key: str, value: object) -> None:
    inspected = made()
    inspected[part][key] = value
    assert [found.partition(" ")[0] for found in wrong(inspected)] == [key]


def test_mounts_and_another_image_are_differences() -> None:
    assert len(wrong({**made(), "Mounts": [{"Type": "volume"}]})) == 1
    assert len(wrong({**made(), "Image": "sha256:other"})) == 1


def test_a_kernel_that_counts_no_swap_is_accepted() -> None:
    inspected = made()
    inspected["HostConfig"]["MemorySwap"] = -1
    assert wrong(inspected, swap_limit=False) == []


def test_the_digest_names_profile_and_program() -> None:
    assert digest(COMMAND) == digest(list(COMMAND))
    assert digest(COMMAND) != digest([*COMMAND, "more"])


def test_the_writable_mounts_fit_into_the_memory() -> None:
    for memory in (32 << 20, 256 << 20, 2 << 30, 8 << 30):
        limits = Limits(memory)
        assert limits.workspace + limits.scratch + limits.shm < memory * 0.7


# -- against the engine ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machine() -> Iterator[tuple[Maker, str]]:
    """A maker of containers and the default image."""
    engine_or_skip()
    with Engine() as engine:
        owner = f"test-{secrets.token_hex(6)}"  # others prove their own containers beside us
        maker = Maker.of(engine, owner, time.time)
        yield maker, ensure_default(engine, lambda _: None)
        maker.close()
        until(lambda: not [c for c in engine.ours() if c.labels.get(LABEL_OWNER) == owner])


def dropped(keys: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in keys.items() if name != key}


HOST = sorted(host_options(LIMITS))
CONTAINER = sorted(container_options(COMMAND))


@pytest.mark.docker
@pytest.mark.parametrize("key", HOST)
def test_without_any_option_of_the_host_the_self_test_refuses(
    key: str, monkeypatch: pytest.MonkeyPatch, machine: tuple[Maker, str]
) -> None:
    """As a refactoring would lose it: out of what is asked for and of what is compared."""
    real = profile_module.host_options
    monkeypatch.setattr(profile_module, "host_options", lambda lim: dropped(real(lim), key))
    with pytest.raises(Refused, match=rf"the profile's option {key} is missing"):
        selftest.prove(*machine)


@pytest.mark.docker
@pytest.mark.parametrize("key", CONTAINER)
def test_without_any_option_of_the_container_the_self_test_refuses(
    key: str, monkeypatch: pytest.MonkeyPatch, machine: tuple[Maker, str]
) -> None:
    real = profile_module.container_options
    monkeypatch.setattr(
        profile_module, "container_options", lambda *given: dropped(real(*given), key)
    )
    with pytest.raises(Refused, match=rf"the profile's option {key} is missing"):
        selftest.prove(*machine)


# What the engine does by itself as the profile asks: there is nothing to see in a container.
ENGINES_OWN = {
    "AutoRemove",
    "Init",
    "IpcMode",
    "MemorySwappiness",  # 0 and nothing look alike
    "OomKillDisable",
    "Privileged",
    "PublishAllPorts",
    "RestartPolicy",
    "Runtime",
}


@pytest.mark.docker
@pytest.mark.parametrize("key", [key for key in HOST if key not in ENGINES_OWN])
def test_a_container_without_an_option_is_not_used(
    key: str, monkeypatch: pytest.MonkeyPatch, machine: tuple[Maker, str]
) -> None:
    """The engine is not asked for it: the comparison of the made container finds that."""
    real = engine_module.host_options
    monkeypatch.setattr(engine_module, "host_options", lambda lim: dropped(real(lim), key))
    maker, image = machine
    if key == "MemorySwap" and not maker.engine.facts.swap_limit:
        pytest.skip(f"this kernel counts no swap, so that {key} says nothing")
    with pytest.raises(Refused, match=f"weakens the sandbox's profile: .*{key}|refused"):
        selftest.probe(maker, image)


# Seen from inside, with every comparison blind: (what is asked for instead, what is said).
WEAKER: dict[str, tuple[dict[str, Any], str]] = {
    "CapDrop": ({"CapDrop": []}, "a capability is left"),
    "NetworkMode": ({"NetworkMode": "bridge"}, "the network is not off"),
    "ReadonlyRootfs": ({"ReadonlyRootfs": False}, "the root file system can be written"),
    "no-new-privileges": ({"SecurityOpt": []}, "new privileges are possible"),
    "seccomp": ({"SecurityOpt": ["seccomp=unconfined"]}, "no seccomp filter"),
    "system calls": ({"SecurityOpt": ["no-new-privileges:true"]}, "the limits of PID 1"),
    "PidsLimit": ({"PidsLimit": 1000}, "process limit"),
    "Memory": ({"Memory": 1 << 30, "MemorySwap": 1 << 30}, "memory limit"),
    "CpuQuota": ({"CpuQuota": 50_000}, "more cores can be used"),
    "CpuPeriod": ({"CpuPeriod": 50_000}, "more cores can be used"),
    "CpuShares": ({"CpuShares": 2048}, "the cores are not shared out"),
    "OomScoreAdj": ({"OomScoreAdj": 0}, "would not end the sandbox first"),
    "CgroupnsMode": ({"CgroupnsMode": "host"}, "the host's cgroups are seen"),
    "ShmSize": ({"ShmSize": 64 << 20}, "/dev/shm has not its size"),
    "IpcMode": ({"IpcMode": "host"}, "/dev/shm has not its size"),
    "Ulimits": ({"Ulimits": []}, "a limit of the process is not set"),
    "Tmpfs": ({"Tmpfs": {"/workspace": "exec"}}, "the workspace has not its size"),
    "PidMode": ({"PidMode": "host"}, "gave no answer|ended early|host's processes"),
    "Binds": (
        {"Binds": ["/var/run/docker.sock:/var/run/docker.sock"]},
        "the Docker engine's socket is inside",
    ),
    "Devices": (
        {
            "Devices": [
                {
                    "PathOnHost": "/dev/kmsg",
                    "PathInContainer": "/dev/kmsg",
                    "CgroupPermissions": "r",
                }
            ]
        },
        "a device is inside",
    ),
    "Privileged": ({"Privileged": True}, "a capability is left|a device is inside"),
}


@pytest.mark.docker
@pytest.mark.parametrize("key", WEAKER)
def test_the_probe_sees_a_weaker_container_from_inside(
    key: str, monkeypatch: pytest.MonkeyPatch, machine: tuple[Maker, str]
) -> None:
    change, words = WEAKER[key]
    monkeypatch.setattr(engine_module, "host_options", lambda lim: {**host_options(lim), **change})
    networked = {"NetworkDisabled": key != "NetworkMode"}  # either one alone keeps it off
    monkeypatch.setattr(
        engine_module,
        "container_options",
        lambda *given: {**container_options(*given), **networked},
    )
    monkeypatch.setattr(engine_module, "differences", lambda *_, **__: [])
    with pytest.raises((Refused, Unavailable), match=words):
        selftest.probe(*machine)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"User": "0:0"}, "user and group are not"),
        ({"Hostname": ""}, "host's name is seen"),
        ({"Env": []}, "environment is not set"),
    ],
)
def test_the_probe_sees_a_weaker_configuration_from_inside(
    change: dict[str, Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    machine: tuple[Maker, str],
) -> None:
    monkeypatch.setattr(
        engine_module, "container_options", lambda *given: {**container_options(*given), **change}
    )
    monkeypatch.setattr(engine_module, "differences", lambda *_, **__: [])
    with pytest.raises((Refused, Unavailable), match=words):
        selftest.probe(*machine)


@pytest.mark.docker
def test_the_whole_self_test_holds_and_every_abuse_is_needed(
    monkeypatch: pytest.MonkeyPatch, machine: tuple[Maker, str]
) -> None:
    assert selftest.prove(*machine) == len(selftest.PROPERTIES)
    met = selftest.Abuse("it is harmless", ("true",), "pids", 256)
    monkeypatch.setattr(selftest, "ABUSES", (met,))
    with pytest.raises(Refused, match=r"it is harmless \(no limit, exit 0\)"):
        selftest.prove(*machine)


def test_what_the_probe_does_not_tell_does_not_hold() -> None:
    assert selftest.failing({}) == list(selftest.SEEN)
    assert len(selftest.failing({}, "runsc")) < len(selftest.SEEN)


def test_the_published_profile_is_the_one_in_use(tmp_path: Path) -> None:
    told = json.loads(selftest.PUBLISHED.read_text(encoding="utf-8"))
    assert departures(told, described(COMMAND)) == []
    assert departures(told, described(COMMAND, "runsc")) == []
    assert departures({}, described(COMMAND))
    told["host"]["CapAdd"] = ["NET_RAW"]
    assert departures(told, described(COMMAND)) == ["CapAdd is missing"]


def test_the_runtime_is_part_of_the_profile() -> None:
    assert digest(COMMAND, "runsc") != digest(COMMAND)
    assert host_options(Limits(1 << 30, "runsc"))["Runtime"] == "runsc"
