"""Aside: the least that can be said about a run whose ending took its worker down each time.

Nothing here reads the journal or renders a report, since that may be what kills: a short sticky
comment, the ending's label, and the label of a run at work taken off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.errors import Refused
from app.domain.permissions import Phase
from app.domain.report_aside import set_aside
from app.domain.run import Run
from app.domain.state import Kind
from worker.desk.faults import guarded
from worker.desk.kit import RUNNING, DeskKit, label_of
from worker.desk.notices import status_marker


def aside(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Raises `Park` while GitHub is away; what it refuses stays unsaid."""

    def stage(run: Run) -> Run:
        body = set_aside(run, status_marker(run.change))
        with kit.write(run, Phase.STATUS) as writer:
            try:
                number = writer.comment(
                    run.place, body, status_marker(run.change), run.status_comment
                )
                run = replace(run, status_comment=number)
                if run.kind is Kind.FIX:
                    writer.add_labels(run.issue, [label_of(run)])
                    writer.remove_label(run.issue, RUNNING)
            except Refused:
                return run
        return run

    return guarded(stage)
