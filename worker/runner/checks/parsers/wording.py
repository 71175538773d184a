"""The text of a JUnit failure, read in the style of the language that it shows."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import replace

from app.domain.check import Failure
from worker.runner.checks.output import cleaned, shortened
from worker.runner.checks.parsers.frames import frames, javascript, raised
from worker.runner.checks.parsers.golang import read_go
from worker.runner.checks.parsers.java import read_java
from worker.runner.checks.parsers.log import LINE_CAP, Log
from worker.runner.checks.parsers.record import MESSAGE_CAP, failure
from worker.runner.checks.parsers.trace import failure_of

_GO = ("=== RUN ", "--- FAIL: ")
_JVM = re.compile(r"^\s+at [\w.$/@]+\([\w$]+\.(?:java|kt|groovy|scala):\d+\)$")
_BATS = re.compile(r"^\(in test file (\S+), line (\d{1,7})\)$")
_PHP = re.compile(r"^(\S.*\.php):(\d+)$")
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
    if any(_PHP.match(line) for line in lines):
        return _php(test, lines, kind, log)
    if any(_SCRIPT.match(line) for line in lines):
        return _script(test, lines, claim, log)
    one = failure_of(test, text, claim, log.place)
    if not one.message:
        one = _plain(one, lines, log)
    return replace(one, error=kind) if one.error == "failure" and kind else one


def _plain(one: Failure, lines: Sequence[str], log: Log) -> Failure:
    """A text in no known style: its first words, and bats's own way to name a place."""
    said = [line.strip() for line in lines if line.strip()]
    spot = _BATS.match(said[0]) if said else None
    if spot:
        one = replace(one, file=log.place(spot[1]), line=int(spot[2]))
        said = said[1:]
    return replace(one, message=shortened(said[0], MESSAGE_CAP) if said else "")


def _script(test: str, lines: Sequence[str], claim: str, log: Log) -> Failure:
    said = [line.strip() for line in lines if line.strip() and not line.startswith("    at ")]
    cause = [line.removeprefix("cause: ") for line in said if line.startswith("cause: ")]
    first = said[0] if said else ""
    error, message = raised(cause or said[:6]) or ("failure", claim or first)
    return failure(test, error, message, *javascript(lines, log), frames(lines))


def _php(test: str, lines: Sequence[str], kind: str, log: Log) -> Failure:
    """PHPUnit's text: the test's own title, what was raised or asserted, then the places."""
    spots = [(log.place(match[1]), match[2]) for line in lines if (match := _PHP.match(line))]
    file, at = next((spot for spot in spots if log.ours(spot[0])), ("", "0"))
    said = [line for line in lines if line.strip() and not _PHP.match(line)]
    body = said[1:] if said and "::" in said[0] else said
    error, message = raised(body[:1]) or (kind or "failure", body[0] if body else "")
    return failure(test, error, message, file, at, trace=body)
