"""After a ledger was lost: an issue's open pull request of ours that the new ledger knows nothing
of, found by what we wrote on the issue; no second one is opened beside it."""

from __future__ import annotations

import re
from dataclasses import replace

from app.domain.permissions import Phase
from app.domain.run import Run, branch_name
from worker.desk.kit import Write
from worker.desk.notices import status_marker
from worker.store.rows import Opened, Opening

_CHANGE = re.compile(status_marker(r"([A-Za-z0-9][A-Za-z0-9_-]{0,63})"))


def forgotten(run: Run, write: Write) -> Opened | None:
    """The newest open pull request of the run's issue, None without one. The sticky comments that
    our App wrote there name the Changes, and a Change names its branch. Raises what GitHub's
    adapter raises."""
    with write(run, Phase.STATUS) as writer:
        texts = writer.own_comments(run.issue)
    changes = dict.fromkeys(name for text in reversed(texts) for name in _CHANGE.findall(text))
    for change in changes:
        with write(replace(run, change=change), Phase.PULL) as writer:
            view = writer.find_pull(branch_name(run.issue, change))
        if view is not None and view.state == "open":
            return Opened(Opening.FORGOTTEN, "", change, view.number)
    return None
