"""Renew: a revision's tested tree as one follow-up commit on our own branch, with its evidence.

Order: tree -> commit on the live head -> signed statements -> the branch moved forward -> pull
request's body -> check run -> sticky comment -> labels. A head that people moved meanwhile is not
pushed over: the run goes back to the gate, which judges the same edits on the new head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain import cancelled, report
from app.domain.contributors import by_people
from app.domain.errors import Halt, Missing, Park, Reason, Waiting
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.ports.views import PullView
from app.domain.run import Publication, Run
from app.domain.stale import without_banner
from app.domain.state import Signal
from app.domain.two_looks import made_here
from worker.desk.authority import require_repository, require_role
from worker.desk.content import require_base, wanted_as_draft
from worker.desk.evidence import certified, facts_of, shown
from worker.desk.faults import guarded
from worker.desk.follow_up import begun, pushed
from worker.desk.heads import goes_elsewhere
from worker.desk.kit import DONE, INCOMPLETE, DeskKit
from worker.desk.notices import relabel, sticky, tolerant

MOST_MOVES = 3  # times that the edits are judged again on a head that moved
FOLLOWS = 5.0  # seconds
LOST = "Bring it back, then say `/agent revise` once more."


def renew(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends complete with every part of `Publication` read back, back at the gate with a
    head that moved, or `Halt`, `Park`."""

    def stage(run: Run) -> Run:
        contract, candidate, verdict = certified(run)
        wanted_as_draft(run)
        labels, head = _still_allowed(kit, run)
        if head != run.onto and not begun(kit, run):
            return _moved_on(kit, run, head)
        made = pushed(kit, run, contract, candidate, verdict)
        if not made.commit:
            return _moved_on(kit, run, made.head)
        run = replace(run, publication=replace(run.publication, commit=made.commit))
        run = _pull(kit, run)
        check = shown(kit, run, facts_of(kit, run))
        complete = replace(run, publication=replace(run.publication, check_run=check))
        return _told(kit, complete.moved(Signal.DONE), labels)

    return guarded(stage)


def _still_allowed(kit: DeskKit, run: Run) -> tuple[tuple[str, ...], str]:
    """Ask again, live, before anything is published: (the issue's labels, the live head).

    Once the branch may have been moved, what was begun is finished."""
    with kit.read(run) as reader:
        require_repository(reader, kit.owners)
        if not begun(kit, run):
            if run.contract is not None:
                require_base(reader, run.contract)
            require_role(run, reader)
        try:
            view = reader.pull(run.publication.pull)
            head = reader.branch(run.publication.branch)
        except Missing as gone:
            raise _unwanted("or its branch is not there any more", LOST) from gone
        if view.state != "open" and not begun(kit, run):
            then = cancelled.OVER if view.merged else cancelled.REOPEN
            raise _unwanted(f"is {'merged' if view.merged else view.state}", then)
        if run.contract is not None and not begun(kit, run):
            goes_elsewhere(run, view, run.contract, kit.tell_oneself)
        try:
            return reader.issue(run.issue).labels, head
        except Missing:
            return (), head


def _unwanted(why: str, then: str) -> Halt:
    return Halt(
        Reason.CANCELLED,
        f"The pull request {why}, so nothing more was pushed.",
        then,
    )


def _moved_on(kit: DeskKit, run: Run, head: str) -> Run:
    """Back to the gate with the head as it is now; after three times that is the end."""
    if len(run.heads) >= MOST_MOVES:
        raise Halt(
            Reason.HEAD_MOVED,
            f"The head of this pull request moved {len(run.heads) + 1} times while this revision "
            f"was at work, last to {head[:12]}. It was judged on each of the first "
            f"{len(run.heads)} and not pushed over any; the patch is kept below.",
            "Say `/agent revise` again when nobody pushes, or apply the patch by hand.",
        )
    ours = made_here(kit.history(run))
    with kit.read(run) as reader:
        people = by_people(reader.pull_commits(run.publication.pull), ours)
    heads = (*run.heads, head)
    return replace(run, heads=heads, people=people, verdict=None).moved(Signal.MOVED)


def _pull(kit: DeskKit, run: Run) -> Run:
    """The pull request with the new evidence in its body; the run with what it shows by then."""
    commit = run.publication.commit
    with kit.write(run, Phase.PULL) as writer:
        view = writer.pull_at(run.publication.pull, commit)
        if view.head_sha == run.onto and view.state == "open":
            note = f"GitHub still shows {view.head_sha[:12]} as the head of #{view.number}."
            raise Park(Waiting.GITHUB, FOLLOWS, note)
        run = replace(run, publication=_published(run, view))
        ours = report.pull_body(run, facts_of(kit, run))
        title = report.renewed_title(run, view.title)
        body = report.merge_body(without_banner(view.body), ours)
        if title != view.title or not report.alike(body, view.body):
            writer.update_pull(view.number, title, body)
    return run


def _published(run: Run, view: PullView) -> Publication:
    overtaken = "" if view.head_sha == run.publication.commit else view.head_sha
    return replace(
        run.publication, pull_url=view.url, draft=view.draft, overtaken=overtaken
    )  # fmt: skip


def _told(kit: DeskKit, run: Run, labels: tuple[str, ...]) -> Run:
    """Sticky comment and labels, after everything that they speak of was read back."""
    passed = run.verdict is not None and run.verdict.result is Result.PASSED
    with kit.write(run, Phase.STATUS) as writer:
        comment = sticky(kit.hold, writer, run, kit.now())
        label = DONE if passed else INCOMPLETE
        tolerant(kit.hold, lambda: relabel(kit, writer, run, labels, label))
    return replace(run, status_comment=comment or run.status_comment)
