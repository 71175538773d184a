"""What an adapter's fault means for a run at the desk: wait for GitHub, or end with a reason."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from app.domain.errors import (
    Fenced,
    ForbiddenCall,
    Halt,
    IntegrityError,
    Limited,
    Park,
    Reason,
    Refused,
    Unavailable,
    Uncertain,
    Waiting,
)
from app.domain.run import Run

Stage = Callable[[Run], Run]
PAUSE = 30.0  # seconds, where GitHub says nothing
WAITS = 20  # in a row, each longer than the one before: some hours
RULES = "repository rule violations"


def guarded(stage: Stage) -> Stage:
    """The stage with every fault of its adapters turned into `Park` or `Halt`."""

    @wraps(stage)
    def run_it(run: Run) -> Run:
        try:
            return stage(run)
        except Fenced:
            raise
        except Limited as limit:
            raise Park(Waiting.GITHUB, limit.seconds, str(limit), exact=True) from limit
        except Unavailable as away:
            raise _waiting(run, away.retry_after or PAUSE, str(away)) from away
        except Uncertain as lost:
            raise _waiting(run, PAUSE, str(lost)) from lost
        except (IntegrityError, ForbiddenCall) as amiss:
            raise Halt(
                Reason.INTEGRITY,
                f"Nothing more was published, because something did not match: {amiss}",
                "Look at the repository for changes that nobody expected, then label again.",
            ) from amiss
        except Refused as refusal:
            raise refused(refusal) from refusal

    return run_it


def refused(refusal: Refused) -> Halt:
    """The ending of a run that GitHub refused something."""
    if RULES in str(refusal).lower():
        return Halt(
            Reason.NEEDS_OPERATOR,
            f"A rule of this repository refused it: {refusal}",
            "Allow the App in the ruleset that is named, then label the issue again.",
        )
    return Halt(
        Reason.INFRASTRUCTURE,
        f"GitHub refused what was needed: {refusal}",
        "Mend what GitHub names, then label the issue again.",
    )


def _waiting(run: Run, seconds: float, note: str) -> Park | Halt:
    if run.wait is not None and run.wait.waiting is Waiting.GITHUB and run.wait.times >= WAITS:
        return Halt(
            Reason.INFRASTRUCTURE,
            f"GitHub could not be used {run.wait.times} times in a row; this run gave up: {note}",
            "Label the issue again when GitHub works.",
        )
    return Park(Waiting.GITHUB, seconds, note)
