"""Every property of the profile is noticed when the engine makes it differently."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from app.domain.errors import Refused
from tests.worker.sandbox.running import engine_or_skip
from worker.sandbox import engine as engine_module
from worker.sandbox import selftest
from worker.sandbox.cell import Maker
from worker.sandbox.engine import Engine
from worker.sandbox.image import ensure_default
from worker.sandbox.profile import (
    EMPTY_HOST,
    Limits,
    container_options,
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


WEAKER: dict[str, tuple[dict[str, Any], str]] = {
    "CapDrop": ({"CapDrop": []}, "a capability is left"),
    "ReadonlyRootfs": ({"ReadonlyRootfs": False, "Tmpfs": {"/workspace": "exec"}}, "root file"),
    "SecurityOpt": ({"SecurityOpt": ["seccomp=unconfined"]}, "seccomp"),
    "PidsLimit": ({"PidsLimit": 1000}, "process limit"),
    "Memory": ({"Memory": 1 << 30, "MemorySwap": 1 << 30}, "memory limit"),
}


@pytest.mark.docker
@pytest.mark.parametrize("key", WEAKER)
def test_the_start_up_probe_names_a_weaker_property(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_or_skip()
    change, words = WEAKER[key]
    monkeypatch.setattr(
        engine_module, "host_options", lambda limits: {**host_options(limits), **change}
    )
    with Engine() as engine:
        maker = Maker.of(engine, "", time.time)
        image = ensure_default(engine, lambda _: None)
        with pytest.raises(Refused, match=f"weakens.*{key}"):
            selftest.probe(maker, image)
        monkeypatch.setattr(engine_module, "differences", lambda *_, **__: [])
        with pytest.raises(Refused, match=words):
            selftest.probe(maker, image)
        monkeypatch.undo()
        selftest.probe(maker, image)
        assert not [c for c in engine.ours() if c.labels.get("patchwarrant.run") == "selftest"]
