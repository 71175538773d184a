"""Signs for people on an issue: labels, the sticky comment. A refusal of them ends no run (P38)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.domain import report
from app.domain.errors import Refused, Unavailable, Uncertain
from app.domain.ports.hold import Hold
from app.domain.ports.writer import GitHubWriter
from app.domain.record import Kept
from app.domain.run import Run
from worker.desk.intents import done
from worker.desk.kit import FIX_LABEL, OURS, RUNNING, DeskKit

STICKY = "status"  # intent: the sticky comment
# Intent: we take `agent:running` off ourselves. GitHub tells us of that as of anybody's act, and
# whoever handles it must not take it for a person's wish to end the run.
UNMARKED = "unmarked"


def status_marker(change: str) -> str:
    """How a Change's one sticky comment is found again."""
    return f"<!-- patchwarrant:status:{change} -->"


def ending_marker(run: str) -> str:
    """How a run's one comment about its ending is found again."""
    return f"<!-- patchwarrant:ending:{run} -->"


def refusal_marker(issue: int, person: int) -> str:
    """How the one refusal that a person got about an issue is found again."""
    return f"<!-- patchwarrant:said:refused:{issue}:{person} -->"


def tolerant(hold: Hold, act: Callable[[], object]) -> bool:
    """Do `act`; False, and a note in the journal, where GitHub refuses it (locked, deleted)."""
    try:
        act()
    except Refused as refusal:
        hold.note(Kept.NOTE, {"untold": str(refusal)})
        return False
    return True


def courteous(hold: Hold, act: Callable[[], object]) -> None:
    """Do `act` as `tolerant` does, and do without it too where GitHub is away or its answer was
    lost: for a sign that may be missing, and never come twice, and holds no run up."""
    try:
        tolerant(hold, act)
    except (Unavailable, Uncertain) as lost:
        hold.note(Kept.NOTE, {"untold": str(lost)})


def sticky(hold: Hold, writer: GitHubWriter, run: Run, now_ms: int) -> int:
    """Show the run's state in its Change's sticky comment; the comment's id, 0 where that is
    refused. The id is kept before the run is, so that a crash leads to no second comment."""
    kept = (done(hold, STICKY) or {}).get("comment", 0)
    known = run.status_comment or int(kept)
    body = report.status(run, max(0, now_ms - run.created), "")
    found: list[int] = []

    def show() -> None:
        found.append(writer.comment(run.place, body, status_marker(run.change), known))

    if not tolerant(hold, show):
        return 0
    if found[0] != kept:
        hold.fulfil(STICKY, {"comment": found[0]})
    return found[0]


def relabel(
    kit: DeskKit, writer: GitHubWriter, run: Run, present: Sequence[str], label: str
) -> None:
    """Put `label` ("" for none) on the run's issue and take the trigger's and our other labels off.

    The trigger's label stays where another event has put it on again: that one's run needs it.
    """
    issue = run.issue
    shown = {name.casefold(): name for name in present}
    if label and label.casefold() not in shown:
        writer.add_labels(issue, [label])
    for other in (FIX_LABEL, *OURS):
        if other != label and other.casefold() in shown:
            if other == FIX_LABEL:
                if label != RUNNING and kit.newer_trigger(run):
                    continue
                kit.taking_off(run.repository.id, issue)
            elif other == RUNNING:
                kit.hold.intend(UNMARKED, {"label": label})
            writer.remove_label(issue, shown[other.casefold()])
