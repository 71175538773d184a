"""Cancel, wherever a run is: within ten seconds it has ended and said so, and nothing stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from app.domain import record
from app.domain.errors import Reason, Waiting
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FILES, FIX, Town
from tests.pace import in_time

pytestmark = pytest.mark.docker
SECONDS = 10.0
HEAD = "import time\nfrom sums import add\n\n\ndef test_add():\n"
BASE_SLOW = HEAD + "    time.sleep(60)\n    assert add(2, 2) == 4\n"
PATCHED_SLOW = (
    HEAD + "    if add(2, 2) == 4:\n        time.sleep(60)\n    assert add(2, 2) == 4\n\n\n"
    "def test_nothing():\n    assert add(0, 0) == 0\n"
)


def nothing(_town: Town, _name: str) -> None:
    return


def slow_post(path: str) -> Callable[[Town, str], None]:
    return lambda town, name: town.slow(name, path, seconds=3.0)


def silent_model(town: Town, _name: str) -> None:
    """A reply that does not come: the model thinks for longer than anybody waits here."""
    assert town.up.model is not None
    town.up.model.latency(seconds=60.0)


def overloaded_model(town: Town, _name: str) -> None:
    assert town.up.model is not None
    town.up.model.fault("529", times=1_000, retry_after=600)


def state(wanted: State) -> Callable[[Town, Run], bool]:
    return lambda _town, run: run.state is wanted


def in_a_container(wanted: State) -> Callable[[Town, Run], bool]:
    return lambda town, run: run.state is wanted and bool(town.up.containers(run.id))


def asked_the_model(town: Town, run: Run) -> bool:
    assert town.up.model is not None
    return run.state is State.LOCATE and len(town.up.model.requests()) > 0


def parked(waiting: Waiting) -> Callable[[Town, Run], bool]:
    return lambda _town, run: run.wait is not None and run.wait.waiting is waiting


def intended(key: str) -> Callable[[Town, Run], bool]:
    def reached(town: Town, run: Run) -> bool:
        with town.up.redis.client() as client:
            return bool(client.hexists(record.intents_key(run.id), key))

    return reached


@dataclass(frozen=True)
class Place:
    """Where the run is when it is cancelled, and how it is kept there for a while."""

    reached: Callable[[Town, Run], bool]
    slow: Callable[[Town, str], None] = nothing
    files: Mapping[str, str] = field(default_factory=lambda: FILES)
    work: bool = False  # whether there is partial work by then
    label: str = "agent:cancelled"


PLACES = {
    "the desk admits it": Place(state(State.ADMIT), slow_post("/comments$")),
    "its baseline is measured": Place(
        in_a_container(State.PREPARE), files={**FILES, "tests/test_sums.py": BASE_SLOW}
    ),
    "the model speaks": Place(asked_the_model, silent_model),
    "it waits for the model": Place(parked(Waiting.MODEL), overloaded_model),
    "a check runs": Place(
        in_a_container(State.VERIFY),
        files={**FILES, "tests/test_sums.py": PATCHED_SLOW},
        work=True,
    ),
    "the desk publishes": Place(intended("branch"), slow_post("/git/refs$")),
}


@pytest.mark.parametrize("where", PLACES)
def test_cancel_ends_a_run_wherever_it_is(town: Town, where: str) -> None:
    place = PLACES[where]
    before = {token["id"] for token in town.up.hub.tokens()}
    name = town.repository(place.files)
    town.patches(name, FIX)
    place.slow(town, name)
    number = town.ask(name)
    run = town.up.await_run(lambda run: run.repository.full_name == name, 120)
    ledger = town.up.ledger

    def there() -> bool:
        now = ledger.run(run.id)
        assert now is not None and not now.explained, f"it ended before: {now}"
        return place.reached(town, now)

    town.up.await_true(there, 240)
    began = time.monotonic()
    assert ledger.cancel(run.id)
    ended = town.end(name, number, seconds=240)
    took = time.monotonic() - began
    assert in_time(took, SECONDS), f"it took {took:.1f} s"
    assert ended.halt is not None and ended.halt.reason is Reason.CANCELLED
    assert town.up.containers(run.id) == []
    opened = town.up.hub.pulls(name)  # what was opened before the word came stays, and is named
    assert len(opened) <= (where == "the desk publishes")

    shown = {label["name"] for label in town.up.hub.issue(name, number)["labels"]}
    assert "agent:running" not in shown and place.label in shown
    texts = [str(one["body"]) for one in town.up.hub.comments(name, number)]
    (ending,) = [text for text in texts if f"patchwarrant:ending:{run.id}" in text]
    assert "cancelled" in ending
    assert all(f"#{pull['number']}" in ending for pull in opened), ending
    if place.work:
        assert "+    return a + b" in ending

    def told() -> bool:  # what was sent before the end and arrives after it is put right soon
        found = [str(one["body"]) for one in town.up.hub.comments(name, number)]
        (status,) = [text for text in found if "patchwarrant:status" in text]
        return "At work" not in status

    town.up.await_true(told, 60)

    def revoked() -> bool:
        mine = [token for token in town.up.hub.tokens() if token["id"] not in before]
        return bool(mine) and not any(token["alive"] for token in mine)

    town.up.await_true(revoked, 60)
