"""ask, submit_plan, amend_plan: what is settled before an edit, and how it may still change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain import plan as planning
from app.domain.budget import Limits
from app.domain.errors import Park, Waiting
from app.domain.plan import PlanRefused
from app.domain.record import Kept
from app.domain.text import clean
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.codec import plan_json
from worker.runner.agent.quote import capped

QUESTIONS = 5
QUESTION_CAP = 500  # characters
ANSWER_CAP = 8_000


def ask(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Put questions to the person who asked for the change, and wait without a worker (A31).

    Raises `Park` until an answer is in the journal; when none came in time the proposed defaults
    are the answer.
    """
    asked = bench.talk.asked
    if asked is None or asked["use"] != bench.talk.use:
        return _put(bench, arguments["questions"])
    if bench.talk.answer is not None:
        words = capped(clean(bench.talk.answer)[0], ANSWER_CAP)
        return Answer(f"The person answers:\n{bench.framed('answer', words)}")
    left = (asked["until"] - bench.kit.clock()) / 1000
    if left > 0:
        raise Park(Waiting.ANSWER, left, _note(len(asked["questions"])))
    lines = [f"{q['question']} -> {q['default']}" for q in asked["questions"]]
    return Answer(
        "Nobody answered in time, so what you would assume holds:\n"
        + bench.framed("defaults", "\n".join(lines))
    )


def _put(bench: Bench, questions: list[dict[str, str]]) -> Answer:
    left = QUESTIONS - bench.tally.questions
    if not questions or len(questions) > left:
        return refused(
            f"ask: {left} of {QUESTIONS} questions are left for this run, and at least one is to "
            "be asked. Assume what is most likely and say so in the plan."
        )
    said = [
        {key: capped(clean(question[key])[0].strip(), QUESTION_CAP) for key in question}
        for question in questions
    ]
    if not all(question["question"] and question["default"] for question in said):
        return refused("ask: each question needs words, and the default that you would assume.")
    seconds = bench.kit.answer_seconds
    bench.note(
        Kept.NOTE,
        {
            "conversation": bench.talk.conversation,
            "use": bench.talk.use,
            "questions": said,
            "until": bench.kit.clock() + seconds * 1000,
        },
    )
    raise Park(Waiting.ANSWER, seconds, _note(len(said)))


def _note(questions: int) -> str:
    return f"{questions} question{'s' if questions > 1 else ''} to the person who asked"


def submit_plan(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Validate the plan against the base tree; accepted, it is enforced and the stage is over.

    A planned path that is blocked ends the run (`Halt(BLOCKED_PATH)`)."""
    try:
        plan = planning.parse(arguments)
        limits = bench.contract.held_to(len(plan.files))
        problems = planning.validate(plan, bench.views.files(bench.base), bench.rules, limits)
    except PlanRefused as wrong:
        return refused(f"The plan is not accepted: {wrong}")
    if problems:
        return refused("The plan is not accepted:\n" + "\n".join(f"- {p}" for p in problems))
    files = ", ".join(f"{f.path} ({f.action})" for f in plan.files)
    return Answer(
        f"The plan is accepted and holds from now on: {files}. Make the change with `edit`, check "
        "it with `run_tests`, and call `finish` when it is complete." + _larger(bench, limits),
        effect={"plan": plan_json(plan), "end": {"signal": "done", "words": plan.summary}},
    )


def _larger(bench: Bench, limits: Limits) -> str:
    """What the model is told where its plan made the run one of class large."""
    if limits is bench.contract.limits:
        return ""
    return (
        f" This makes it a large run: once a person has approved the plan it has {limits.turns} "
        f"accepted edits, {limits.calls} model calls, {limits.repairs} repairs, "
        f"${limits.dollars / 1e6:.2f} and {limits.wall} s in all."
    )


def amend_plan(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Change the accepted plan inside the contract, at most twice (B6)."""
    if bench.plan is None:
        return refused("amend_plan: there is no accepted plan.")
    try:
        plan = planning.amend(
            bench.plan, arguments, bench.views.files(bench.base), bench.rules, bench.limits
        )
    except PlanRefused as wrong:
        return refused(f"The amendment is not accepted: {wrong}")
    files = ", ".join(f"{f.path} ({f.action})" for f in plan.files)
    return Answer(
        f"The plan is amended ({len(plan.amendments)} of 2). It names now: {files}.",
        effect={"plan": plan_json(plan)},
    )
