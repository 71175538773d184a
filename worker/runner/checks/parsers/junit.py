"""JUnit XML, read as the claim of untrusted code: no DTD, no entities, capped, None when broken."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from app.domain.check import Case, CaseStatus, Failure
from worker.runner.checks.output import cleaned, shortened
from worker.runner.checks.parsers.log import Log
from worker.runner.checks.parsers.wording import read_failure

REPORT_CAP = 4 << 20  # bytes
CASES_CAP = 200_000
ID_CAP = 400  # characters
DEPTH_CAP = 32
FAILURES_CAP = 500
TEXT_CAP = 64_000  # characters of one failure's text that are looked at

_INVALID = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]{1,8})|([0-9]{1,10}));")
_CLASS = re.compile(r"[A-Z]")


@dataclass(frozen=True)
class Report:
    """What a report claims: `cases` sorted by id, one each; at most 500
    `failures` in its order."""

    cases: tuple[Case, ...]
    failures: tuple[Failure, ...]
    more: bool = False  # a suite tells of failures that no case has


class _Broken(Exception):
    """The document is no report, or larger than what is read."""


def parse(data: bytes | None, paths: Container[str]) -> Report | None:
    """The report, or None where it is missing, over the cap, truncated, hostile or no XML.

    `paths` are the tree's files: where a report names no file, they tell which part of a dotted
    class name is one. Several entries of one id (a retry, a failing teardown) count once; failed
    wins over all, passed over skipped.
    """
    if not data or len(data) > REPORT_CAP:
        return None
    try:
        text = data.decode("utf-8-sig")  # str from here on: no other encoding hides a DTD
    except UnicodeDecodeError:
        return None
    for attempt in (text, _repaired(text)):
        try:
            report = _read(attempt, paths)
            return replace(report, more=report.more or b"\0" in data)  # no tool writes NUL
        except (ParseError, ValueError):
            continue
        except (DefusedXmlException, _Broken):
            return None
    return None


def _read(text: str, paths: Container[str]) -> Report:
    target = _Target()
    parser = DefusedXMLParser(target=target, forbid_dtd=True)
    parser.feed(text)
    parser.close()
    if not target.suites:
        raise _Broken("no testsuite")
    report = _report(target.found, paths)
    failed = any(entry.status is CaseStatus.FAILED for entry in target.found)
    return replace(report, more=target.suite_failed or (target.claimed and not failed))


def _repaired(text: str) -> str:
    """Characters and references that XML 1.0 does not have, replaced."""

    def known(match: re.Match[str]) -> str:
        point = int(match[1], 16) if match[1] else int(match[2])
        valid = point <= 0x10FFFF and not _INVALID.match(chr(point))
        return match[0] if valid else "\ufffd"

    return _REFERENCE.sub(known, _INVALID.sub("\ufffd", text))


@dataclass
class _Entry:
    """One testcase element while it is read."""

    file: str
    classname: str
    name: str
    status: CaseStatus = CaseStatus.PASSED
    claim: str = ""
    kind: str = ""
    todo: bool = False
    text: list[str] = field(default_factory=list)


def _some(count: str | None) -> bool:
    """Whether an attribute counts more than none."""
    return count is not None and count.strip().isdecimal() and int(count) > 0


class _Target:
    """Collects testcases as the parser meets them: no tree is built, so depth costs nothing."""

    def __init__(self) -> None:
        self.found: list[_Entry] = []
        self.suites = 0
        self.suite_failed = False  # a suite as such has an error, in no case of it
        self.claimed = False  # some suite counts failures or errors
        self._depth = 0
        self._open: _Entry | None = None
        self._reading = 0  # characters that may still be taken from the open failure

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        name = tag.rpartition("}")[2]
        if self._depth > DEPTH_CAP or (self._depth == 1 and not name.startswith("testsuite")):
            raise _Broken("no report")
        if name in ("testsuite", "testsuites"):
            self.suites += 1
            self.claimed |= any(_some(attributes.get(key)) for key in ("failures", "errors"))
        elif name == "testcase":
            file, classname, case = (attributes.get(k, "") for k in ("file", "classname", "name"))
            self._open = _Entry(file, classname, case)
            self.found.append(self._open)
            if len(self.found) > CASES_CAP:
                raise _Broken("too many cases")
        elif self._open is not None:
            self._inside(self._open, name, attributes)
        elif name in ("failure", "error"):
            self.suite_failed = True

    def _inside(self, entry: _Entry, name: str, attributes: dict[str, str]) -> None:
        if name in ("failure", "error") and not entry.todo:
            first = entry.status is not CaseStatus.FAILED
            entry.status = CaseStatus.FAILED
            if first:
                entry.claim, self._reading = attributes.get("message", "")[:TEXT_CAP], TEXT_CAP
                entry.kind = attributes.get("type", "")
        elif name == "skipped" and (todo := attributes.get("type") == "todo"):
            entry.status, entry.todo = CaseStatus.SKIPPED, todo  # what is to do may fail
        elif name == "skipped" and entry.status is CaseStatus.PASSED:
            entry.status = CaseStatus.SKIPPED

    def data(self, text: str) -> None:
        if self._reading and self._open is not None:
            self._open.text.append(text[: self._reading])
            self._reading -= min(len(text), self._reading)

    def end(self, tag: str) -> None:
        self._depth -= 1
        name = tag.rpartition("}")[2]
        if name == "testcase":
            self._open = None
        if name in ("failure", "error", "testcase"):
            self._reading = 0

    def close(self) -> None:
        """The parser asks for a result; it is in `found`."""


_WEIGHT = {CaseStatus.SKIPPED: 0, CaseStatus.PASSED: 1, CaseStatus.FAILED: 2}


def _report(found: list[_Entry], paths: Container[str]) -> Report:
    status: dict[str, CaseStatus] = {}
    failures: dict[str, Failure] = {}
    for entry in found:
        test = _id(entry, paths)
        known = status.get(test)
        if known is None or _WEIGHT[entry.status] > _WEIGHT[known]:
            status[test] = entry.status
        failed = entry.status is CaseStatus.FAILED
        if failed and test not in failures and len(failures) < FAILURES_CAP:
            failures[test] = _failure(test, entry, paths)
    return Report(
        tuple(Case(test, status[test]) for test in sorted(status)), tuple(failures.values())
    )


def _failure(test: str, entry: _Entry, paths: Container[str]) -> Failure:
    one = read_failure(
        test, "".join(entry.text), entry.claim, paths, entry.classname, _short(entry.kind)[:100]
    )
    if one.file or not entry.file:
        return one
    return replace(one, file=Log((), None, paths).place(entry.file))


def _id(entry: _Entry, paths: Container[str]) -> str:
    """The id as the test runner would take it, such as `tests/test_a.py::TestX::test_y[1]`."""
    file = Log((), None, paths).place(entry.file)
    parts = [part for part in entry.classname.split(".") if part]
    name = entry.name
    if file.endswith(".py"):
        classes = _after_module(parts, file)
        if not parts and name.replace(".", "/") + ".py" == file:
            return _short(file)  # the file could not be collected
        return _short("::".join((file, *classes, name)))
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count]) + ".py"
        if path in paths:
            return _short("::".join((path, *parts[count:], name)))
    if not parts and name.replace(".", "/") + ".py" in paths:
        return _short(name.replace(".", "/") + ".py")
    return _short("::".join(part for part in (file, entry.classname, name) if part))


def _after_module(parts: list[str], file: str) -> list[str]:
    """The class names: what is left of the dotted name behind the module's own name."""
    module = file.removesuffix(".py").split("/")
    for start in range(len(module)):
        tail = module[start:]
        if parts[: len(tail)] == tail:
            return parts[len(tail) :]
    return [part for part in parts if _CLASS.match(part)]


def _short(test: str) -> str:
    return shortened(cleaned(test).replace("\n", " "), ID_CAP)
