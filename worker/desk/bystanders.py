"""People's own pull requests: where the check of approval is required, it lets them pass.

Never on a pull request of ours, and never where one holds a commit of ours that was not merged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from app.domain.approval import CHECK, NOT_OURS, seal_of, sealed
from app.domain.branch import BRANCH
from app.domain.errors import Halt, Missing, Refused
from app.domain.event import Event
from app.domain.permissions import Phase
from app.domain.ports.approval import ApprovalReader, WeighedCommit
from app.domain.ports.views import PullView
from app.domain.record import ChangeRow
from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig
from app.domain.run import Run
from worker.desk.authority import require_repository
from worker.desk.kit import Write

WHEN = frozenset(
    f"pull_request.{action}" for action in ("opened", "reopened", "synchronize", "edited")
)
TEXT = (
    "A person, or another app, made this pull request, so this check has nothing to say about it: "
    "it holds changes of Patchwarrant back until somebody approved exactly what was checked. The "
    "other rules of this repository hold as ever."
)
_TRAILER = re.compile(r"^Agent-Run: ([A-Za-z0-9_-]{1,64})[ \t]*$", re.MULTILINE)
log = logging.getLogger(__name__)


class Rows(Protocol):
    """What of the ledger is read here."""

    def run(self, run_id: str) -> Run | None: ...

    def change(self, change_id: str) -> ChangeRow | None: ...


@dataclass(frozen=True)
class Bystanders:
    """`weigh` and `write` as elsewhere; `owners` is the operator's allow-list in lower case."""

    rows: Rows
    weigh: Callable[[Run], AbstractContextManager[ApprovalReader]]
    write: Write
    config_of: Callable[[bytes], RepoConfig]
    owners: frozenset[str]

    def told(self, event: Event, asking: Run) -> str:
        """What was done for the pull request that `event` tells of; "" where it is none of these.

        `asking` names the tokens. Raises `Unavailable` and `Uncertain`: the event comes again.
        """
        if event.told not in WHEN or event.repository.owner.casefold() not in self.owners:
            return ""
        asking = replace(asking, issue=event.issue)
        try:
            return self._told(event.issue, asking)
        except (Refused, Halt) as refusal:
            log.info("pull request %s: no check of approval: %s", event.issue, refusal)
            return "unreadable"

    def _told(self, number: int, asking: Run) -> str:
        with self.weigh(asking) as reader:
            require_repository(reader, self.owners)
            view = reader.pull(number)
            here = reader.repository()[0].id
            if view.state != "open" or _named_as_ours(view, here):
                return "not theirs"
            if not self._required(reader, view.base_ref):
                return "not required"
            if self._holds_ours(reader, view, here):
                return "it holds work of ours"
            shown = reader.checks(view.head_sha, CHECK)
        external = f"{CHECK.rpartition('/')[2]}:pull:{number}"
        summary = sealed(NOT_OURS, TEXT)
        if shown and (shown[0].conclusion, seal_of(shown[0].summary)) == (
            "success",
            seal_of(summary),
        ):
            return "said already"
        with self.write(asking, Phase.EVIDENCE) as writer:
            writer.check_run(CHECK, view.head_sha, external, "success", NOT_OURS, summary, "")
        return "not an agent change"

    def _holds_ours(self, reader: ApprovalReader, view: PullView, here: int) -> bool:
        """Whether a pull request shows the head of one of ours, or holds a commit of ours that was
        not merged: whoever opens it under another branch could else do without the approval."""
        if any(
            _named_as_ours(one, here) and one.head_sha == view.head_sha and one.state == "open"
            for one in reader.pulls_with(view.head_sha)
        ):
            return True
        changes = (published(one, self.rows) for one in reader.weighed_commits(view.number))
        theirs = {change.id: change for change in changes if change is not None}
        return any(not self._merged(reader, change) for change in theirs.values())

    def _merged(self, reader: ApprovalReader, change: ChangeRow) -> bool:
        return change.pull > 0 and reader.pull(change.pull).merged

    def _required(self, reader: ApprovalReader, branch: str) -> bool:
        """Whether a ruleset asks for the check on that branch, or the repository says so: a classic
        branch protection cannot be seen with the App's permissions."""
        if CHECK in reader.required_checks(branch):
            return True
        try:
            found = reader.file(CONFIG_PATH, reader.branch(branch))
            return found is not None and self.config_of(found[0]).approval_on_all
        except (Missing, ConfigError):
            return False


def _named_as_ours(view: PullView, here: int) -> bool:
    return view.head_repository == here and BRANCH.fullmatch(view.head_ref) is not None


def published(commit: WeighedCommit, rows: Rows) -> ChangeRow | None:
    """The Change for which we published exactly this commit, None for anybody else's."""
    for run_id in _TRAILER.findall(commit.message):
        run = rows.run(run_id)
        if run is not None and run.publication.commit == commit.sha:
            return rows.change(run.change)
    return None
