"""The stand-in as a context manager: a process of its own, and a typed client to control it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.tied import tied

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 90


class StandinRefused(Exception):
    """The control API refused; the text says why."""


@dataclass(frozen=True)
class Recorded:
    """One request as it came: `body` is its JSON, `key_sha256` stands for the credential."""

    number: int
    method: str
    path: str
    key_sha256: str
    version: str
    body: Any
    status: int
    fault: str


class AnthropicStandin:
    """`with AnthropicStandin() as model: ...`; `model.url` is the SDK's `base_url`."""

    def __init__(self, key: str = "sk-ant-standin-0000") -> None:
        self.key = key
        self.url = ""
        self._folder = tempfile.TemporaryDirectory(prefix="standin-model-")
        self._process: subprocess.Popen[bytes] | None = None
        self._http = httpx.Client(timeout=90, trust_env=False)

    def __enter__(self) -> Self:
        ready = Path(self._folder.name) / "ready"
        command = [sys.executable, "-m", "tests.standins.anthropic", "--port", "0"]
        self._process = subprocess.Popen(
            [*command, "--ready", str(ready)],
            cwd=ROOT,
            env={**os.environ, "STANDIN_MODEL_KEY": self.key},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=tied(),
        )
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise StandinRefused("the stand-in did not start; its own words are above")
            time.sleep(0.02)
        self.url = json.loads(ready.read_text())["url"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(5)
        self._folder.cleanup()

    def script(self, conversations: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """Play these replies: conversation 0, then repair 1, 2, ..."""
        self._post("script", {"conversations": conversations})

    def say(self, *calls: tuple[str, Mapping[str, Any]] | str) -> dict[str, Any]:
        """A reply for `script`: (tool name, input) pairs and plain texts."""
        return {
            "content": [
                {"type": "text", "text": call}
                if isinstance(call, str)
                else {"type": "tool_use", "name": call[0], "input": dict(call[1])}
                for call in calls
            ]
        }

    def patch(
        self,
        patches: Sequence[str],
        repository: Path,
        threads: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Act out unified diffs against HEAD of a local repository; `threads` are the outcomes of
        review threads that are given at the end."""
        told = {"patches": list(patches), "repository": str(repository), "threads": list(threads)}
        self._post("patch", told)

    def replay(self, recording: Mapping[str, Any]) -> None:
        """Play what `recording()` gave."""
        self._post("recording", recording)

    def fault(self, kind: str | int, **details: Any) -> None:
        """One fault instead of those before: a status' number or a kind of `faults.KNOWN`."""
        self.faults({"kind": str(kind), **details})

    def faults(self, *faults: Mapping[str, Any]) -> None:
        self._post("faults", {"faults": list(faults)})

    def latency(self, seconds: float = 0.0, pause: float = 0.0, piece: int = 400) -> None:
        """`seconds` before a reply, `pause` seconds between events of `piece` characters."""
        self._post("latency", {"seconds": seconds, "pause": pause, "piece": piece})

    def reset(self) -> None:
        self._post("reset", {})

    def requests(self, path: str = "/v1/messages") -> list[Recorded]:
        """Requests to `path` since the last reset, in order; "" for all."""
        rows = [Recorded(**row) for row in self._http.get(f"{self.url}/_/requests").json()]
        return [row for row in rows if path in ("", row.path)]

    def recording(self) -> dict[str, Any]:
        """What was asked and answered, for `replay`."""
        answer: dict[str, Any] = self._http.get(f"{self.url}/_/recording").json()
        return answer

    def _post(self, act: str, data: Mapping[str, Any]) -> None:
        answer = self._http.post(f"{self.url}/_/{act}", json=data)
        if answer.status_code != 200:
            raise StandinRefused(answer.json()["error"])
