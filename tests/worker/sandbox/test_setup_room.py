"""What set-ups do before and after a builder: the disk's floor, and logs that nobody needs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from app.domain.errors import Missing, Unavailable
from app.domain.setup import SetupPlan, Step
from worker.sandbox.admission import Admission, Room
from worker.sandbox.cell import Maker
from worker.sandbox.disk import Disk
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


def test_logs_go_by_age_and_a_use_keeps_them(tmp_path: Path) -> None:
    for name in ("old", "used"):
        (tmp_path / f"{name}.log").write_bytes(b"said")
        os.utime(tmp_path / f"{name}.log", (10, 10))
    made = setups(tmp_path)
    assert made._log("used") == b"said"
    assert made.forget(now=1001.0, age=100.0) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["used.log"]
