"""Certify again: publishes signed evidence about what a Change's pull request shows now.

A look at what people pushed writes a check run on that very commit and the pull request's body; an
update first puts the checked merge onto the branch, `/agent ci` the tree of the head once more.
Evidence about a head that moved on meanwhile is dropped, and what is there then is looked at next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain import report
from app.domain.contract import Contract
from app.domain.errors import Halt, IntegrityError, Missing, Park, Reason, Waiting
from app.domain.evidence import Result, Verdict
from app.domain.permissions import Phase
from app.domain.ports.views import PullView
from app.domain.run import Run
from app.domain.stale import without_banner
from app.domain.state import Kind, Signal
from app.domain.two_looks import evidence_of, two_looks
from worker.desk.authority import require_repository, require_role
from worker.desk.evidence import certified, facts_of, shown, signed
from worker.desk.faults import guarded
from worker.desk.heads import goes_elsewhere, told_by_a_read
from worker.desk.intents import done
from worker.desk.kit import DONE, INCOMPLETE, DeskKit
from worker.desk.merging import head_moved, merged
from worker.desk.notices import relabel, sticky, tolerant


def certify_again(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends complete with check run and body read back, or `Halt`, `Park`."""

    def stage(run: Run) -> Run:
        contract, candidate, verdict = certified(run)
        labels = _still_there(kit, run, contract, verdict)
        if run.kind is not Kind.RECHECK:
            commit = _put(kit, run, lambda: merged(kit, run, contract, candidate))
        else:
            commit = contract.head
            signed(kit, run, commit)
        run = replace(run, publication=replace(run.publication, commit=commit))
        facts = facts_of(kit, run)
        before = evidence_of(kit.history(run))
        facts = replace(facts, looks=two_looks(before, run) if before is not None else None)
        view = _body(kit, run, facts)
        published = replace(run.publication, draft=view.draft, check_run=shown(kit, run, facts))
        complete = replace(run, publication=published).moved(Signal.DONE)
        return _told(kit, complete, labels, verdict)

    return guarded(stage)


def _put(kit: DeskKit, run: Run, act: Callable[[], str]) -> str:
    try:
        return act()
    except Halt as halt:
        if halt.record.reason is Reason.HEAD_MOVED:
            _look_next(kit, run)
        raise


def _still_there(kit: DeskKit, run: Run, contract: Contract, verdict: Verdict) -> tuple[str, ...]:
    """Ask again, live, before anything is published; the labels of the Change's issue."""
    begun = done(kit.hold, "branch") is not None or kit.hold.intent("check") is not None
    with kit.read(run) as reader:
        require_repository(reader, kit.owners)
        if run.word and not begun:
            require_role(run, reader)
        try:
            view = reader.pull(run.publication.pull)
        except Missing:
            raise _closed("is not there any more") from None
        if view.state != "open":
            raise _closed(f"was {'merged' if view.merged else view.state} meanwhile")
        if not begun:
            goes_elsewhere(run, view, contract, kit.tell_oneself)
        if run.kind is Kind.RECHECK:
            if view.head_sha != contract.head:
                _next(kit, run, view)
            if reader.tree_of(contract.head) != verdict.tree:
                raise IntegrityError(f"The commit {contract.head} has another tree than checked")
        try:
            return reader.issue(run.issue).labels
        except Missing:
            return ()


def _closed(why: str) -> Halt:
    return Halt(
        Reason.CANCELLED,
        f"The pull request {why}, so nothing more was published about it.",
        "Label the issue for a new start.",
    )


def _next(kit: DeskKit, run: Run, view: PullView) -> None:
    """What was checked is outdated: say so, and see to it that what is there now is looked at."""
    kit.tell_oneself(told_by_a_read(run, view.head_sha))
    assert run.contract is not None
    raise head_moved(run.contract.head)


def _not_yet(kit: DeskKit, run: Run, view: PullView) -> None:
    """GitHub may show a pull request's head later than the branch that it is."""
    if run.kind is Kind.RECHECK:
        return
    with kit.read(run) as reader:
        if reader.branch(view.head_ref) == run.publication.commit:
            raise Park(Waiting.GITHUB, 5.0, "The pull request does not show the new commit yet.")


def _look_next(kit: DeskKit, run: Run) -> None:
    with kit.read(run) as reader:
        try:
            view = reader.pull(run.publication.pull)
        except Missing:
            return
    kit.tell_oneself(told_by_a_read(run, view.head_sha))


def _body(kit: DeskKit, run: Run, facts: report.Facts) -> PullView:
    """The pull request with the new evidence in its body, and a title that follows the verdict."""
    with kit.write(run, Phase.PULL) as writer:
        view = writer.pull_view(run.publication.pull)
        if view.state != "open":
            raise _closed(f"was {view.state} meanwhile")
        if view.head_sha != run.publication.commit:
            _not_yet(kit, run, view)
            _next(kit, run, view)
        body = report.merge_body(without_banner(view.body), report.pull_body(run, facts))
        title = report.title_of_verdict(run, view.title)
        if report.alike(body, view.body) and title == view.title:
            return view
        return writer.update_pull(view.number, title if title != view.title else None, body)


def _told(kit: DeskKit, run: Run, labels: tuple[str, ...], verdict: Verdict) -> Run:
    label = DONE if verdict.result is Result.PASSED else INCOMPLETE
    with kit.write(run, Phase.STATUS) as writer:
        comment = sticky(kit.hold, writer, run, kit.now())
        if labels:  # an issue without any is none that we labelled
            tolerant(kit.hold, lambda: relabel(kit, writer, run, labels, label))
    return replace(run, status_comment=comment or run.status_comment)
