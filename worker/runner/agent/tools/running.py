"""try_out and run_tests: exploring in a throw-away copy, and hints from selected tests.

The sandbox, the image and every command come from the run; an argument chooses none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.domain.check import Check, Outcome
from app.domain.ports.sandbox import Job
from app.domain.repo_config import TESTS
from app.domain.text import printable
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.private import private
from worker.runner.agent.quote import capped

SCRATCH = ".patchwarrant-scratch"
TRY_SECONDS = 60
OUTPUT_CHARS = 8_000
TEXT_CAP = 100_000  # characters of a scratch file
TEST_SECONDS = 120
SECONDS = (5, 300)
SELECTORS = 40
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")


def try_out(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Run a scratch file over a copy of base or candidate; it never becomes part of the change."""
    if bench.tally.try_outs >= bench.limits.try_outs:
        return refused(f"try_out: all {bench.limits.try_outs} of this run are used.")
    if arguments["on"] == "candidate" and bench.candidate is None:
        return refused("try_out: there is no candidate yet; use `on`: base.")
    if not arguments["text"].strip() or len(arguments["text"]) > TEXT_CAP:
        return refused(f"try_out: `text` is to have 1 to {TEXT_CAP} characters.")
    check = _narrowable(bench) if arguments["kind"] == "test" else None
    if arguments["kind"] == "test" and check is None:
        return refused("try_out: no configured check can run a single test; use `kind`: code.")
    name = arguments.get("name") or _default_name(bench, check)
    if not _NAME.fullmatch(name):
        return refused("try_out: `name` is a file name of letters, digits, `_`, `.` and `-`.")
    tree = bench.tree if arguments["on"] == "candidate" else bench.base
    job, path = _job(bench, check, name)
    data = arguments["text"].encode("utf-8", "replace")
    outcome = bench.boxes.run(bench.snapshot.image, tree, job, {path: data}, bench.kit.hold.look)
    left = bench.limits.try_outs - bench.tally.try_outs - 1
    emptied = any(private(path) for path in bench.views.files(tree))
    note = " Files that may hold secrets are empty in there." if emptied else ""
    return Answer(
        f"{_ending(outcome, TRY_SECONDS)} {left} try-outs are left.{note}\n"
        + bench.framed("output", _output(outcome)),
        effect={"try_out": {"on": arguments["on"], "kind": arguments["kind"], "ms": outcome.ms}},
    )


def _narrowable(bench: Bench) -> Check | None:
    return next((c for c in bench.snapshot.checks if TESTS in c.selector), None)


def _default_name(bench: Bench, check: Check | None) -> str:
    if check is not None:
        return "test_scratch.py"
    interpreter = _interpreter(bench)[0].rpartition("/")[2]
    return "scratch.js" if interpreter.startswith(("node", "bun", "deno")) else "scratch.py"


def _interpreter(bench: Bench) -> tuple[str, ...]:
    return bench.contract.config.interpreter or ("python3",)


def _job(bench: Bench, check: Check | None, name: str) -> tuple[Job, str]:
    """The job, and where the scratch file lies in the workspace."""
    inside = f"{SCRATCH}/{name}"
    if check is None:
        return Job((*_interpreter(bench), inside), {}, "", "", TRY_SECONDS), inside
    argv = tuple(inside if item == TESTS else item for item in check.selector)
    path = f"{check.workdir}/{inside}" if check.workdir else inside
    return Job(argv, dict(check.env), check.workdir, "", TRY_SECONDS), path


def _ending(outcome: Outcome, seconds: int) -> str:
    if outcome.exit_code is None:
        return f"It could not be started: {printable(outcome.error.encode())[:300]}."
    if outcome.limit == "time":
        return f"It was stopped after {seconds} s."
    if outcome.limit:
        return f"A limit was hit: {outcome.limit_words} (exit code {outcome.exit_code})."
    return f"It ended with exit code {outcome.exit_code} after {outcome.ms} ms."


def _output(outcome: Outcome) -> str:
    parts = []
    for name, data, seen in (
        ("stdout", outcome.stdout, outcome.seen[0]),
        ("stderr", outcome.stderr, outcome.seen[1]),
    ):
        if data:
            cut = f" (first part of {seen} bytes)" if seen > len(data) else ""
            parts.append(f"--- {name}{cut}\n{printable(data)}")
    return capped("\n".join(parts), OUTPUT_CHARS)


def run_tests(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Run selected tests of a configured check; a failing suite is a result, not an error (B10)."""
    seconds = arguments.get("seconds", TEST_SECONDS)
    selectors = arguments["selectors"]
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        return refused(f"run_tests: `seconds` is to be from {SECONDS[0]} to {SECONDS[1]}.")
    if not 1 <= len(selectors) <= SELECTORS:
        return refused(f"run_tests: 1 to {SELECTORS} selectors are wanted.")
    check = _named(bench, arguments.get("check", ""))
    if check is None:
        names = ", ".join(c.name for c in bench.snapshot.checks)
        return refused(f"run_tests: there is no such check; configured are {names}.")
    try:
        result, text = bench.kit.run_selected(check, selectors, bench.tree, seconds)
    except ValueError as wrong:
        return refused(f"run_tests: {wrong}")
    on = "the candidate" if bench.candidate else "the base, as there is no candidate yet"
    log = {"log": {"check": check.name, "digest": result.log}} if result.log else {}
    return Answer(
        f"{check.name} on {on}: {result.standing}.\n"
        + bench.framed("tests", capped(text, OUTPUT_CHARS)),
        effect=log,
    )


def _named(bench: Bench, name: str) -> Check | None:
    checks = bench.snapshot.checks
    if name:
        return next((check for check in checks if check.name == name), None)
    return _narrowable(bench) or next(iter(checks), None)
