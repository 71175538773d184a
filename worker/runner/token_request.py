"""The runner's side of the fetch token: asked of the desk, sealed to a one-time key, given back."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Halt, Park, Reason, Waiting
from app.domain.run import Run
from worker.store.ledger import Ledger
from worker.store.sealing import OneTimeKey

PATIENCE = 45.0  # seconds that the desk gets for its answer; it mints over the network
AGAIN = 15.0


@dataclass(frozen=True)
class TokenRequests:
    """Asks the desk. `ring` wakes it for one request id; `server_url` is where git is fetched."""

    ledger: Ledger
    ring: Callable[[str], None]
    server_url: str

    @contextmanager
    def fetch(self, run: Run, fence: int) -> Iterator[tuple[str, str]]:
        """(address, token) of the run's repository for one block, then the token is given back.

        Raises `Park(GITHUB)` when the desk is away or waits itself, `Halt` when it refuses.
        """
        key = OneTimeKey()
        answer = self._ask({"run": run.id, "fence": fence, "public": key.public})
        name = str(answer["name"])
        token = key.open(name, str(answer["sealed"])).decode()
        try:
            yield f"{self.server_url}/{answer['repository']}.git", token
        finally:
            # Without waiting: if this wake-up is lost, the desk's keeper revokes it.
            self._post({"run": run.id, "done": name})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        request = self._post(question)
        answer = self.ledger.await_answer(request, PATIENCE)
        if answer is None:
            raise Park(Waiting.GITHUB, AGAIN, "The desk did not answer; is its process running?")
        if "wait" in answer:
            raise Park(Waiting.GITHUB, float(answer["wait"]), str(answer.get("why", "")))
        if "halt" in answer:
            halt = answer["halt"]
            raise Halt(Reason(halt["reason"]), halt["message"], halt["next_step"])
        if "refused" in answer:
            raise Park(Waiting.GITHUB, AGAIN, f"The desk refused: {answer['refused']}")
        return answer

    def _post(self, question: dict[str, Any]) -> str:
        request = secrets.token_urlsafe(18)
        self.ledger.ask(request, question, PATIENCE * 4)
        self.ring(request)
        return request
