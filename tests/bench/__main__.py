"""`scripts/bench NAME [--json]`: one readable table, or one JSON object with name and figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib import import_module

from rich.console import Console
from rich.table import Table

MODULES = {
    "webhook": "tests.bench.webhook",
    "sandbox": "tests.bench.sandbox",
    "loop": "tests.bench.loop",
    "evidence": "tests.bench.evidence",
    "reaction": "tests.bench.reaction",
}
# What each figure means, for the reader of the table.
MEANING = {
    "vs_bare_asgi": "receiver's requests/s over a bare ASGI callable's, AOF off on both sides",
    "vs_bare_asgi_cpu": "the bare callable's processor time a request over the receiver's",
    "req_s": "receiver's requests/s, AOF off",
    "bare_req_s": "the bare callable's requests/s",
    "cpu_us": "receiver's processor time a request, µs",
    "bare_cpu_us": "the bare callable's processor time a request, µs",
    "p99_ms": "99 of 100 deliveries are answered within, AOF off",
    "durable_req_s": "receiver's requests/s with AOF always",
    "durable_p99_ms": "99 of 100 deliveries are answered within, AOF always",
    "cold_vs_docker_run": "first certifying check over a bare `docker run` of the same command",
    "cold_ms": "the first certifying check, ms",
    "docker_run_ms": "the bare `docker run`, ms",
    "box_ms": "the same command in a container that is there already, ms",
    "own_ms_per_turn": "ours minus a minimal loop's, ms a turn, median of interleaved rounds",
    "own_ms_per_turn_best": "the same, each side's fastest round",
    "ours_ms_per_turn": "our loop, ms a turn, median",
    "minimal_ms_per_turn": "the minimal loop, ms a turn, median",
    "log_50mb_s": "seconds to read a log of 50 MB",
    "log_50mb_mib": "MiB that the process which reads it has at its peak",
    "report_10k_s": "seconds from a report of 10,000 tests to body, check run and statements",
    "suite_runs_per_change": "runs of the suite a change, the base's and the sentinels' included",
    "warm_vs_docker_run": "the same with a container that was started ahead",
    "command_overhead_ms": "an in-between check's milliseconds over fork and exec",
    "tree_1000_vs_tar": "sending 1,000 files over `tar | docker exec tar`",
    "parallel_20_failures": "checks of 20 at once that did not pass",
    "reaction_p95_s": "seconds from a command's comment to its reaction, runner busy",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("name", choices=sorted(MODULES))
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    wanted = parser.parse_args()
    run: Callable[[], dict[str, float]] = import_module(MODULES[wanted.name]).run
    figures = run()
    if wanted.json:
        print(json.dumps({"bench": wanted.name, "figures": figures}))
        return
    table = Table("figure", "value", "meaning", box=None)
    for name, value in figures.items():
        table.add_row(name, shown(value), MEANING[name])
    Console().print(table)


def shown(value: float) -> str:
    """Three digits that count, never as a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
