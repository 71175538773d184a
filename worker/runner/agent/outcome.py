"""What a reply's stop reason means: run its tools, say something, call again, or the end (P60).

Success is named; whatever is not in the table is a failure.
"""

from __future__ import annotations

from app.domain.errors import Halt, Reason
from worker.runner.agent.talk import Talk

EMPTY_MOST = 1  # empty replies in a row that are nudged
WORDY_MOST = 2  # replies in a row with words but no tool that are nudged
CUT_MOST = 1  # replies in a row that hit the output limit
PAUSED_MOST = 3
BAD_MOST = 5  # calls in a row that no tool takes end the run
KNOWN = frozenset({"tool_use", "end_turn", "stop_sequence", "max_tokens", "pause_turn"})

_NEXT = "Label the issue again to try once more; if it happens again, tell the operator."

CUT_RESULT = (
    "Not run: the reply hit the output limit, so this call may be incomplete. Send smaller edits, "
    "one file or a few lines at a time."
)
PENDING_RESULT = "Not run: the reply ended before the call was meant to be run. Send it again."
_CUT_NUDGE = "Your reply hit the output limit. Go on in smaller steps, with a tool."
_PAUSE_NUDGE = "Go on."
_EMPTY_NUDGE = "Your reply was empty. Use a tool to go on, or `finish` when this stage is done."
_WORDY_NUDGE = (
    "Words alone change nothing here. Use a tool to go on, or `finish` when this stage is done."
)


def check(talk: Talk) -> None:
    """Raise the `Halt` that the conversation has come to, if it has."""
    if talk.stop == "refusal":
        raise Halt(
            Reason.MODEL_REFUSED,
            "The model declined to work on this request.",
            "Reword the issue if it was misread; the same text is not sent again.",
        )
    if talk.stop and talk.stop not in KNOWN and not talk.overflow:
        raise _failed(f"the reply ended with the unknown stop reason {talk.stop[:40]!r}")
    if talk.cut > CUT_MOST:
        raise _failed("its replies hit the output limit twice in a row")
    if talk.empty > EMPTY_MOST:
        raise _failed("it gave empty replies")
    if talk.wordy > WORDY_MOST:
        raise _failed(f"it used no tool in {talk.wordy} replies in a row")
    if talk.paused > PAUSED_MOST:
        raise _failed(f"it paused {talk.paused} times in a row")
    if talk.bad >= BAD_MOST:
        raise _failed(f"{talk.bad} calls in a row named no tool or did not fit its arguments")


def _failed(why: str) -> Halt:
    return Halt(Reason.MODEL_FAILED, f"The model could not be worked with: {why}.", _NEXT)


def too_long() -> Halt:
    """The conversation does not fit the model, and shortening it did not help."""
    return _failed("the conversation does not fit its context")


def refused_again(said: str) -> Halt:
    """The provider refused a request once more after it was repaired."""
    return _failed(f"the provider refuses the conversation: {said}")


def nudge(talk: Talk) -> str:
    """What is said after a reply that called no tool."""
    if talk.cut:
        return _CUT_NUDGE
    if talk.paused:  # the content goes back as it came; newer models refuse to end on it
        return _PAUSE_NUDGE
    return _EMPTY_NUDGE if talk.empty else _WORDY_NUDGE


def not_run(talk: Talk) -> str:
    """Why the last reply's calls are not run, "" when they are: only `tool_use` runs them."""
    if talk.stop == "tool_use":
        return ""
    return CUT_RESULT if talk.stop == "max_tokens" else PENDING_RESULT
