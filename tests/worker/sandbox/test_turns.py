"""Equal set-ups wait for one another in order, for a while, and see that they are cancelled."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import msgspec
import pytest

from app.domain.errors import Missing, Unavailable
from worker.sandbox.setup_wire import Host, Package
from worker.sandbox.turns import Turns
from worker.sandbox.wire import EnvName, ImageId, RunId, Tenant


def never() -> bool:
    return False


def test_who_waits_too_long_is_told_its_place_and_gives_it_up() -> None:
    turns = Turns()
    with turns.entered("a", 0, never):
        with (
            pytest.raises(Unavailable, match="place 1 of 1 in the queue"),
            turns.entered("a", 0, never),
        ):
            raise AssertionError("two at once")
        with turns.entered("b", 0, never):
            assert set(turns.lines) == {"a", "b"}
    assert turns.lines == {}


def test_a_waiter_sees_that_it_is_cancelled() -> None:
    turns = Turns()
    with (
        turns.entered("a", 0, never),
        pytest.raises(Missing) as gone,
        turns.entered("a", 600, lambda: True),
    ):
        raise AssertionError("two at once")
    assert gone.value.status == 410


def test_the_next_one_goes_in_when_the_first_leaves() -> None:
    turns, inside = Turns(), threading.Event()

    def second() -> None:
        with turns.entered("a", 600, never):
            inside.set()

    with ExitStack() as first:
        first.enter_context(turns.entered("a", 0, never))
        thread = threading.Thread(target=second)
        thread.start()
        assert not inside.wait(0.1)
    assert inside.wait(120)
    thread.join()
    assert turns.lines == {}


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (RunId, "run-1"),
        (Tenant, "1"),
        (ImageId, "sha256:" + "0" * 64),
        (EnvName, "NAME"),
        (Host, "a.example"),
        (Package, "gcc"),
    ],
)
def test_no_name_of_a_request_ends_with_a_line(shape: object, value: str) -> None:
    assert msgspec.convert(value, shape) == value
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(f"{value}\n", shape)
