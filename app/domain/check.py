"""Checks: what is run, what came out, and the four standings that never blur."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Standing(StrEnum):
    """How a check ended. An empty or missing result is never a pass."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNAVAILABLE = "unavailable"


# What `checks[].parser` may name; `none` leaves it to the exit code.
PARSERS = (
    "none",
    *("pytest", "unittest", "doctest", "node", "tap", "mocha", "jest", "vitest"),
    *("tsc", "eslint", "prettier", "go", "go-build", "cargo-test", "rustc", "gcc"),
    *("make", "ctest", "surefire", "javac", "ruff", "pylint", "flake8", "mypy"),
    *("pyright", "black", "isort", "shellcheck", "rspec", "minitest", "phpunit", "php"),
    *("junit", "sarif", "lines"),
)


WHY = 300  # characters of a reason in one line


class Tier(StrEnum):
    QUICK = "quick"
    REQUIRED = "required"


@dataclass(frozen=True)
class Check:
    """A command from trusted configuration. `argv` is what the sandbox runs as it is.

    `selector` is the argv template of a partial run: the item `{tests}` is replaced by the test
    ids, ("",) or () means that this check cannot be narrowed. `report` is a path inside the
    workspace, "" without one. `timeout` in seconds. `paths` are globs: a candidate that touches
    none of them skips the check; () is never skipped. `parser` names the tool whose output it is,
    "" when that is to be recognised.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = ""
    selector: tuple[str, ...] = ()
    report: str = ""
    tier: Tier = Tier.REQUIRED
    timeout: int = 300
    paths: tuple[str, ...] = ()
    parser: str = ""

    def digest(self) -> str:
        """SHA-256 over the canonical JSON of all that decides what is run."""
        return command_digest(
            self.name, self.argv, self.env, self.workdir, self.report, self.timeout
        )


def command_digest(
    name: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    workdir: str,
    report: str,
    timeout: int,
) -> str:
    """What names a check in the evidence; the sandbox computes it again from what it was sent."""
    return hashlib.sha256(
        json.dumps(
            {
                "argv": list(argv),
                "env": dict(sorted(env.items())),
                "name": name,
                "report": report,
                "timeout": timeout,
                "workdir": workdir,
            },
            sort_keys=True,
            separators=(",", ":"),
        ).encode()
    ).hexdigest()


class CaseStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Case:
    """One test as the report claims it."""

    id: str
    status: CaseStatus


@dataclass(frozen=True)
class Failure:
    """A failure as a structured record (C5); `line` and `column` are 0 where unknown.

    `status` is failed, error (it could not be run) or killed. `context` are the candidate's own
    lines around the place, as `  12 | text`, the line itself marked by `>`.
    """

    test: str
    error: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    trace: tuple[str, ...] = ()  # at most 8 lines
    status: str = "failed"
    context: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What the sandbox testifies about one command: the daemon's exit code and capped streams.

    `limit` is "" or a key of `LIMITS`, `ceiling` its number in that unit (0 where unknown).
    `exit_code` is None when the command could not be started (`error` says why). `seen` are the
    true sizes of stdout and stderr; `report` is None when there was no readable report file, and
    one byte longer than what was asked for when there was more: `unread` then says why, as a key of
    `unread.CAUSES` ("" where nobody said), and `report_size` how many bytes the file has.
    `digest` is the check's, as the sandbox computed it from what it ran; "" where it did not.
    """

    exit_code: int | None
    limit: str
    ms: int
    stdout: bytes
    stderr: bytes
    seen: tuple[int, int]
    report: bytes | None
    error: str = ""
    ceiling: int = 0
    digest: str = ""
    unread: str = ""
    report_size: int = 0

    @property
    def limit_words(self) -> str:
        """The limit in words with its number, "" for none: "out of memory (limit 2 GiB)"."""
        if not self.limit:
            return ""
        what, unit = LIMITS.get(self.limit, (f"its {self.limit} limit was hit", ""))
        if not self.ceiling:
            return what
        number = amount(self.ceiling, unit)
        return f"{what} after {number}" if self.limit == "time" else f"{what} (limit {number})"


# What each limit is called, and the unit of its number.
LIMITS: dict[str, tuple[str, str]] = {
    "time": ("timed out", "s"),
    "memory": ("out of memory", "bytes"),
    "pids": ("too many processes", "processes"),
    "disk": ("its disk is full", "bytes"),
    "inodes": ("too many files", "files"),
    "file-size": ("a file grew too large", "bytes"),
    "output": ("it printed too much", "bytes"),
}


def amount(number: int, unit: str) -> str:
    """A limit's number for people; bytes in the largest unit that divides them."""
    if unit != "bytes":
        return f"{number} {unit}".strip()
    for power, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 1 << power and number % (1 << power) == 0:
            return f"{number >> power} {name}"
    return f"{number} bytes"


@dataclass(frozen=True)
class Comparison:
    """Test by test against the baseline; ids, sorted.

    `flaky` answered differently when they were run a second time on the same tree; they are in no
    other list but `new`.
    """

    newly_failing: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    already_failing: tuple[str, ...] = ()
    newly_skipped: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """One check on one tree in one image: exit code, tests executed, standing are three facts.

    `reason` is "" for a pass, else a slug such as `limit:time`, `exit 1`, `environment`; `limit`
    says a limit in words with its number.
    `counts` is None when nothing said which tests ran. `log` is the artifact digest of the capped
    output, `tail` its readable end, `cases` the artifact digest of the JSON list of [id, status].
    `cached` results were measured by an earlier run on the same tree, command and image. `subset`
    is (tests that ran, tests that the baseline knew) where time cut the run, else None. `parsed`
    says what counts and failures were taken from: `report`, names of tools whose output was
    understood, "" for neither (unparsed: the exit code alone decided).
    """

    check: str
    digest: str
    tree: str
    image: str
    standing: Standing
    reason: str
    exit_code: int | None
    ms: int
    counts: Counts | None
    failures: tuple[Failure, ...]
    log: str
    tail: str
    cases: str = ""
    comparison: Comparison | None = None
    cached: bool = False
    subset: tuple[int, int] | None = None
    parsed: str = ""
    limit: str = ""


def failing_ids(result: CheckResult) -> tuple[str, ...]:
    """The tests that fail in `result`, those that passed on the base first; () where no id is
    known."""
    compared = result.comparison
    newly = compared.newly_failing if compared else ()
    told = tuple(one.test for one in result.failures if one.test)
    before = compared.already_failing if compared else ()
    return tuple(dict.fromkeys((*newly, *told, *before)))


def why_of(result: CheckResult) -> str:
    """Why it failed, in a line: the first failure that passed on the base, else the last line of
    the output; "" without any."""
    old = set(result.comparison.already_failing) if result.comparison else set()
    found = sorted(result.failures, key=lambda one: one.test in old)  # stable
    for failure in found[:1]:
        said = f"{failure.error}: {failure.message}" if failure.error else failure.message
        place = f"{failure.file}:{failure.line}" if failure.line else failure.file
        where = f" (`{place}`)" if place else ""
        return f"{' '.join(said.split())[:WHY]}{where}"
    last = [line.strip() for line in result.tail.splitlines() if line.strip()]
    return last[-1][:WHY] if last else ""


@dataclass(frozen=True)
class Counts:
    """How many tests ran, by status."""

    passed: int
    failed: int
    skipped: int

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped
