"""Explain: every ending tells its issue or pull request why, what was spent, what can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from app.domain import report, told
from app.domain.errors import Missing, Reason, Refused
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.ports.writer import GitHubWriter
from app.domain.record import Kept
from app.domain.repo_config import OnStop
from app.domain.revision import Thread
from app.domain.run import Run
from app.domain.state import ENDS, FOLLOWING, Kind, State
from worker.desk.after import told_on_pull
from worker.desk.evidence import facts_of
from worker.desk.faults import guarded
from worker.desk.intents import once
from worker.desk.kit import FIX_LABEL, DeskKit, label_of
from worker.desk.notices import ending_marker, refusal_marker, relabel, sticky, tolerant

# Endings whose work must not be shown to anybody, whatever `on_stop` says.
NEVER_SHOWN = frozenset({Reason.SECRET_FOUND, Reason.INTEGRITY})
PATCH_CAP = 200_000  # bytes of a patch that are handed to the page's template


def explain(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage after every ending; the run comes back `explained`.

    A passed draft has said all in its body, sticky comment and label; evidence about somebody
    else's pull request says all in its sticky comment. Every other ending gets one new comment.
    Where nobody can be told (locked, deleted) the journal says so. Raises `Park` while GitHub is
    away, `Halt(INSTALLATION)` where the App may not speak any more.
    """

    def stage(run: Run) -> Run:
        if run.state not in ENDS:
            raise ValueError(f"run {run.id} is in {run.state}, which is no ending")
        run = replace(run, wait=None)  # it may have waited to say this; that is no news
        if run.kind is Kind.EXPLAIN:
            with kit.write(run, Phase.STATUS) as writer:
                _say(kit, run, writer)
        elif run.kind is Kind.VERIFY:  # somebody else's pull request: the one comment, no label
            with kit.write(run, Phase.STATUS) as writer:
                comment = sticky(kit.hold, writer, run, kit.now())
            run = replace(run, status_comment=comment or run.status_comment)
        elif run.kind is Kind.REVISE:
            run = _revision(kit, run)
        elif run.kind in FOLLOWING:
            run = told_on_pull(kit, run)
        elif _turned_away(run):
            _refuse(kit, run)
        elif not _told_by_its_draft(run):
            labels = _labels(kit, run)
            with kit.write(run, Phase.STATUS) as writer:
                _say(kit, run, writer)
                tolerant(kit.hold, lambda: relabel(kit, writer, run, labels, label_of(run)))
                comment = sticky(kit.hold, writer, run, kit.now())
            run = replace(run, status_comment=comment or run.status_comment)
        return replace(run, explained=True)

    return guarded(stage)


def _revision(kit: DeskKit, run: Run) -> Run:
    """One new comment on the pull request, one reply in each review thread; the comments that were
    taken up wait no longer."""
    revision = run.contract.revision if run.contract else None
    facts = facts_of(kit, run)
    with kit.write(run, Phase.STATUS) as writer:
        _say(kit, run, writer)
        comment = sticky(kit.hold, writer, run, kit.now())
    threads = [one for one in (revision.threads if revision else ()) if one.comment]
    if threads:
        with kit.write(run, Phase.PULL) as writer:
            for thread in threads:
                words = report.reply(run, thread, facts.lines.get(thread.id, ""))
                tolerant(kit.hold, partial(_reply, kit, run, writer, thread, words))
    kit.taken(run.change, (run.event, *(revision.events if revision else ())))
    return replace(run, status_comment=comment or run.status_comment)


def _reply(kit: DeskKit, run: Run, writer: GitHubWriter, thread: Thread, words: str) -> None:
    marker, pull = report.thread_marker(run.id, thread.id), run.publication.pull
    once(
        kit.hold,
        f"thread:{thread.id}",
        {"on": thread.comment},
        lambda: {"comment": writer.reply(pull, thread.comment, words, marker)},
        lambda: None,  # the writer itself looks for the marker first
    )


def _turned_away(run: Run) -> bool:
    """Whether it ended at the door: its person may start nothing here."""
    refused = run.halt is not None and run.halt.reason is Reason.REFUSED_ROLE
    return refused and run.contract is None and not run.status_comment


def _refuse(kit: DeskKit, run: Run) -> None:
    """One answer for each person and issue, and the trigger's label comes off. Whoever may start
    nothing shows nothing else on the issue, and uses up nobody else's runs of the hour."""
    kit.uncount(run)
    labels = _labels(kit, run)
    marker = refusal_marker(run.issue, run.requester.id)
    body = f"{marker}\n{report.ending(run)}"
    with kit.write(run, Phase.STATUS) as writer:
        tolerant(
            kit.hold,
            lambda: once(
                kit.hold,
                "ending",
                {"on": run.issue},
                lambda: {"comment": writer.comment(run.issue, body, marker, keep=True)},
                lambda: None,  # the writer itself looks for the marker first
            ),
        )
        tolerant(kit.hold, lambda: relabel(kit, writer, run, _trigger(labels), ""))


def _trigger(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Of an issue's labels the one that asked: another run's labels are not this one's."""
    return tuple(one for one in labels if one.casefold() == FIX_LABEL)


def _told_by_its_draft(run: Run) -> bool:
    passed = run.verdict is not None and run.verdict.result is Result.PASSED
    return run.state is State.COMPLETE and passed and run.publication.pull > 0


def _labels(kit: DeskKit, run: Run) -> tuple[str, ...]:
    """The issue's labels now; () where it cannot be read any more."""
    try:
        with kit.read(run) as reader:
            return reader.issue(run.issue).labels
    except Refused:
        return ()


def _say(kit: DeskKit, run: Run, writer: GitHubWriter) -> None:
    """One new comment on the issue; where that is refused, on the pull request if there is one."""
    if run.kind is Kind.EXPLAIN and run.state is State.COMPLETE:
        body = told.explained(run)
    elif run.kind is Kind.REVISE and run.state is State.COMPLETE:
        body = report.revised(run, facts_of(kit, run))
    else:
        body = report.ending(run, _patch(kit, run))
    marker = ending_marker(run.id)

    def on(number: int) -> bool:
        return tolerant(
            kit.hold,
            lambda: once(
                kit.hold,
                "ending",
                {"on": number},
                lambda: {"comment": writer.comment(number, body, marker)},
                lambda: None,  # the writer itself looks for the marker first
            ),
        )

    if not on(run.place) and run.publication.pull:
        on(run.publication.pull)


def _patch(kit: DeskKit, run: Run) -> str:
    """The partial work as a diff, as the runner noted it, where no pull request shows it."""
    unwanted = run.contract is not None and run.contract.config.on_stop is OnStop.NOTHING
    opened = run.publication.pull if run.kind is not Kind.REVISE else 0
    pushed = run.publication.commit if run.kind is Kind.REVISE else ""
    if opened or pushed or unwanted or (run.halt and run.halt.reason in NEVER_SHOWN):
        return ""
    for entry in reversed(kit.hold.entries()):
        digest = entry.data.get("patch") if entry.kind is Kept.NOTE else None
        if isinstance(digest, str):
            try:
                return kit.hold.get(digest)[:PATCH_CAP].decode("utf-8", "replace")
            except Missing:
                return ""
    return ""
