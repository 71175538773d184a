"""An engine that is killed in mid-check and comes back, and a runtime that is not the default."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from app.domain.errors import Unavailable
from app.domain.setup import SetupPlan, Step
from tests.patience import until
from tests.worker.sandbox.own_engine import OTHER_RUNTIME, own_engine
from tests.worker.sandbox.running import EMPTY, engine_or_skip, look, own, service, sh
from worker.sandbox.image import RECIPE, REPOSITORY, recipe_hash

RUN = f"label=patchwarrant.run={own('f17-up')}"
RUNTIME_OF = "{{.HostConfig.Runtime}}"
pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_f17_and_another_runtime_on_an_engine_that_dies(tmp_path: Path) -> None:
    engine_or_skip()
    with own_engine() as engine:
        engine.load(f"{REPOSITORY}:{recipe_hash(RECIPE)}")
        choices = {"docker_host": engine.host, "runtime": OTHER_RUNTIME}
        with service(tmp_path, choices=choices, ahead=1) as started:
            first = started.client.certify("f17", started.image, sh("exit 4"), EMPTY, look)
            assert first.exit_code == 4
            used: set[str] = set()

            def shown() -> bool:  # the one that is started ahead, or the one that goes
                for one in engine.docker("ps", "-q").stdout.split():
                    asked = engine.docker("inspect", "-f", RUNTIME_OF, one.decode(), check=False)
                    used.update(asked.stdout.decode().split())
                return bool(used)

            until(shown)
            assert used == {OTHER_RUNTIME}

            plan = SetupPlan(steps=(Step("look", "sleep 6"),))
            told: set[str] = set()

            def looking() -> None:
                for one in engine.docker("ps", "-q", "--filter", RUN).stdout.split():
                    asked = engine.docker("inspect", "-f", RUNTIME_OF, one.decode(), check=False)
                    told.update(asked.stdout.decode().split())

            assert started.client.set_up("f17-up", started.image, plan, looking).image
            assert told == {OTHER_RUNTIME}  # as it is for checks

            seen: list[int] = []

            def killing() -> None:
                if not seen:
                    seen.append(1)
                    engine.stop(signal.SIGKILL)

            with pytest.raises(Unavailable):
                started.client.certify("f17", started.image, sh("sleep 99"), EMPTY, killing)
            with pytest.raises(Unavailable, match="is it running"):
                started.client.certify("f17", started.image, sh("exit 0"), EMPTY, look)
            engine.start()

            def works() -> bool:
                try:
                    asked = sh("exit 5")
                    found = started.client.certify("f17", started.image, asked, EMPTY, look)
                except Unavailable:
                    return False
                return (found.exit_code, found.limit) == (5, "")

            until(works)
            assert started.stop() == 0
        with service(tmp_path, choices=choices):
            left = engine.docker("ps", "-aq", "--filter", f"label=patchwarrant.run={own('f17')}")
            assert left.stdout.split() == []
