"""The only way to run what a repository or a model wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from app.domain.check import Outcome, command_digest
from app.domain.setup import SetupOutcome, SetupPlan


@dataclass(frozen=True)
class Job:
    """A command for the sandbox. `name` is the check's, "" for what is no check.

    `output_cap`, `report_cap` and `memory` are in bytes."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    report: str
    seconds: int
    output_cap: int = 1 << 20
    report_cap: int = 4 << 20
    memory: int = 2 << 30
    name: str = ""

    def digest(self) -> str:
        """The digest of the check that this command is, `Check.digest` of the same fields."""
        return command_digest(
            self.name, self.argv, self.env, self.workdir, self.report, self.seconds
        )


class Box(Protocol):
    """A long-lived container of one run; its answers are hints, never evidence."""

    def run(self, job: Job, files: Mapping[str, bytes], look: Callable[[], None]) -> Outcome:
        """Lay `files` over the workspace and run the job. Raises `Refused` when the box is gone."""

    def close(self) -> None:
        """Remove the container; never raises."""


class Sandbox(Protocol):
    """The only way to run anything that a repository or a model wrote."""

    def image(self, name: str) -> tuple[str, str]:
        """Make sure that the image `name` ("" = default) is there: (image id, profile digest)."""

    def set_up(
        self, run: str, image: str, plan: SetupPlan, look: Callable[[], None]
    ) -> SetupOutcome:
        """The environment of `plan` over `image`: found by its key, else made now. A step that
        fails is an outcome without image; what the operator does not allow is `Refused`."""

    def certify(
        self, run: str, image: str, job: Job, tar: bytes, look: Callable[[], None]
    ) -> Outcome:
        """One fresh container for one job; the daemon's exit code counts."""

    def open(self, run: str, image: str, tar: bytes, look: Callable[[], None]) -> Box:
        """A container that is kept for this run's in-between checks."""
