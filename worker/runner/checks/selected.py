"""Selected tests for the model: hints from a long-lived container, never evidence (B10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from app.domain.check import Check, CheckResult, Outcome
from app.domain.edit import EXECUTABLE, FILE
from app.domain.errors import Refused
from app.domain.ports.hold import Hold
from app.domain.ports.objects import Objects
from app.domain.ports.sandbox import Box, Job, Sandbox
from worker.runner.checks.heard import source_of
from worker.runner.checks.narrate import narrate
from worker.runner.checks.narrow import SELECTORS_MOST, amiss, narrowed
from worker.runner.checks.run import job_of, read_outcome, sandbox_faults

SECONDS = (5, 300)
OVERLAY_FILES = 200
OVERLAY_BYTES = 4 << 20


class BadSelectors(ValueError):
    """Selectors that cannot be run; the text is the answer to the model."""


@dataclass
class Selected:
    """One run's container for selected tests; opened at the first use, closed with the run."""

    run: str
    image: str
    base_tree: str
    hold: Hold
    objects: Objects
    sandbox: Sandbox
    _box: Box | None = field(default=None, init=False)
    _tree: str = field(default="", init=False)  # the tree that the box was opened with

    def run_selected(
        self, check: Check, selectors: Sequence[str], tree: str, seconds: int
    ) -> tuple[CheckResult, str]:
        """The result of `check` narrowed to `selectors` on `tree`, and its text for the model.

        A check without a selector runs whole, and the text says so. Raises `BadSelectors` before
        anything runs, `Park(SANDBOX)` while the sandbox is away, `Halt(INFRASTRUCTURE)`.
        """
        self._sound(selectors, seconds)
        argv = narrowed(check.selector, selectors) or check.argv
        job = job_of(check, argv, seconds)
        with sandbox_faults():
            outcome = self._outcome(job, tree)
        paths = frozenset(entry.path for entry in self.objects.entries(tree))
        source = source_of(self.objects, tree, paths)
        result = read_outcome(check, tree, self.image, outcome, paths, self.hold, source)
        return result, narrate(result, outcome, job.seconds, whole=not check.selector)

    def close(self) -> None:
        """Remove the container; never raises."""
        box, self._box = self._box, None
        if box is not None:
            box.close()

    def __enter__(self) -> Selected:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _outcome(self, job: Job, tree: str) -> Outcome:
        """Run on `tree`, laid over what the box holds; a box that is gone is replaced once."""
        held = self._tree if self._box is not None else self.base_tree
        files = self._overlay(held, tree)
        if self._box is None or files is None:
            return self._fresh(held if files is not None else tree, job, files or {})
        try:
            return self._box.run(job, files, self.hold.look)
        except Refused:  # gone: ended by a limit, the keeper or a restart
            return self._fresh(tree, job, {})

    def _fresh(self, tree: str, job: Job, files: Mapping[str, bytes]) -> Outcome:
        self.close()
        tar = self.objects.tar(tree, {})
        self._box = self.sandbox.open(self.run, self.image, tar, self.hold.look)
        self._tree = tree
        return self._box.run(job, files, self.hold.look)

    def _overlay(self, held: str, tree: str) -> Mapping[str, bytes] | None:
        """What to lay over `held` to get `tree`; None where only a new box can show it: paths that
        go, links, modes that change, new executables, or too much."""
        deltas = self.objects.deltas(held, tree)
        if len(deltas) > OVERLAY_FILES:
            return None
        for delta in deltas:
            kept = delta.new_mode == delta.old_mode and delta.new_mode in (FILE, EXECUTABLE)
            if not kept and (delta.old_mode, delta.new_mode) != (0, FILE):
                return None
        files = {delta.path: self.objects.read(tree, delta.path) for delta in deltas}
        return files if sum(map(len, files.values())) <= OVERLAY_BYTES else None

    def _sound(self, selectors: Sequence[str], seconds: int) -> None:
        if not 1 <= len(selectors) <= SELECTORS_MOST:
            raise BadSelectors(
                f"from 1 to {SELECTORS_MOST} selectors are possible, not {len(selectors)}"
            )
        if not SECONDS[0] <= seconds <= SECONDS[1]:
            raise BadSelectors(f"from {SECONDS[0]} to {SECONDS[1]} seconds are possible")
        for one in selectors:
            if what := amiss(one):
                raise BadSelectors(f"the selector {one[:80]!r} {what}")
