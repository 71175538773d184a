"""The text of a JUnit failure, read in the style of the language that it shows."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import replace

from app.domain.check import Failure
from worker.runner.checks.output import cleaned
from worker.runner.checks.parsers.frames import frames, javascript, raised
from worker.runner.checks.parsers.golang import read_go
from worker.runner.checks.parsers.java import read_java
from worker.runner.checks.parsers.log import LINE_CAP, Log
from worker.runner.checks.parsers.record import failure
from worker.runner.checks.parsers.trace import failure_of

_GO = ("=== RUN ", "--- FAIL: ")
_JVM = re.compile(r"^\s+at [\w.$/@]+\([\w$]+\.(?:java|kt|groovy|scala):\d+\)$")
_SCRIPT = re.compile(r"^\s+(?:at |\u276f ).*:\d+:\d+\)?$")


def read_failure(
    test: str, text: str, claim: str, paths: Container[str], package: str = "", kind: str = ""
) -> Failure:
    """The failure of `test`. `claim` is the report's own message, `kind` its error type."""
    lines = tuple(line[:LINE_CAP] for line in cleaned(text).split("\n"))
    log = Log(lines, None, paths)
    if any(line.lstrip().startswith(_GO) for line in lines):
        return read_go(test, lines, package, log)
    if any(_JVM.match(line) for line in lines):
        one = read_java(test, lines, log)
        return one if one.error != "failure" or not kind else replace(one, error=kind)
    if any(_SCRIPT.match(line) for line in lines):
        return _script(test, lines, claim, log)
    one = failure_of(test, text, claim, log.place)
    return replace(one, error=kind) if one.error == "failure" and kind else one


def _script(test: str, lines: Sequence[str], claim: str, log: Log) -> Failure:
    said = [line for line in lines if line.strip() and not line.startswith("    at ")]
    first = said[0].strip() if said else ""
    error, message = raised(said) or ("failure", claim or first)
    return failure(test, error, message, *javascript(lines, log), frames(lines))
