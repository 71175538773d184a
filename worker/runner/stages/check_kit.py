"""What the stages that run checks are given, for one held run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.domain.check import Check, CheckResult
from app.domain.ports.hold import Hold
from app.domain.ports.objects import Objects
from app.domain.ports.sandbox import Sandbox
from app.domain.repo_config import RepoConfig
from app.domain.run import Run

BASELINE, VERIFY, BASE_TESTS = "baseline", "verify", "base-tests"
RED, SENTINEL, SENTINEL_ON_BASE = "red", "sentinel", "sentinel-on-base"


class Certify(Protocol):
    """Runs one check in a fresh container and records its result before it is used.

    Raises `Park(SANDBOX)` while the sandbox is away and `Halt(INFRASTRUCTURE)` when it refuses.
    """

    def __call__(
        self,
        run: str,
        phase: str,
        check: Check,
        tree: str,
        image: str,
        baseline: CheckResult | None = None,
        attempt: int = 0,
        extra: Mapping[str, bytes] | None = None,
        selectors: Sequence[str] = (),
    ) -> CheckResult: ...


@dataclass(frozen=True)
class CheckKit:
    """Made once for each held run. `fetch` hands out (url, token) of the run's repository for the
    length of a `with`; `config_of` reads the bytes of the configuration file (`ConfigError`),
    `workflow_of` those of a workflow (None where they are none).
    `draw` gives new random hexadecimal digits (at least 24), `knows` says whether a text holds one
    of this process's own secrets; `earlier` gives a run of the ledger by its id."""

    hold: Hold
    objects: Objects
    sandbox: Sandbox
    certify: Certify
    fetch: Callable[[Run], AbstractContextManager[tuple[str, str]]]
    config_of: Callable[[bytes], RepoConfig]
    workflow_of: Callable[[bytes], Mapping[str, Any] | None]
    draw: Callable[[], str]
    knows: Callable[[str], bool]
    earlier: Callable[[str], Run | None] = lambda _run: None


def baseline_of(run: Run, check: Check) -> CheckResult | None:
    """The baseline of one check, None when there is none."""
    return next((one for one in run.baseline if one.digest == check.digest()), None)


def charged(run: Run, ms: int) -> Run:
    """The run with `ms` of sandbox time spent."""
    return replace(run, spend=replace(run.spend, sandbox_ms=run.spend.sandbox_ms + ms))
