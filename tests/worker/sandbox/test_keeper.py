"""Which containers are removed, and which are none of our business."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.sandbox.engine import Found
from worker.sandbox.keeper import Owner, alive, needless, owner
from worker.sandbox.profile import LABEL_DEADLINE, LABEL_OWNER

NOW = 1_800_000_000.0
ME = Owner("here", "boot-1", 10, "100")
DEAD_PID = 99


def container(who: Owner | str, deadline: float = NOW + 100, finished: str = "") -> Found:
    labels = {LABEL_OWNER: str(who), LABEL_DEADLINE: str(int(deadline))}
    return Found("c", labels, not finished, finished)


@pytest.mark.parametrize(
    ("found", "goes"),
    [
        (container(ME), False),
        (container(ME, NOW - 1), True),
        (container(Owner("here", "boot-1", 9, "90")), True),  # an earlier one at our socket
        (container(Owner("there", "boot-1", 20, "200")), False),  # a living neighbour
        (container(Owner("there", "boot-1", DEAD_PID, "300")), True),
        (container(Owner("there", "boot-2", DEAD_PID, "300")), False),  # cannot be asked
        (container(Owner("there", "boot-2", DEAD_PID, "300"), NOW - 1), True),
        (container("nonsense"), False),
        (container("nonsense", NOW - 1), True),
        (Found("c", {}, True, ""), True),  # ours by label, but without a deadline
        (container(ME, finished="2027-01-15T07:58:00.5Z"), True),  # two minutes ago
        (container(ME, finished="2027-01-15T07:59:50Z"), False),
        (container(ME, finished="0001-01-01T00:00:00Z"), False),  # created, not started yet
        (container(ME, finished="some day"), False),
    ],
)
def test_only_what_nobody_needs_goes(found: Found, goes: bool) -> None:
    assert needless([found], ME, NOW, lambda who: who.pid != DEAD_PID) == (["c"] if goes else [])


def test_an_owner_reads_back_and_knows_the_living_from_the_dead(tmp_path: Path) -> None:
    me = owner(tmp_path / "s.sock", os.getpid())
    assert Owner.read(str(me)) == me
    assert alive(me)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        other = owner(tmp_path / "s.sock", child.pid)
        assert alive(other)
        assert other.place == me.place
        child.communicate()
    assert not alive(other)
    assert not alive(Owner(me.place, me.space, me.pid, "1"))  # the number was given again


def test_equal_paths_in_different_folders_are_different_places(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    first = owner(folder / "s.sock", 1).place
    assert owner(folder / "s.sock", 1).place == first
    folder.rename(tmp_path / "away")
    folder.mkdir()
    assert owner(folder / "s.sock", 1).place != first


@pytest.mark.parametrize("text", ["", "a", "a:b", "a:b:c:d", "a:b:1:", ":b:1:2"])
def test_odd_owners_are_nobody(text: str) -> None:
    assert Owner.read(text) is None
