"""Recorded outputs of real tools: read them, and measure what the parsers make of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.check import Failure
from worker.runner.checks.parsers import junit
from worker.runner.checks.parsers.log import log_from
from worker.runner.checks.parsers.read import Parsed, read, with_context


@dataclass(frozen=True)
class Sample:
    """One recorded run: `cmd`, `exit`, `stdout`, `stderr`, perhaps `junit.xml` and `src/`."""

    folder: Path
    expected: Mapping[str, Any]
    command: str
    exit_code: int
    paths: frozenset[str]

    @property
    def failures(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.expected["failures"]
        return found

    def data(self, name: str) -> bytes:
        path = self.folder / name
        return path.read_bytes() if path.exists() else b""

    def parsed(self, exit_code: int | None = None) -> Parsed:
        code = self.exit_code if exit_code is None else exit_code
        log = log_from((self.data("stdout"), self.data("stderr")), code, self.paths)
        return read(log, ("sh", "-euc", self.command))

    def made(self) -> Sequence[Failure]:
        """The failures as the certifying path takes them: of the report where there is one."""
        report = self.data("junit.xml")
        if report:
            found = junit.parse(report, self.paths)
            assert found is not None
            return self._located(found.failures)
        return self._located(self.parsed().found.failures)

    def _located(self, failures: Sequence[Failure]) -> Sequence[Failure]:
        """As they are recorded: with what the sources add, here without the cap on their number."""
        return [with_context([one], self._source)[0] for one in failures]

    def _source(self, path: str) -> bytes | None:
        file = self.folder / "src" / path
        return file.read_bytes() if path in self.paths else None


def sample(folder: Path) -> Sample:
    source = folder / "src"
    files = (path for path in source.rglob("*") if path.is_file()) if source.is_dir() else ()
    return Sample(
        folder,
        json.loads((folder / "expected.json").read_text()),
        (folder / "cmd").read_text().strip(),
        int((folder / "exit").read_text()),
        frozenset(path.relative_to(source).as_posix() for path in files),
    )


def samples(root: Path) -> list[Sample]:
    return [sample(each.parent) for each in sorted(root.glob("*/expected.json"))]


def same(made: Failure, wanted: Mapping[str, Any]) -> bool:
    """Whether a record tells a failure: id, file, line, column and message, where it has them."""
    names = [wanted.get("id", ""), wanted.get("name", "")]
    if "junit_classname" in wanted:
        names.append(f"{wanted['junit_classname']} {wanted['junit_name']}")
    fits = [
        not wanted.get("id") or any(_named(made.test, name) for name in names if name),
        not wanted.get("file") or made.file == wanted["file"],
        not wanted.get("line") or made.line == wanted["line"],
        not wanted.get("col") or made.column in (0, wanted["col"]),
        _words(wanted["message"]) <= _words(made.message),
    ]
    return all(fits)


def matched(made: Sequence[Failure], wanted: Sequence[Mapping[str, Any]]) -> int:
    """How many of the wanted failures have a record of their own."""
    left = list(made)
    count = 0
    for one in wanted:
        found = next((each for each in left if same(each, one)), None)
        if found is not None:
            left.remove(found)
            count += 1
    return count


def _named(made: str, wanted: str) -> bool:
    """A report's record may name the file before what the report calls the test."""
    return f" {_plain(made)}".endswith(f" {_plain(wanted)}")


def _plain(name: str) -> str:
    return re.sub(r"[^\w]+", " ", name.removeprefix("./")).strip()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))
