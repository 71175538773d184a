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
    "reaction": "tests.bench.reaction",
}
# What each figure means, for the reader of the table.
MEANING = {
    "vs_bare_asgi": "receiver's requests/s over a bare ASGI callable's, AOF off on both sides",
    "durable_req_s": "receiver's requests/s with AOF always",
    "cold_vs_docker_run": "first certifying check over a bare `docker run` of the same command",
    "reaction_p95_s": "seconds from a command's comment to its reaction, runner busy",
    "own_ms_per_turn": "milliseconds per turn, ours minus a minimal loop's",
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
        table.add_row(name, f"{value:,.3g}", MEANING.get(name, ""))
    Console().print(table)


if __name__ == "__main__":
    main()
