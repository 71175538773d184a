"""How one write is sent: once more when that does no harm, else looked for; read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from app.domain.errors import IntegrityError, Uncertain
from app.domain.redact import Redactor
from worker.desk.github import answers
from worker.desk.github.http import Client

T = TypeVar("T")
LOOKS = (0.5, 1.0, 2.0)  # seconds before each look for a write whose answer was lost
SHAPES = Redactor()  # knows secrets by their shape alone


class Writes:
    """Writes through one client; `app` is our App's id, by which our own things are known.

    Text for people goes through `redact`, the last look before it leaves; file contents do not,
    since the published tree is the checked tree.
    """

    def __init__(
        self, client: Client, app: str, redact: Callable[[str], str] = SHAPES.redact
    ) -> None:
        self._client = client
        self._app = app
        self._redact = redact

    def _twice(self, send: Callable[[], T]) -> T:
        """A write that may happen twice without harm, sent once more when its answer was lost."""
        try:
            return send()
        except Uncertain:
            self._client.settle(LOOKS[0])
            return send()

    def _looking(self, send: Callable[[], Any], find: Callable[[], T | None]) -> Any | T:
        """A write that must not happen twice: when its answer was lost, look for its effect."""
        try:
            return send()
        except Uncertain:
            for pause in LOOKS:
                self._client.settle(pause)
                found = find()
                if found is not None:
                    return found
            raise

    def _made(self, one: Mapping[str, Any], key: str = "performed_via_github_app") -> bool:
        """Whether our App made it; never decided by a login's spelling."""
        app = answers.part(one, key)
        return self._app in (str(answers.part(app, "id")), answers.part(app, "client_id"))


def same(what: str, given: object, expected: object) -> None:
    if given != expected:
        raise IntegrityError(
            f"The {what} that GitHub names is {given!r}, not {expected!r}; nothing more was sent"
        )
