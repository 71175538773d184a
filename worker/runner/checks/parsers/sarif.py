"""SARIF: the results of any analyser that writes it, from a report or from what was printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import NOTHING, Found, failure, told

LEVELS = ("error", "warning")


def parse(log: Log) -> Found:
    """Results of level error and warning that are not suppressed; NOTHING where it is no SARIF."""
    start = log.raw.find(b"{")
    if start < 0 or b'"runs"' not in log.raw:
        return NOTHING
    text = log.raw[start:].decode("utf-8", "replace")
    try:
        document, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return NOTHING
    return read(document, log)


def read(document: object, log: Log) -> Found:
    """The same of a document that is parsed already."""
    runs = _field(document, "runs")
    ran = isinstance(runs, list) and any(isinstance(_field(run, "results"), list) for run in runs)
    if not ran:
        return NOTHING  # nothing was analysed
    return told((one for run in runs for one in _results(run, log)), ran=True)


def _results(run: object, log: Log) -> Iterator[Failure]:
    results = _field(run, "results")
    for result in results if isinstance(results, list) else ():
        level = _field(result, "level") or "warning"
        kind = _field(result, "kind") or "fail"
        if level not in LEVELS or kind != "fail" or _field(result, "suppressions"):
            continue
        places = _field(result, "locations")
        first = places[0] if isinstance(places, list) and places else None
        physical = _field(first, "physicalLocation")
        path = str(_field(_field(physical, "artifactLocation"), "uri") or "")
        region = _field(physical, "region")
        yield failure(
            "",
            str(_field(result, "ruleId") or "result"),
            str(_field(_field(result, "message"), "text") or ""),
            log.place(path),
            _number(_field(region, "startLine")),
            _number(_field(region, "startColumn")),
            status="error" if level == "error" else "failed",
        )


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _number(value: object) -> int:
    return value if type(value) is int and 0 <= value < 10**8 else 0
