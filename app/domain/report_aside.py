"""The sticky comment of a run whose ending could not be reported: short, of plain values alone."""

from __future__ import annotations

from app.domain.markdown import code
from app.domain.run import Run
from app.domain.state import State


def set_aside(run: Run, marker: str) -> str:
    """The comment's whole text, beginning with `marker`."""
    ended = "was complete" if run.state is State.COMPLETE else "stopped"
    why = f" ({code(run.halt.reason)})" if run.halt else ""
    parts = [
        f"{marker}\n**Set aside**: this run {ended}{why}, and its report could not be written: "
        "that ended the worker each time. The operator's log holds the errors; "
        "`patchwarrant status` names the run."
    ]
    if run.publication.pull:
        parts.append(f"Pull request: #{run.publication.pull}")
    parts.append(f"Run {code(run.id)}")
    return "\n\n".join(parts)
