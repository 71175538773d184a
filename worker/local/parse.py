"""`patchwarrant parse TOOL --exit N < LOG`: shows what a check's log is understood to say.

For whoever writes a configuration: the same code that certifies reads the log, and the folder
stands for the tree.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec

from app.domain.check import PARSERS, Check, Failure, Outcome
from worker import settings
from worker.runner.checks.heard import SOURCE_CAP, Heard, Source, hear
from worker.runner.checks.parsers.log import taken
from worker.runner.checks.rules import Seen, stand
from worker.runner.checks.run import names_of

AUTO = "auto"
FILES_MOST = 100_000
REPORT_MOST = 64 << 20
PASSED_OVER = frozenset({".git", "node_modules", ".venv", "target", "__pycache__"})


def main(_door: settings.Door, arguments: list[str]) -> int:
    """Exit code: 0 the log was read, whatever it says; 1 a file cannot be read; 2 wrong words."""
    asked = _words().parse_args(arguments)
    try:
        report = _report(asked.junit) if asked.junit else None
        paths = frozenset(_files(Path(asked.root)))
    except OSError as problem:
        sys.stderr.write(f"patchwarrant parse: {problem}\n")
        return 1
    check = Check(
        "parse",
        ("sh", "-euc", asked.command),
        report="junit.xml" if asked.junit else "",
        parser="" if asked.tool == AUTO else asked.tool,
    )
    outcome = _outcome(sys.stdin.buffer, asked.exit, report)
    heard = hear(check, outcome, paths, _source(Path(asked.root), paths))
    standing, reason = stand(Seen(check, outcome, heard, None, names_of(paths), None))
    if asked.json:
        told = msgspec.json.encode(replace(heard, cases=None))
        said = {"standing": standing, "reason": reason, **json.loads(told)}
        said.pop("cases")
        said["tests"] = len(heard.cases) if heard.cases is not None else None
        sys.stdout.write(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(_text(f"{standing}", reason, heard)) + "\n")
    return 0


def _words() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        prog="patchwarrant parse", description="Show what a check's log is understood to say."
    )
    words.add_argument("tool", choices=(AUTO, *PARSERS), metavar="TOOL", help=", ".join(PARSERS))
    words.add_argument("--exit", type=int, required=True, metavar="N", help="the exit code")
    words.add_argument("--junit", metavar="FILE", help="the report that the command wrote")
    words.add_argument("--command", default="", help="the command, for the tool `auto`")
    words.add_argument("--root", default=".", metavar="DIR", help="the tree (default: this folder)")
    words.add_argument("--json", action="store_true", help="the records as JSON")
    return words


def _outcome(stream: IO[bytes], code: int, report: bytes | None) -> Outcome:
    data, dropped = taken(stream)
    return Outcome(code, "", 0, data, b"", (len(data) + dropped, 0), report)


def _report(name: str) -> bytes:
    with Path(name).open("rb") as file:
        return file.read(REPORT_MOST)


def _files(root: Path) -> Iterator[str]:
    found = 0
    for folder, folders, files in os.walk(root, onerror=None):
        folders[:] = sorted(set(folders) - PASSED_OVER)
        for name in files:
            found += 1
            if found > FILES_MOST:
                return
            yield (Path(folder) / name).relative_to(root).as_posix()


def _source(root: Path, paths: frozenset[str]) -> Source:
    def read(path: str) -> bytes | None:
        file = root / path
        if path not in paths or not file.is_file() or file.stat().st_size > SOURCE_CAP:
            return None
        return file.read_bytes()

    return read


def _text(standing: str, reason: str, heard: Heard) -> Sequence[str]:
    lines = [f"as a check: {standing}" + (f" ({reason})" if reason else "")]
    lines.append(f"understood: {heard.by or 'nothing (unparsed: the exit code alone decides)'}")
    counts = heard.counts
    if counts is None:
        lines.append("tests: nothing says which tests ran")
    else:
        named = "each named" if heard.cases is not None else "not each named"
        lines.append(
            f"tests: {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped; "
            f"{named}"
        )
    for failure in heard.failures:
        lines += ["", *_failure(failure)]
    return lines


def _failure(one: Failure) -> Iterator[str]:
    place = f"{one.file}:{one.line}" if one.line else one.file
    column = f":{one.column}" if one.column else ""
    yield f"{one.status.upper()} {one.test}"
    if place:
        yield f"  at {place}{column}"
    yield f"  {one.error}: {one.message}"
    yield from (f"    {line}" for line in one.context or one.trace)
