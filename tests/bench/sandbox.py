"""First certifying check through the real service against a bare `docker run` of the same image.

Interleaved, medians; the ratio is of wall times seen by the caller, above 1 is slower than bare.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator

from tests.worker.sandbox.running import EMPTY, Service, job, look, service

ROUNDS = 11
BUDGET = 40.0  # seconds of measuring
LABEL = "patchwarrant-bench=1"


def run() -> dict[str, float]:
    """`cold_vs_docker_run` and the times behind it in milliseconds, `box_ms` beside them."""
    with service(concurrency=2) as started:
        cold, bare = _interleaved(started)
        with _box(started) as command:
            kept = statistics.median(_timed(command) for _ in range(20))
    ours, theirs = statistics.median(cold), statistics.median(bare)
    return {
        "cold_vs_docker_run": ours / theirs,
        "cold_ms": ours * 1000,
        "docker_run_ms": theirs * 1000,
        "box_ms": kept * 1000,
    }


def _interleaved(started: Service) -> tuple[list[float], list[float]]:
    cold: list[float] = []
    bare: list[float] = []
    _certify(started)  # the first of each warms the caches of both
    _docker_run(started.image)
    end = time.monotonic() + BUDGET
    for _ in range(ROUNDS):
        cold.append(_timed(lambda: _certify(started)))
        bare.append(_timed(lambda: _docker_run(started.image)))
        if time.monotonic() > end:
            break
    return cold, bare


def _timed(do: Callable[[], None]) -> float:
    start = time.monotonic()
    do()
    return time.monotonic() - start


def _certify(started: Service) -> None:
    outcome = started.client.certify("bench", started.image, job("true"), EMPTY, look)
    if outcome.exit_code != 0:
        raise RuntimeError(f"`true` ended with {outcome}")


def _docker_run(image: str) -> None:
    subprocess.run(
        ["docker", "run", "--rm", "--network", "none", "--label", LABEL, image, "true"], check=True
    )


@contextlib.contextmanager
def _box(started: Service) -> Iterator[Callable[[], None]]:
    box = started.client.open("bench", started.image, EMPTY)

    def command() -> None:
        box.run(job("true"), {}, look)

    try:
        yield command
    finally:
        box.close()
