"""The stand-in as a process of its own, for tests and the demo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from tests.standins.github.client import Control, StandinRefused

REPOSITORY = Path(__file__).resolve().parents[3]


class GitHubStandin(Control):
    """A stand-in as a subprocess: started on entry, ended on exit.

    `root` is where the bare repositories go (a temporary directory of its own by default);
    `url` is both the API's base and the pages'; clone from `{url}/{owner}/{repo}.git`.
    """

    def __init__(self, root: Path | None = None, port: int = 0) -> None:
        self._folder = None if root else tempfile.TemporaryDirectory(prefix="github-standin-")
        self.root = root or Path(self._folder.name if self._folder else ".")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.standins.github",
                "--root",
                str(self.root),
                "--port",
                str(port),
                "--tied",
            ],
            cwd=REPOSITORY,
            env={"PATH": os.defpath, "PYTHONPATH": str(REPOSITORY), "HOME": "/nonexistent"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        super().__init__(self._ready())

    def _ready(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise StandinRefused(f"it did not start: exit {self._process.wait()}")
        return str(json.loads(line)["url"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> GitHubStandin:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
