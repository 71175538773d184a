"""finish: the model says that a stage is done; what that means depends on what there is to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.errors import Halt, Reason
from app.domain.record import Kept
from app.domain.revision import Outcome, OutcomesRefused, outcomes_of
from app.domain.state import Signal, State
from app.domain.text import clean
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.quote import capped

RETURNS = 2  # how often planning may go back to looking around
WORDS_CAP = 4_000


def finish(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """End the stage. Raises `Halt(GROUNDING)` when no plan comes of it, `Halt(NO_CHANGE)` when
    nothing was changed, `Halt(NO_PROGRESS)` when a repair changes nothing."""
    words = capped(clean(arguments["summary"])[0].strip(), WORDS_CAP)
    if bench.state is State.LOCATE:
        return _over(
            Signal.DONE,
            words,
            "Looking around is over. Submit the plan with `submit_plan`: every file that will "
            "change. You can still read, search and ask.",
        )
    if bench.state is State.PLAN:
        return _unplanned(bench, words)
    return _changed(bench, words, arguments)


def _unplanned(bench: Bench, words: str) -> Answer:
    if bench.talk.returns >= RETURNS:
        raise Halt(
            Reason.GROUNDING,
            "The model did not find what to change: it looked around again and made no plan.",
            "Name the files, symbols or an error message in the issue, then label it again.",
            (*bench.last_refusal("submit_plan"), words),
        )
    return _over(
        Signal.MORE,
        words,
        "There is no accepted plan, so you are looking around again. Call `finish` when you know "
        "what to change, then submit the plan.",
    )


def _outcomes(bench: Bench, arguments: Mapping[str, Any]) -> tuple[Outcome, ...]:
    """What the model says of each review thread, journalled before anything follows from it.
    Raises `OutcomesRefused`."""
    revision = bench.contract.revision
    given = outcomes_of(arguments.get("threads", ()), revision.threads if revision else ())
    if given:
        rows = [[one.thread, one.done, one.why] for one in given]
        bench.note(Kept.NOTE, {"conversation": bench.talk.conversation, "outcomes": rows})
    return given


def _changed(bench: Bench, words: str, arguments: Mapping[str, Any]) -> Answer:
    try:
        outcomes = _outcomes(bench, arguments)
    except OutcomesRefused as wrong:
        return refused(f"Not finished: {wrong}")
    missing = _missing(bench, outcomes)
    if missing and "threads" not in bench.talk.hinted:
        return Answer(
            f"Not finished yet: say in `threads` what became of {missing}, done or declined with "
            "the reason. Then call `finish` again.",
            error=True,
            effect={"hint": "threads"},
        )
    candidate = bench.candidate
    if candidate is None or candidate.tree == bench.base:
        raise Halt(
            Reason.NO_CHANGE,
            "The model finished without a change.",
            "Read its words below; if they do not convince, say more in the issue and label it "
            "again.",
            (words,),
        )
    if bench.run.attempts and bench.run.attempts[-1].tree == candidate.tree:
        return _unrepaired(bench, words)
    return _over(Signal.DONE, words, "The change is complete; the required checks run now.")


def _missing(bench: Bench, given: Sequence[Outcome]) -> str:
    """Threads that no outcome was given for, in this call or an earlier one."""
    revision = bench.contract.revision
    known = {one.thread for one in (*bench.tally.outcomes, *given)}
    threads = revision.threads if revision is not None else ()
    return ", ".join(one.id for one in threads if one.id not in known)


def _unrepaired(bench: Bench, words: str) -> Answer:
    if bench.talk.idle:
        raise Halt(
            Reason.NO_PROGRESS,
            "The checks failed and the model finished the repair without changing anything.",
            "Read its words below; the change so far is kept as far as it goes.",
            (words,),
        )
    text = (
        "Nothing has changed since the required checks failed, so they would fail again. Change "
        "something, or call `finish` once more to give up with the reason."
    )
    return Answer(text, error=True, effect={"idle": True})


def _over(signal: Signal, words: str, text: str) -> Answer:
    return Answer(text, effect={"end": {"signal": signal.value, "words": words}})


def too_late() -> Answer:
    """For a call that comes after the end of its stage in the same reply."""
    return refused("Not run: the stage ended with an earlier call of the same reply.")
