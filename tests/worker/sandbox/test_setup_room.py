"""What set-ups do before and after a builder: the disk's floor, and logs that nobody needs."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from app.domain.errors import Missing, Unavailable
from app.domain.setup import SetupPlan, Step
from tests.patience import PATIENCE, until
from tests.worker.sandbox.running import engine_or_skip, gone, ours, own
from worker.sandbox.admission import Admission, Room
from worker.sandbox.cell import Maker
from worker.sandbox.disk import Disk
from worker.sandbox.engine import Engine as RealEngine
from worker.sandbox.environments import SetupRoom
from worker.sandbox.image import Images, ensure_default
from worker.sandbox.service import Ceilings, Rooms
from worker.sandbox.services import Wanted
from worker.sandbox.setup import Setups
from worker.sandbox.setup_rules import SetupRules


@dataclass
class Engine:
    """One without images, beside us."""

    local: bool = True

    def image_id(self, name: str) -> str:
        raise Missing(name, 404)


@dataclass
class Making:
    """The outside of a maker on a full disk."""

    engine: Engine = field(default_factory=Engine)
    disk: Disk = field(default_factory=lambda: Disk("", 1 << 60, told=1 << 30))
    owner: str = "me"
    runtime: str = "runc"

    def clock(self) -> float:
        return 1000.0


def setups(place: Path) -> Setups:
    room = Room(checks=1, boxes=1, memory=1 << 40, per_run=1, per_tenant=1)
    maker = cast(Maker, Making())
    return Setups(maker, SetupRules(), place, lambda _: None, str, Admission(room))


def test_no_builder_is_made_below_the_disks_floor(tmp_path: Path) -> None:
    made = setups(tmp_path)
    plan = SetupPlan(steps=(Step("one", "true"),))
    with pytest.raises(Unavailable, match="are kept free"):
        made.make("run", "base", "1", plan, lambda: False)
    assert made.admission.inside == []
    assert made.turns.lines == {}


def test_no_service_is_made_below_the_disks_floor(tmp_path: Path) -> None:
    made = setups(tmp_path)
    rooms = Rooms(made.maker, cast(Images, None), Ceilings())
    room = SetupRoom(rooms, made)
    room.services = {"with": [Wanted("db", "sha256:1", 1, {}, (), 1)], "without": []}
    with (
        pytest.raises(Unavailable, match="are kept free"),
        room.beside("run", "with", 1, lambda: False),
    ):
        pytest.fail("it was made")
    with room.beside("run", "without", 1, lambda: False) as beside:
        assert beside.network == "none"
    room.close()
    rooms.pool.shutdown()


class Filling:
    """A disk that gets short while a set-up is at work."""

    def __init__(self) -> None:
        self.free = 1 << 40

    def measure(self, _: str) -> os.statvfs_result:
        return cast(os.statvfs_result, SimpleNamespace(f_bavail=self.free, f_frsize=1))


@pytest.mark.docker
def test_a_disk_that_gets_short_ends_a_set_up_that_is_at_work(tmp_path: Path) -> None:
    engine_or_skip()
    filling = Filling()
    with RealEngine() as engine, ThreadPoolExecutor(1) as aside:
        image = ensure_default(engine, lambda _: None)
        disk = Disk("/", 1 << 20, measure=filling.measure)
        maker = Maker.of(engine, "filling", time.time, disk=disk)
        room = Room(checks=1, boxes=1, memory=1 << 40, per_run=1, per_tenant=1)
        made = Setups(maker, SetupRules(), tmp_path, lambda _: None, str, Admission(room))
        plan = SetupPlan(steps=(Step("long", "sleep 999"),), timeout=999)
        ending = aside.submit(made.make, own("filling"), image, "1", plan, lambda: False)
        until(lambda: ending.done() or any(one.running for one in ours("filling")))
        filling.free = 1
        with pytest.raises(Unavailable, match="0 MiB free, and 1 are kept free"):
            ending.result(PATIENCE)
        assert gone("filling")
        assert made.admission.inside == []
        maker.close()


@pytest.mark.docker
def test_a_runtime_that_lets_no_socket_through_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As gVisor and Kata are from the start: the proxy's socket leads nowhere inside."""
    engine_or_skip()
    monkeypatch.setattr("worker.sandbox.setup._proxy", lambda _: nullcontext())
    with RealEngine() as engine:
        image = ensure_default(engine, lambda _: None)
        maker = Maker.of(engine, "sealed", time.time)
        room = Room(checks=1, boxes=1, memory=1 << 40, per_run=1, per_tenant=1)
        made = Setups(maker, SetupRules(), tmp_path, lambda _: None, str, Admission(room))
        plan = SetupPlan(steps=(Step("never", "echo reached"),))
        found = made.make(own("sealed"), image, "1", plan, lambda: False)
        assert found.image == ""
        assert "the runtime runc lets no socket" in found.error
        assert "PATCHWARRANT_SETUP_RUNTIME" in found.error
        assert b"cannot be reached from inside" in found.log
        assert b"reached\n" not in found.log
        maker.close()


def test_the_runtime_is_part_of_what_an_environment_is_known_by(tmp_path: Path) -> None:
    made, plan = setups(tmp_path), SetupPlan(packages=("a",))
    keys = set()
    for checks, builders in (("runc", ""), ("runsc", ""), ("runsc", "runc")):
        made.maker.runtime, made.rules = checks, SetupRules(runtime=builders)
        keys.add(made.key("base", "1", plan, "{}"))
    assert len(keys) == 2  # the first and the last are built alike


def test_logs_go_by_age_and_a_use_keeps_them(tmp_path: Path) -> None:
    for name in ("old", "used"):
        (tmp_path / f"{name}.log").write_bytes(b"said")
        os.utime(tmp_path / f"{name}.log", (10, 10))
    made = setups(tmp_path)
    assert made._log("used") == b"said"
    assert made.forget(now=1001.0, age=100.0) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["used.log"]
