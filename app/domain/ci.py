"""Whether the repository's own workflows may run on what is pushed, before anybody looked at it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.workflows import Judgement, Reason

SHOWN = 12  # reasons that are kept


class CiMode(StrEnum):
    """What a repository wants: judged workflow by workflow, always held back, or never."""

    AUTO = "auto"
    HOLD = "hold"
    RUN = "run"


@dataclass(frozen=True)
class Ci:
    """What was decided for one pushed head.

    `started` are the workflows that it starts, or would start were it not `held`; `why` says what
    they could do, a sentence each; `beyond` are those that no commit trailer holds back.
    """

    held: bool = False
    started: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


def decide(mode: CiMode, judgement: Judgement) -> Ci:
    """Held back where the repository wants that, or where a workflow would hand out a right."""
    holdable = [reason for reason in judgement.reasons if reason.holdable]
    held = mode is CiMode.HOLD or (mode is CiMode.AUTO and bool(holdable))
    return Ci(
        held=held,
        started=judgement.started,
        why=tuple(dict.fromkeys(map(_said, holdable)))[:SHOWN],
        beyond=tuple(dict.fromkeys(_said(one) for one in judgement.reasons if not one.holdable))[
            :SHOWN
        ],
    )


def _said(reason: Reason) -> str:
    job = f", job {reason.job[:60]}" if reason.job else ""
    return f"{reason.workflow[:200]}{job}: {reason.words}"
