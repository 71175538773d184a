"""A Change's own pull request, read live for a run that goes on with it."""

from __future__ import annotations

from app.domain.errors import Halt, Missing, Reason
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullView
from app.domain.run import Publication, Run


def still_open(run: Run, reader: GitHubReader) -> PullView:
    """The pull request as it is now; `Halt(CANCELLED)` where it is not open or not ours."""
    try:
        view = reader.pull(run.publication.pull)
    except Missing as gone:
        raise _none("it is not there any more") from gone
    if view.state != "open":
        raise _none(f"it is {'merged' if view.merged else view.state}")
    mine = view.head_repository == run.repository.id and view.head_ref == run.publication.branch
    if not mine:
        raise _none("its head is not the branch that this app made")
    return view


def _none(why: str) -> Halt:
    return Halt(
        Reason.CANCELLED,
        f"This pull request cannot be gone on with: {why}.",
        "Say it on an open pull request of this app, or label the issue for a new start.",
    )


def there(view: PullView) -> Publication:
    """What of it a run that goes on with it publishes to."""
    return Publication(branch=view.head_ref, pull=view.number, pull_url=view.url, draft=view.draft)
