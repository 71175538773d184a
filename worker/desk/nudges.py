"""What happens around a run: a nudge only wakes a live re-read, and that decides."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from app.domain import cancelled, told
from app.domain.branch import BRANCH
from app.domain.errors import Halt, Missing, Refused
from app.domain.event import Event
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullView
from app.domain.record import ChangeRow
from app.domain.run import Run
from app.domain.state import ENDS, FOLLOWING, Kind, State
from app.domain.triggers import CI_TOLD
from worker.desk.authority import require_repository
from worker.desk.front import EventDesk, run_for, speak
from worker.desk.heads import MOVED, followed
from worker.desk.kit import RUNNING
from worker.desk.notices import UNMARKED

# Events that end no run: what they may change is looked at elsewhere, once they are marked.
ABOUT_APPROVALS = frozenset({"member", "pull_request", "pull_request_review", "push"})
log = logging.getLogger(__name__)


def nudged(event: Event, desk: EventDesk) -> str | None:
    """Look again at what the nudge may be about; runs that may not go on are asked to end. The id
    of the run to wake, where a pull request of ours shows another head."""
    if event.told in MOVED:
        return followed(event, desk)
    outcome = "nothing"
    if event.told == "installation.deleted":
        desk.ledger.leaves(event.installation)
    if event.told == "issues.edited":
        desk.ledger.edited(event.repository.id, event.issue, event.updated_at, event.sender.login)
        outcome = "edit noted"
    elif desk.read is not None and event.told == "pull_request.closed":
        outcome = _pull_closed(event, desk)
    elif event.told.partition(".")[0] in ABOUT_APPROVALS or event.told in CI_TOLD:
        outcome = "approvals are looked at"
    elif desk.read is not None:
        reasons = {run.id: _must_end(event, run, desk) for run in _concerned(event, desk)}
        ended = [run_id for run_id, why in reasons.items() if why]
        for run_id in ended:
            desk.ledger.cancel(run_id, reasons[run_id])
        outcome = f"cancelled:{','.join(ended)}" if ended else "nothing"
    desk.ledger.event_done(event.key, outcome)
    return None


def _concerned(event: Event, desk: EventDesk) -> Iterator[Run]:
    """The runs at work that this may be about, as far as the nudge itself says."""
    for run_id in desk.ledger.runs_without_end():
        run = desk.ledger.run(run_id)
        if run is None or run.state in ENDS or run.installation != event.installation:
            continue
        here = event.repository.id in (0, run.repository.id)
        listed = not event.repositories or run.repository.id in event.repositories
        if here and listed and event.issue in (0, run.issue):
            yield run


def _must_end(event: Event, run: Run, desk: EventDesk) -> str:
    """Why what is true now forbids this run to go on, "" where nothing does."""
    assert desk.read is not None
    try:
        with desk.read(run) as reader:
            return _ended_by_now(event, run, reader, desk)
    except Missing:
        return cancelled.kept("What this run is about is not there any more.")
    except Halt as halt:
        log.info("run %s is asked to end: %s", run.id, halt)
        return cancelled.kept(halt.record.message, halt.record.next_step, halt.record.reason)
    except Refused as unclear:
        log.info("run %s could not be looked at: %s", run.id, unclear)
        return ""


def _ended_by_now(event: Event, run: Run, reader: GitHubReader, desk: EventDesk) -> str:
    require_repository(reader, desk.owners)
    if run.kind in FOLLOWING:  # its pull request is what it is about
        view = reader.pull(run.publication.pull)
        return "" if view.state == "open" else cancelled.pull_over(view.merged, "", run.kind)
    if run.kind is Kind.VERIFY:  # and so is somebody's, which has no label of ours
        view = reader.pull(run.issue)
        return "" if view.state == "open" else cancelled.pull_over(view.merged, "", run.kind)
    issue = reader.issue(run.issue)
    if issue.state != "open":
        who = event.sender.login if event.told == "issues.closed" else ""
        return cancelled.kept(f"The issue was closed{cancelled.by(who)}.")
    taken_off = event.told == "issues.unlabeled" and event.label.casefold() == RUNNING
    if not taken_off or run.kind is not Kind.FIX or run.state is State.ADMIT:
        return ""
    if desk.ledger.intent(run.id, UNMARKED) is not None:
        return ""  # the run is nearly over, and the desk itself took its label off
    if RUNNING in {label.casefold() for label in issue.labels}:
        return ""
    return cancelled.kept(f"The label `{RUNNING}` was taken off{cancelled.by(event.sender.login)}.")


def _pull_closed(event: Event, desk: EventDesk) -> str:
    """A closed pull request closes its Change, so that a new label begins a new one."""
    assert desk.read is not None
    looks = [run for run in _concerned(event, desk) if run.kind is Kind.VERIFY]
    ended = [run.id for run in looks if _closed(run, desk)]
    for run_id in ended:
        desk.ledger.cancel(run_id, cancelled.pull_over(False, event.sender.login, Kind.VERIFY))
    if ended:
        return f"cancelled:{','.join(ended)}"
    if not BRANCH.fullmatch(event.branch):  # as signed: spares a look at everybody's pull requests
        return "no branch of ours"
    asking = run_for(event, desk, word="pull")
    try:
        with desk.read(asking) as reader:
            view = reader.pull(event.issue)
            change = _change_of(view, event, desk)
            if change is None or view.state == "open":
                return "nothing"
            said = reader.message(view.merge_commit) if view.merge_commit else ""
    except (Refused, Halt) as unseen:
        return f"unreadable: {unseen}"[:200]
    if change.active:
        active = desk.ledger.run(change.active)
        kind = active.kind if active is not None else Kind.REVISE
        over = cancelled.pull_over(view.merged, event.sender.login, kind)
        desk.ledger.cancel(change.active, over)
    directive = told.skip_directive(said)
    if directive:
        mark = f"<!-- patchwarrant:skipped:{change.id} -->"
        text = f"{mark}\n{told.skipped(directive)}"
        person = replace(event.sender, kind="User")  # whoever merged: it is said to everybody
        speaker = replace(asking, requester=person)
        speak(desk, speaker, lambda w: w.comment(event.issue, text, mark))
    desk.ledger.close_change(change)
    return f"closed:{change.id}"


def _closed(run: Run, desk: EventDesk) -> bool:
    """Whether the pull request that `run` looks at is closed by now."""
    assert desk.read is not None
    try:
        with desk.read(run) as reader:
            return reader.pull(run.issue).state != "open"
    except Missing:
        return True
    except (Refused, Halt) as unseen:
        log.info("run %s could not be looked at: %s", run.id, unseen)
        return False


def _change_of(view: PullView, event: Event, desk: EventDesk) -> ChangeRow | None:
    name = BRANCH.fullmatch(view.head_ref)
    if name is None or view.head_repository not in (0, event.repository.id):
        return None
    change = desk.ledger.change(name["change"])
    if change is None or change.repository != event.repository.id:
        return None
    return change if change.pull == view.number else None
