"""Ways to cheat, through the real gate with real containers: none that touches tests, settings,
start-up files or the runner gets "passed"; those in product code are named; honest fixes pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from app.domain.evidence import Result
from tests.hostile.gatehouse import Gatehouse, Judged
from tests.hostile.mutants import HONEST as FIXES
from tests.hostile.mutants import MAKE, PRODUCTS, Mutant
from tests.hostile.mutants import REFEREES as BY_NAME
from tests.hostile.places import DOCUMENTED, FOREIGN, MENDED, PLACES, UNUSABLE, VERIFY
from tests.worker.sandbox.running import engine_or_skip, service

pytestmark = [pytest.mark.docker, pytest.mark.slow]

AT_ONCE = 3
REFEREES = (*BY_NAME, *PLACES, *FOREIGN)
HONEST = (*FIXES, *MENDED)


@pytest.fixture(scope="module")
def ends(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Judged]]]:
    """How each candidate ended that a test asks for; they are judged side by side."""
    engine_or_skip()
    wanted = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    every = [one for one in (*HONEST, *REFEREES, *PRODUCTS, UNUSABLE) if one.name in wanted]
    with service(concurrency=AT_ONCE) as started, ThreadPoolExecutor(AT_ONCE) as pool:
        house = Gatehouse(started.client)
        yield {
            one.name: pool.submit(
                house.judged, one.base, one.changes, drawn(number), foreign=one.foreign
            )
            for number, one in enumerate(every)
        }
        pool.shutdown(cancel_futures=True)


def drawn(number: int) -> str:
    """Digits that no two candidates share, even or odd by turns."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:32]


def named(mutant: Mutant) -> str:
    return mutant.name


def test_there_are_enough_of_them() -> None:
    names = [one.name for one in (*REFEREES, *PRODUCTS, *HONEST)]
    assert len(names) == len(set(names))
    assert len(REFEREES) + len(PRODUCTS) >= 30
    assert len(HONEST) >= 5


@pytest.mark.parametrize("mutant", HONEST, ids=named)
def test_an_honest_fix_passes(mutant: Mutant, ends: dict[str, Future[Judged]]) -> None:
    judged = ends[mutant.name].result()
    assert judged.passed, judged.said
    assert mutant.named in judged.said
    if mutant.base not in (
        MAKE,
        VERIFY,
        DOCUMENTED,
    ):  # no test file, no sentinel; what counts lines of its own output knows no sentinel
        assert "reports its tests as they end One test that must fail" in judged.said


@pytest.mark.parametrize("mutant", (UNUSABLE,), ids=named)
def test_nobody_is_blamed_for_a_base_that_cannot_be_measured(
    mutant: Mutant, ends: dict[str, Future[Judged]]
) -> None:
    verdict = ends[mutant.name].result().verdict
    assert verdict is not None
    assert verdict.result is Result.PARTIAL
    assert "baseline unusable" in verdict.wall


@pytest.mark.parametrize("mutant", REFEREES, ids=named)
def test_what_touches_the_referee_never_passes(
    mutant: Mutant, ends: dict[str, Future[Judged]]
) -> None:
    judged = ends[mutant.name].result()
    assert not judged.passed, judged.said
    if mutant.fools:  # an exit code alone would have said that all is well
        assert set(judged.exit_codes) == {0}, [one.tail for one in judged.run.results]
    if judged.verdict is not None:
        first = judged.verdict.findings[0]
        assert first.claim == "Touched the referee"
        assert any(mutant.named in said for said in first.exhibits), first.exhibits


@pytest.mark.parametrize("mutant", PRODUCTS, ids=named)
def test_a_cheat_in_product_code_is_named(mutant: Mutant, ends: dict[str, Future[Judged]]) -> None:
    judged = ends[mutant.name].result()
    assert set(judged.exit_codes) == {0}, [one.tail for one in judged.run.results]
    assert judged.passed is not mutant.caught, judged.said
    assert judged.verdict is not None
    looks = [one for one in judged.verdict.findings if one.claim.startswith("Look at")]
    looks = [one for one in looks if "nobody counted" not in one.claim]  # that is not the cheat
    assert len(looks) == 1
    assert any(mutant.named in said for said in looks[0].exhibits), looks[0].exhibits
