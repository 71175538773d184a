"""gcc, clang, the linker, CMake, make and ctest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.domain.check import Failure
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.record import Found, failure, merged, tally, told

_ERROR = re.compile(r"^(\S[^:]*):(\d+):(?:(\d+):)? (?:fatal )?error: (.+?)(?: \[(-W\S+)\])?$")
_OTHERS = (".py", ".pyi", ".java", ".kt", ".sh", ".bash", ".ts", ".js", ".rs", ".go", ".swift")
_NO_PLACE = re.compile(r"^(?:clang|gcc|g\+\+|cc1?|cc1plus|c\+\+)(?:-\d+)?: (?:fatal )?error: (.+)$")
_LINK = re.compile(
    r"^(?:\S*ld(?:\.\w+)?: )?(\S[^:]*):(?:\(\.[^()]*\)|(\d+)): "
    r"(undefined reference to .+|multiple definition of [^;]+)"
)
_LLD = re.compile(r"^(?:ld\.lld|ld64\.lld|lld): error: (.+)$")
_CMAKE = re.compile(r"^CMake Error at (.+?):(\d+) \((.+)\):$")
_MAKE = re.compile(r"^g?make(?:\[\d+\])?: \*\*\* (?:\[(?:(\S[^:\s]*):(\d+): )?(.+?)\] )?(.+)$")
_RULE = re.compile(r"^No rule to make target .+?(?:, needed by '(.+?)')?\.(?:  Stop\.)?$")
_STOP = ("Waiting for unfinished jobs", "[", "wait: No child")
_CTEST = re.compile(r"^\s+\d+ - (\S.*?) \((\w+)\)$")
_CTOTAL = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$")


def compiler(log: Log) -> Found:
    """Errors of compiler and linker; warnings are none unless they were made errors."""
    return told(_compiler(log))


def _compiler(log: Log) -> Iterator[Failure]:
    for index, line in enumerate(log.lines):
        if "error: " in line:
            if (match := _ERROR.match(line)) and not match[1].endswith(_OTHERS):
                shown = [each for each in log.lines[index + 1 : index + 4] if " | " in each]
                place = (log.place(match[1]), match[2], match[3])
                yield failure("", match[5] or "error", match[4], *place, shown, "error")
            elif match := _LLD.match(line):
                yield failure("", "ld", match[1], status="error")
            elif match := _NO_PLACE.match(line):
                yield failure("", "error", match[1], status="error")
        elif "undefined reference" in line or "multiple definition" in line:
            if match := _LINK.match(line):
                yield failure(
                    "", "ld", match[3], log.place(match[1]), match[2], 0, (line,), "error"
                )
        elif line.startswith("CMake Error") and (match := _CMAKE.match(line)):
            said = " ".join(each.strip() for each in log.lines[index + 1 : index + 4])
            yield failure("", "CMake", said, log.place(match[1]), match[2], status="error")


def make(log: Log) -> Found:
    """Targets that could not be made, and what compiler and tests said on the way."""
    return merged((told(_targets(log)), ctest(log)))


def _targets(log: Log) -> Iterator[Failure]:
    for line in log.lines:
        match = _MAKE.match(line) if ": *** " in line else None
        if match is None or match[4].startswith(_STOP) or match[4].endswith("(ignored)"):
            continue
        rule = _RULE.match(match[4])
        target = (rule[1] or "" if rule else match[3]) or ""
        file = log.place(match[1]) if match[1] else log.place("Makefile")
        yield failure(target, "make", match[4].removesuffix("  Stop."), file, match[2])


def ctest(log: Log) -> Found:
    """ctest's closing list."""
    total = next((m for line in reversed(log.lines) if (m := _total(line))), None)
    if total is None:
        return Found()
    failed, ran = int(total[1]), int(total[2])
    listed = (match for line in log.lines if (match := _CTEST.match(line)))
    failures = [failure(match[1], match[2], f"ctest: {match[2]}") for match in listed]
    return told(failures, tally(ran - failed, failed).counts)


def _total(line: str) -> re.Match[str] | None:
    return _CTOTAL.match(line) if "tests passed, " in line else None
