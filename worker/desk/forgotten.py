"""After a ledger was lost: an issue's open pull request of ours that the new ledger knows nothing
of, found by what we wrote on the issue; no second one is opened beside it."""

from __future__ import annotations

import re
from dataclasses import replace

from app.domain.branch import BRANCH
from app.domain.errors import Missing
from app.domain.permissions import Phase
from app.domain.ports.views import PullView
from app.domain.run import Run
from worker.desk.kit import Write
from worker.desk.notices import status_marker
from worker.store.rows import Opened, Opening

_CHANGE = re.compile(status_marker(r"([A-Za-z0-9][A-Za-z0-9_]{0,63})"))
_NUMBER = re.compile(r"#([1-9][0-9]{0,8})\b")


def forgotten(run: Run, write: Write) -> Opened | None:
    """The newest open pull request of the run's issue, None without one. The sticky comments that
    our App wrote there name the Change and its pull request; where one died before it said that,
    the Change names its branch. Raises what GitHub's adapter raises."""
    with write(run, Phase.STATUS) as writer:
        texts = writer.own_comments(run.issue)
    for text in reversed(texts):
        told = _CHANGE.search(text)
        if told is None:
            continue
        of_change = replace(run, change=told[1])
        with write(of_change, Phase.PULL) as writer:
            views = [writer.find_pull(of_change.branch)]
            for number in dict.fromkeys(_NUMBER.findall(text)):
                try:
                    views.append(writer.pull_view(int(number)))
                except Missing:
                    continue
        for view in views:
            if view is not None and _ours(view, of_change):
                return Opened(Opening.FORGOTTEN, "", told[1], view.number)
    return None


def _ours(view: PullView, run: Run) -> bool:
    """Whether it is open, of this repository itself, and from the Change's branch."""
    name = BRANCH.fullmatch(view.head_ref)
    if name is None or view.state != "open" or view.head_repository != run.repository.id:
        return False
    return (int(name["issue"]), name["change"]) == (run.issue, run.change)
