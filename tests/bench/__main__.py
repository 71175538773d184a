"""`scripts/bench NAME [--json]`: one readable table, or one JSON object with name and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

from rich.console import Console
from rich.table import Table

MODULES = {
    "webhook": "tests.bench.webhook",
    "sandbox": "tests.bench.sandbox",
    "loop": "tests.bench.loop",
    "evidence": "tests.bench.evidence",
    "reaction": "tests.bench.reaction",
    "soak": "tests.bench.soak",
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
    "runs": "runs that ended and said so, one an issue",
    "lost": "issues whose run never ended",
    "duplicates": "second runs, pull requests and branches of an issue",
    "broken_invariants": "what does not hold after it, by the crash tests' checker",
    "kills": "kill -9 of a process meanwhile",
    "repeated_requests": "requests to the model beyond the recorded replies",
    "orphan_tokens": "tokens that nobody knew when their minter died; GitHub ends them in an hour",
    "seconds": "from the first label to the last ending",
    "reaction_p50_s": "the median of the same",
    "reaction_max_s": "the longest of the same",
    "together_p50_s": "the same where two people speak at the same moment, median",
    "together_p95_s": "the same, 19 of 20",
    "together_max_s": "the longest of those",
    "reaction_p95_s": "seconds from a command's comment to its reaction, runner busy",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("name", choices=sorted(MODULES))
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--quick", action="store_true", help="soak: 50 issues instead of 1,000")
    parser.add_argument("--issues", type=int, help="soak: how many issues")
    parser.add_argument("--seed", type=int, default=1, help="soak: of the order and the kills")
    wanted = parser.parse_args()
    module = import_module(MODULES[wanted.name])
    run: Callable[[], dict[str, float]] = module.run
    if wanted.name == "soak":
        issues = wanted.issues or (module.QUICK if wanted.quick else module.WHOLE)
        run = partial(module.run, issues, wanted.seed)
    figures = run()
    bad = wanted.name == "soak" and module.failed(figures)
    if wanted.json:
        print(json.dumps({"bench": wanted.name, "figures": figures}))
        return int(bad)
    table = Table("figure", "value", "meaning", box=None)
    for name, value in figures.items():
        table.add_row(name, shown(value), MEANING[name])
    Console().print(table)
    return int(bad)


def shown(value: float) -> str:
    """Three digits that count, never as a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
