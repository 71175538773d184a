"""`patchwarrant parse TOOL --exit N < LOG`: shows what a check's log is understood to say.

For whoever writes a configuration: the same code that certifies reads the log, and the folder
stands for the tree.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec

from app.domain.check import PARSERS, Check, Failure, Outcome
from worker.local.files import Unreadable, read_file
from worker.local.words import option, parser
from worker.runner.checks.heard import SOURCE_CAP, Heard, Source, hear
from worker.runner.checks.parsers.log import taken
from worker.runner.checks.rules import Seen, stand
from worker.runner.checks.run import names_of
from worker.settings.door import Door

AUTO = "auto"
FILES_MOST = 100_000
REPORT_MOST = 64 << 20
EPILOG = """
`lines` reads every `file:line: message` that names a file of the tree, `none` leaves
everything to the exit code. docs/parsers.md says what is read of each.

examples
  python -m pytest -q > log; patchwarrant parse pytest --exit $? < log
  go test ./... > log 2>&1; patchwarrant parse auto --command "go test" --exit $? < log
  patchwarrant parse auto --command "make test" --exit 2 --junit report.xml --json < log

Exit code: 0 the log was read, whatever it says; 2 wrong words, or a file that cannot
be read."""
PASSED_OVER = frozenset({".git", "node_modules", ".venv", "target", "__pycache__"})


def main(_door: Door, arguments: list[str]) -> int:
    """Exit code: 0 the log was read, whatever it says; 2 wrong words or a file without use."""
    asked = _words().parse_args(arguments)
    try:
        report = _report(asked.junit) if asked.junit else None
        paths = frozenset(_files(Path(asked.root)))
    except Unreadable as problem:
        sys.stderr.write(f"patchwarrant parse: {problem}\n")
        return 2
    if sys.stdin.buffer.isatty():
        sys.stderr.write("the log is read from the keyboard: end it with Ctrl-D, or use < LOG\n")
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
    words = parser(
        "parse",
        "Shows what a check's log is understood to say, by the code that certifies. "
        "The log is\nread from standard input.",
        f"{tools_listed()}\n{EPILOG}",
        "TOOL --exit N [options] < LOG",
    )
    words.add_argument(
        "tool", type=_tool, metavar="TOOL", help="what wrote the log, or `auto`: told by --command"
    )
    words.add_argument(
        "--exit", type=int, required=True, metavar="N", help="the exit code of the command"
    )
    words.add_argument(
        "--junit", metavar="FILE", help="the report that it wrote: JUnit XML, TAP or SARIF"
    )
    option(words, "command", "WORDS", "the command, for the tool `auto`")
    option(words, "root", "DIR", "the tree (default: this folder)", ".")
    words.add_argument("--json", action="store_true", help="the records as one JSON object")
    return words


def tools_listed() -> str:
    """The names that TOOL can be, in lines."""
    listed = textwrap.fill(", ".join((AUTO, *PARSERS)), 76)
    return "TOOL is one of\n" + textwrap.indent(listed, "  ")


def _tool(name: str) -> str:
    if name not in (AUTO, *PARSERS):
        close = difflib.get_close_matches(name, PARSERS, 1)
        near = f"; did you mean {close[0]}?" if close else f"\n{tools_listed()}"
        raise argparse.ArgumentTypeError(f"{name!r} is no tool whose output is known{near}")
    return name


def _outcome(stream: IO[bytes], code: int, report: bytes | None) -> Outcome:
    data, dropped = taken(stream)
    return Outcome(code, "", 0, data, b"", (len(data) + dropped, 0), report)


def _report(name: str) -> bytes:
    return read_file(
        Path(name), "report", "name the file that the command writes, or leave --junit out",
        REPORT_MOST,
    )  # fmt: skip


def _files(root: Path) -> Iterator[str]:
    """Paths of the tree. Raises `Unreadable` where there is no such folder."""
    if not root.is_dir():
        raise Unreadable(f"{root} is no folder: --root names the one that the check ran in.")
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
        with suppress(OSError):  # its lines are shown where they can be had
            return file.read_bytes()
        return None

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
