"""Joins tokens and GitHub clients for the desk's wiring: a client for each phase, then no token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.domain.permissions import Phase
from app.domain.ports import GitHubReader, GitHubWriter
from app.domain.run import Run, branch_name
from app.domain.state import Kind
from worker.desk.github.http import Client, Pace
from worker.desk.github.publisher import Publisher
from worker.desk.github.reader import Reader
from worker.desk.tokens import Tokens


@dataclass
class Access:
    """Ways to GitHub. `gap` is the seconds between two writes of one installation; `clock` gives
    seconds that only grow, the same that tokens are minted by; `redact` takes secrets out of text
    that is about to leave."""

    tokens: Tokens
    api_url: str
    app_id: str
    gap: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    redact: Callable[[str], str]
    paces: dict[int, Pace] = field(default_factory=dict)

    @contextmanager
    def read(self, run: Run) -> Iterator[GitHubReader]:
        """Live reads of the run's repository: about its issue, or about somebody's pull request."""
        phase = Phase.EXAMINE if run.kind is Kind.VERIFY else Phase.AUTHORIZE
        with self._client(run, phase) as client:
            yield Reader(client)

    @contextmanager
    def look(self, run: Run) -> Iterator[GitHubReader]:
        """Live reads for a command or a nudge, pull requests included."""
        with self._client(run, Phase.LOOK) as client:
            yield Reader(client)

    @contextmanager
    def survey(self, run: Run) -> Iterator[Client]:
        """A client for the doctor's reads."""
        with self._client(run, Phase.DOCTOR) as client:
            yield client

    @contextmanager
    def write(self, run: Run, phase: Phase) -> Iterator[GitHubWriter]:
        """The writes of one phase, bound to the run's repository and branch."""
        with self._client(run, phase) as client:
            yield Publisher(client, self.app_id, self.redact)

    @contextmanager
    def _client(self, run: Run, phase: Phase) -> Iterator[Client]:
        pace = self.paces.setdefault(run.installation, Pace(self.gap, self.clock, self.sleep))
        branch = branch_name(run.issue, run.change) if run.change else ""
        with (
            self.tokens.phase(run, phase) as held,
            Client(held.token, phase, branch, self.api_url, pace, held.still) as client,
        ):
            yield client
