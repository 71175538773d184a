"""The containers in which `try_out` explores: one a tree, opened late, closed with the stage.

They are strangers to every check: nothing that happens in here reaches tree, artifact or evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.domain.check import Outcome
from app.domain.errors import SERVICE_NOT_READY, Refused, Unavailable
from app.domain.ports.objects import Objects
from app.domain.ports.sandbox import Box, Job, Sandbox
from worker.runner.agent.private import private
from worker.runner.agent.views import Views

_OPEN = 2  # base and candidate


class Boxes:
    """At most two open boxes of one run. Files that hold secrets are empty in them."""

    def __init__(self, sandbox: Sandbox, objects: Objects, views: Views, run: str) -> None:
        self._sandbox = sandbox
        self._objects = objects
        self._views = views
        self._run = run
        self._boxes: dict[str, Box] = {}

    def run(
        self,
        image: str,
        tree: str,
        job: Job,
        files: Mapping[str, bytes],
        look: Callable[[], None],
    ) -> Outcome:
        """Run `job` over `tree` with `files` laid over it. A box that is gone is opened once more;
        raises `Unavailable` when that one is gone too."""
        for _ in range(2):
            box = self._boxes.get(tree) or self._open(image, tree, look)
            try:
                return box.run(job, files, look)
            except Refused:
                self._drop(tree)
        raise Unavailable("The sandbox gave up two containers in a row; it is tried again later.")

    def _open(self, image: str, tree: str, look: Callable[[], None]) -> Box:
        while len(self._boxes) >= _OPEN:
            self._drop(next(iter(self._boxes)))
        blank = {path: b"" for path in self._views.files(tree) if private(path)}
        try:
            box = self._sandbox.open(self._run, image, self._objects.tar(tree, blank), look)
        except Refused as refused:
            if refused.status == SERVICE_NOT_READY:  # beside the base it was: the machine's fault
                raise Unavailable(str(refused)) from refused
            raise
        self._boxes[tree] = box
        return box

    def _drop(self, tree: str) -> None:
        self._boxes.pop(tree).close()

    def close(self) -> None:
        """Remove all containers; never raises."""
        while self._boxes:
            self._drop(next(iter(self._boxes)))
