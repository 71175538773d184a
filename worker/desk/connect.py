"""Joins tokens and GitHub clients for the desk's wiring: a client for each phase, then no token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.domain.permissions import Phase
from app.domain.ports.approval import ApprovalReader
from app.domain.ports.ci import CiReader
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullAct
from app.domain.ports.writer import GitHubWriter
from app.domain.run import Run
from app.domain.state import FOLLOWING, Kind
from worker.desk.github.history import acts_of
from worker.desk.github.http import Client, Pace
from worker.desk.github.publisher import Publisher
from worker.desk.github.reader import Reader
from worker.desk.github.weigher import Weigher
from worker.desk.pace import AlonePace, SharedPace
from worker.desk.tokens import Tokens
from worker.store.pacing import Pacing


def nobody() -> None:
    """For requests that belong to no lease: notes about events, the progress of a run."""


READS = {
    Kind.VERIFY: Phase.EXAMINE,
    Kind.REVISE: Phase.REVIEW,
    **dict.fromkeys(FOLLOWING, Phase.FOLLOW),
}


@dataclass
class Access:
    """Ways to GitHub. `pacing` paces the writes of one installation over all processes; without it
    they are `gap` seconds apart in this one. `clock` gives seconds that only grow, the same that
    tokens are minted by; `redact` takes secrets out of text that is about to leave. Where a lease
    is worked under, `own` is asked before every request and raises `Fenced` once it is over: a
    worker that slept past its lease says nothing more."""

    tokens: Tokens
    api_url: str
    app_id: str
    gap: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    redact: Callable[[str], str]
    pacing: Pacing | None = None
    paces: dict[int, Pace] = field(default_factory=dict)

    @contextmanager
    def read(self, run: Run, own: Callable[[], None] = nobody) -> Iterator[GitHubReader]:
        """Live reads of the run's repository: about its issue, about somebody's pull request, or
        about its Change's own."""
        phase = READS.get(run.kind, Phase.AUTHORIZE)
        with self.client(run, phase, own) as client:
            yield Reader(client)

    @contextmanager
    def look(self, run: Run) -> Iterator[GitHubReader]:
        """Live reads for a command or a nudge, pull requests included."""
        with self.client(run, Phase.LOOK) as client:
            yield Reader(client)

    @contextmanager
    def weigh(self, run: Run) -> Iterator[ApprovalReader]:
        """Live reads about an approval, or about whether one is needed."""
        with self.client(run, Phase.WEIGH) as client:
            yield Weigher(client, self.app_id)

    @contextmanager
    def reports(self, run: Run) -> Iterator[CiReader]:
        """Live reads about what CI says. A token of its own: an App whose owner has not accepted
        `statuses: read` yet has its approvals looked at all the same."""
        with self.client(run, Phase.REPORTS) as client:
            yield Weigher(client, self.app_id)

    def acts(self, run: Run, pull: int) -> tuple[PullAct, ...]:
        """What GitHub remembers that was done to the run's pull request, oldest first."""
        with self.client(run, Phase.HISTORY) as client:
            return acts_of(client, pull)

    @contextmanager
    def write(
        self, run: Run, phase: Phase, own: Callable[[], None] = nobody
    ) -> Iterator[GitHubWriter]:
        """The writes of one phase, bound to the run's repository and branch."""
        with self.client(run, phase, own) as client:
            yield Publisher(client, self.app_id, self.redact)

    @contextmanager
    def client(self, run: Run, phase: Phase, own: Callable[[], None] = nobody) -> Iterator[Client]:
        """The calls of one phase on the run's repository, with a token that ends with the block."""
        own()
        pace = self.paces.setdefault(run.installation, self._pace(run.installation))
        pace.ready()  # before a token is minted that nothing could be done with
        with self.tokens.phase(run, phase) as held:

            def still() -> None:
                own()
                held.still()

            with Client(held.token, phase, run.branch, self.api_url, pace, still) as client:
                yield client

    def _pace(self, installation: int) -> Pace:
        if self.pacing is None:
            return AlonePace(self.gap, self.clock, self.sleep)
        return SharedPace(installation, self.pacing, self.clock, self.sleep)
