"""A pull request that a run is about, read live: it has to be open still."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.errors import Halt, Missing, Reason
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullView
from app.domain.run import Publication, Run


def still_open(
    reader: GitHubReader,
    number: int,
    refusal: Callable[[str], Halt],
    absent: str = "it is not there any more",
) -> PullView:
    """The pull request as it is now; where it is not open, what `refusal` makes of the reason (in
    the words `absent` where there is none of that number) is raised."""
    try:
        view = reader.pull(number)
    except Missing as gone:
        raise refusal(absent) from gone
    if view.state != "open":
        raise refusal(f"it is {'merged' if view.merged else view.state}")
    return view


def own_pull(run: Run, reader: GitHubReader) -> PullView:
    """A Change's own pull request, for a run that goes on with it; `Halt(CANCELLED)` where it is
    not open or not ours."""
    view = still_open(reader, run.publication.pull, _ended)
    mine = view.head_repository == run.repository.id and view.head_ref == run.publication.branch
    if not mine:
        raise _ended("its head is not the branch that this app made")
    return view


def _ended(why: str) -> Halt:
    return Halt(
        Reason.CANCELLED,
        f"This pull request cannot be gone on with: {why}.",
        "Say it on an open pull request of this app, or label the issue for a new start.",
    )


def there(view: PullView) -> Publication:
    """What of it a run that goes on with it publishes to."""
    return Publication(branch=view.head_ref, pull=view.number, pull_url=view.url, draft=view.draft)
