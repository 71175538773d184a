"""The end of a run that goes on with a pull request: told there, and no evidence stays that is
about another head."""

from __future__ import annotations

from dataclasses import replace

from app.domain import report
from app.domain.errors import Missing, Refused
from app.domain.permissions import Phase
from app.domain.report_facts import Facts
from app.domain.report_follow import SILENT, ending_on_pull
from app.domain.run import Run
from app.domain.stale import without_banner
from app.domain.state import Kind, State
from app.domain.two_looks import evidence_of, two_looks
from worker.desk.intents import once
from worker.desk.kit import DeskKit
from worker.desk.notices import ending_marker, sticky, tolerant


def told_on_pull(kit: DeskKit, run: Run) -> Run:
    """The run with its ending told: a comment on the pull request where somebody waits for it, the
    sticky comment of the issue, a body that claims nothing about a head nobody checked."""
    stopped = run.state is State.HALTED and run.halt is not None
    silent = run.halt is not None and run.halt.reason in SILENT
    if stopped and not silent and run.publication.pull:
        _take_back(kit, run)
    asked = run.kind in (Kind.UPDATE, Kind.UNHOLD) or (bool(run.word) and stopped)
    if run.publication.pull and (asked or (stopped and not silent)):
        _comment(kit, run)
    with kit.write(run, Phase.STATUS) as writer:
        comment = sticky(kit.hold, writer, run, kit.now())
    return replace(run, status_comment=comment or run.status_comment)


def _comment(kit: DeskKit, run: Run) -> None:
    before = [one for one in kit.history(run) if one.id != run.id]
    last = evidence_of(before)
    body = ending_on_pull(run, Facts(looks=two_looks(last, run) if last is not None else None))
    marker = ending_marker(run.id)
    with kit.write(run, Phase.STATUS) as writer:

        def say() -> None:
            once(
                kit.hold,
                "ending",
                {"pull": run.publication.pull},
                lambda: {"comment": writer.comment(run.publication.pull, body, marker)},
                lambda: None,  # the writer finds the comment by its marker
            )

        tolerant(kit.hold, say)


def _take_back(kit: DeskKit, run: Run) -> None:
    """Where the present head is not what the evidence is about, title and body say so."""
    last = evidence_of([one for one in kit.history(run) if one.id != run.id])
    try:
        with kit.write(run, Phase.PULL) as writer:
            view = writer.pull_view(run.publication.pull)
            known = last is not None and last.publication.commit == view.head_sha
            same_base = (
                last is not None
                and last.contract is not None
                and last.contract.base_branch == view.base_ref
            )
            if view.state != "open" or (known and same_base):
                return
            title, ours = report.not_checked(run, view.title, view.head_sha)
            writer.update_pull(
                view.number, title, report.merge_body(without_banner(view.body), ours)
            )
    except (Missing, Refused):
        return
