"""Checks: what is run, what came out, and the four standings that never blur."""

from __future__ import annotations

import hashlib
import json
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
        read = {"parser": self.parser} if self.parser else {}
        return hashlib.sha256(
            json.dumps(
                {
                    **read,
                    "argv": list(self.argv),
                    "env": dict(sorted(self.env.items())),
                    "name": self.name,
                    "report": self.report,
                    "timeout": self.timeout,
                    "workdir": self.workdir,
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

    `limit` is "" or one of time, memory, pids, disk, output. `exit_code` is None when the command
    could not be started (`error` says why). `seen` are the true sizes of stdout and stderr;
    `report` is None when there was no readable report file.
    """

    exit_code: int | None
    limit: str
    ms: int
    stdout: bytes
    stderr: bytes
    seen: tuple[int, int]
    report: bytes | None
    error: str = ""


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

    `reason` is "" for a pass, else a slug such as `limit:time`, `exit 1`, `environment`.
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


@dataclass(frozen=True)
class Counts:
    """How many tests ran, by status."""

    passed: int
    failed: int
    skipped: int

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped
