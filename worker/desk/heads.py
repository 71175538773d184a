"""The head of our own pull request moved: what is there now is checked again, once for all pushes.

A delivery only wakes this; what is read live decides. While a run is at work for the Change the
event waits (it stays open in the ledger and comes again), and further ones join it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from app.domain import cancelled
from app.domain.branch import BRANCH
from app.domain.contract import Contract
from app.domain.errors import Halt, Refused
from app.domain.event import Event, EventKind, Person, Repository
from app.domain.permissions import Phase
from app.domain.ports.views import PullView
from app.domain.record import ChangeRow
from app.domain.report import alike
from app.domain.run import Publication, Run
from app.domain.stale import with_banner, without_banner
from app.domain.state import ENDS, Kind
from app.domain.two_looks import evidence_of
from worker.desk.front import EventDesk, Events, begin, run_for
from worker.store.rows import Opening

log = logging.getLogger(__name__)
PUSHED = "pull_request.synchronize"
KNOWN = "known head"
# What may have changed a pull request's head or base.
EDITED = "pull_request.edited"
MOVED = frozenset({PUSHED, EDITED, "pull_request.reopened"})


def followed(event: Event, desk: EventDesk) -> str | None:
    """Open a run of kind recheck where the head (or the base branch) is not what the evidence is
    about; the id of the run to wake, None where there is none."""
    change = _of_ours(event, desk)
    if change is None or desk.read is None:
        desk.ledger.event_done(event.key, "no pull request of ours")
        return None
    if change.active:
        _retargeted(event, change, desk)
        held = desk.ledger.wait_for_head(change.id, event.key)
        if held != event.key:
            desk.ledger.event_done(event.key, f"same as {held}")
        return None
    desk.ledger.look_at_head(change.id, event.key)
    asking = following(run_for(event, desk, Kind.RECHECK), change)
    try:
        with desk.read(asking) as reader:
            view = reader.pull(change.pull)
    except (Refused, Halt) as unseen:
        log.info("Change %s: its pull request could not be read: %s", change.id, unseen)
        desk.ledger.event_done(event.key, "unreadable")
        return None
    runs = [desk.ledger.run(one) for one in change.runs]
    last = evidence_of([run for run in runs if run is not None])
    why = _nothing_to_do(view, change, last, desk)
    if last is not None and (not why or why == KNOWN):
        known = last.publication.commit
        body = without_banner(view.body) if why else with_banner(view.body, view.head_sha, known)
        _say_so(asking, view, body, desk)
    if why:
        desk.ledger.event_done(event.key, why)
        return None
    return look_again(event, asking, desk)


def _retargeted(event: Event, change: ChangeRow, desk: EventDesk) -> None:
    """Ask the run at work to end where its pull request goes into another branch by now; read
    live, and once for each event. One that is opening that very pull request goes on to its end."""
    run = desk.ledger.run(change.active)
    if event.told != EDITED or run is None or run.contract is None or desk.read is None:
        return
    if run.state in ENDS or run.kind is Kind.FIX or waited(event, desk):
        return
    try:
        with desk.read(following(run, change)) as reader:
            view = reader.pull(change.pull)
    except (Refused, Halt) as unseen:
        log.info("Change %s: its pull request could not be read: %s", change.id, unseen)
        return
    old = run.contract.base_branch
    if view.base_ref != old:
        why = cancelled.retargeted(old, view.base_ref, event.sender.login)
        desk.ledger.cancel(run.id, why)


def goes_elsewhere(
    run: Run, view: PullView, contract: Contract, tell: Callable[[Event], object]
) -> None:
    """Raise `Halt(BASE_CHANGED)` where the pull request goes into another branch than the contract
    is about; what is there is then looked at, also if no event told of it."""
    if view.base_ref != contract.base_branch:
        tell(told_by_a_read(run, view.head_sha, view.base_ref))
        raise cancelled.halt_of(cancelled.retargeted(contract.base_branch, view.base_ref))


def waited(event: Event, desk: EventDesk) -> bool:
    """Whether this event was here before, and waits for the end of the run at work."""
    name = BRANCH.fullmatch(event.branch) if event.told in MOVED else None
    return name is not None and desk.ledger.waits_for_head(name["change"]) == event.key


def _say_so(asking: Run, view: PullView, body: str, desk: EventDesk) -> None:
    """Show at once that the evidence in the body is about another head, or again about this one."""
    if alike(body, view.body):
        return
    try:
        with desk.write(asking, Phase.PULL) as writer:
            writer.update_pull(view.number, None, body)
    except (Refused, Halt) as unsaid:
        log.info("#%s: its body could not be marked: %s", view.number, unsaid)


def look_again(event: Event, run: Run, desk: EventDesk) -> str | None:
    """Open the run inside the caps; its id where it is new, None where another one is at work (the
    event then stays open and comes again) or none may be opened."""
    opened = begin(event, run, desk)
    if opened is None:
        return None
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    if opened.outcome is not Opening.ACTIVE:
        desk.ledger.event_done(event.key, str(opened.outcome))
    return None


def following(asking: Run, change: ChangeRow) -> Run:
    """`asking` as a run that goes on with `change` and its pull request."""
    there = Publication(branch=change.branch, pull=change.pull)
    return replace(asking, change=change.id, issue=change.issue, publication=there)


def told_by_a_read(run: Run, head: str, base: str = "") -> Event:
    """The event of a push that nobody told us of: a live read found another head, or another base.
    One push has one key, however often it is seen."""
    return Event(
        key=f"nudge:head:{run.repository.id}:{run.publication.pull}:{head}{base and f':{base}'}",
        kind=EventKind.NUDGE,
        installation=run.installation,
        repository=run.repository,
        issue=run.publication.pull,
        sender=Person(0, "unknown", "Unknown"),
        label="",
        title="",
        body="",
        author=Person(0, "ghost"),
        updated_at="",
        pull=True,
        told=PUSHED,
        branch=run.publication.branch,
    )


def _of_ours(event: Event, desk: EventDesk) -> ChangeRow | None:
    """The Change whose pull request this is, by the ledger; None for anybody else's."""
    name = BRANCH.fullmatch(event.branch)
    if name is None or event.repository.owner.casefold() not in desk.owners:
        return None
    return _matching(desk.ledger, event.repository, event.issue, name["change"])


def _matching(
    ledger: Events, repository: Repository, number: int, change_id: str
) -> ChangeRow | None:
    change = ledger.change(change_id)
    if change is None or change.repository != repository.id or change.pull != number:
        return None
    return change


def _nothing_to_do(view: PullView, change: ChangeRow, last: Run | None, desk: EventDesk) -> str:
    """Why what is there now needs no look, "" where it does."""
    if view.state != "open":
        return "not open"
    if view.head_ref != change.branch or view.head_repository != change.repository:
        return "not our branch"
    if not change.open and not desk.ledger.reopen_change(change):
        return "another Change has begun"
    if last is None or last.contract is None:
        return ""
    same = last.publication.commit == view.head_sha
    return KNOWN if same and last.contract.base_branch == view.base_ref else ""
