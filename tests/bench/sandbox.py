"""The sandbox through its real service against the bare engine, interleaved in one run; medians.

Ratios are of wall times seen by the caller, above 1 is slower than bare. `docker run` and
`tar | docker exec tar` use the same image and the same bytes.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx

from app.domain.errors import Stop
from app.domain.ports.sandbox import Job
from tests.worker.sandbox.running import EMPTY, Service, job, look, service, tar_of

ROUNDS = 9
COMMANDS = 40
PARALLEL = 20
BUDGET = 45.0  # seconds for one comparison
MIB = 1 << 20
LABEL = "patchwarrant-bench=1"
TRUE = job("true")


def run() -> dict[str, float]:
    """The five figures of the goal, and the times behind them in milliseconds."""
    files = {f"d{n % 20}/f{n}.bin": bytes([n % 251]) * 10_000 for n in range(1000)}
    tree = tar_of(files)
    with service(concurrency=2) as cold:
        first, bare = _interleaved(lambda: _certify(cold), lambda: _docker_run(cold.image))
    with service(concurrency=2, ahead=1, boxes=2) as warm:
        ready, bare_again = _interleaved(
            lambda: _certify(warm), lambda: _docker_run(warm.image), before=lambda: _filled(warm)
        )
        with _box(warm) as command:
            kept, floor = _interleaved(command, _fork, rounds=COMMANDS)
        with _plain(warm.image) as untar:
            sent, plain = _interleaved(
                lambda: _send(warm, tree),
                lambda: untar(tree),
                before=lambda: _filled(warm),
                after=lambda: _dropped(warm),
            )
    with service(concurrency=PARALLEL, boxes=1) as wide:
        failures = _parallel(wide)
    return {
        "cold_vs_docker_run": first / bare,
        "warm_vs_docker_run": ready / bare_again,
        "command_overhead_ms": (kept - floor) * 1000,
        "tree_1000_vs_tar": sent / plain,
        "parallel_20_failures": failures,
        "cold_ms": first * 1000,
        "docker_run_ms": bare * 1000,
        "warm_ms": ready * 1000,
        "box_ms": kept * 1000,
        "fork_exec_ms": floor * 1000,
        "tree_ms": sent * 1000,
        "tar_ms": plain * 1000,
    }


def _nothing() -> None:
    """Nothing to do before or after."""


def _interleaved(
    ours: Callable[[], None],
    theirs: Callable[[], None],
    *,
    before: Callable[[], None] = _nothing,
    after: Callable[[], None] = _nothing,
    rounds: int = ROUNDS,
) -> tuple[float, float]:
    """Median seconds of both; the first of each warms the caches and is not counted."""
    end = time.monotonic() + BUDGET
    mine: list[float] = []
    other: list[float] = []
    for _ in range(rounds + 1):
        before()
        mine.append(_timed(ours))
        after()
        other.append(_timed(theirs))
        if time.monotonic() > end:
            break
    return statistics.median(mine[1:]), statistics.median(other[1:])


def _timed(do: Callable[[], None]) -> float:
    start = time.monotonic()
    do()
    return time.monotonic() - start


def _certify(started: Service, asked: Job = TRUE) -> None:
    outcome = started.client.certify("bench", started.image, asked, EMPTY, look)
    if outcome.exit_code != 0 or outcome.limit:
        raise RuntimeError(f"`true` ended with {outcome}")


def _docker_run(image: str) -> None:
    subprocess.run(
        ["docker", "run", "--rm", "--network", "none", "--label", LABEL, image, "true"], check=True
    )


def _fork() -> None:
    subprocess.run(["true"], check=True)


def _filled(started: Service) -> None:
    """Until a container waits that was started ahead: its making is not what is measured."""
    transport = httpx.HTTPTransport(uds=started.socket)
    with httpx.Client(transport=transport) as http:
        while not http.get("http://sandbox/healthz").json()["ready"]:
            time.sleep(0.02)


def _send(started: Service, tree: bytes) -> None:
    started.client.open("bench-tree", started.image, tree)


def _dropped(started: Service) -> None:
    started.client.stop("bench-tree")


@contextlib.contextmanager
def _box(started: Service) -> Iterator[Callable[[], None]]:
    box = started.client.open("bench", started.image, EMPTY)

    def command() -> None:
        box.run(TRUE, {}, look)

    try:
        yield command
    finally:
        box.close()


@contextlib.contextmanager
def _plain(image: str) -> Iterator[Callable[[bytes], None]]:
    """A running container, and `docker exec -i … tar` into its tmpfs."""
    words = ["docker", "run", "-d", "--rm", "--network", "none", "--label", LABEL]
    words += [
        "--user",
        "65534",
        "--tmpfs",
        "/workspace:rw,exec,size=512m,uid=65534,gid=65534",
        image,
        "sleep",
        "600",
    ]
    made = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    untar = ["docker", "exec", "-i", made, "tar", "-xpf", "-", "-C", "/workspace"]

    def untarred(tree: bytes) -> None:
        subprocess.run(untar, input=tree, check=True)

    try:
        yield untarred
    finally:
        subprocess.run(["docker", "rm", "-f", made], check=True, capture_output=True)


def _parallel(started: Service) -> int:
    """How many of the checks at once ended as anything but a pass."""
    asked = job("sh", "-c", "sleep 1", memory=256 * MIB, seconds=120)

    def one(_: int) -> bool:
        try:
            _certify(started, asked)
        except (Stop, RuntimeError):
            return False
        return True

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(one, range(PARALLEL))).count(False)
