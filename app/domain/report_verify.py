"""The one comment on somebody else's pull request: how far the evidence is, and what it shows."""

from __future__ import annotations

from app.domain.errors import HaltRecord
from app.domain.evidence import Result
from app.domain.markdown import bullets, code, inline
from app.domain.on_pull import unlabelled
from app.domain.report_facts import FIRST_IDS, FIRST_ROWS, LADDER
from app.domain.report_findings import (
    finding_lines,
    first_looks,
    not_run,
    passed_words,
    whole_above,
)
from app.domain.report_parts import RESULTS, check_table, compared, short
from app.domain.report_results import base_tests
from app.domain.run import Run
from app.domain.state import ENDS, State

SIZES = LADDER[2]
_STEPS = (
    (State.ADMIT, "admitted: who asks, the head, where it parted from its base"),
    (State.PREPARE, "prepared: base and head fetched, baseline of the base's checks"),
    (State.VERIFY, "verified: the base's checks on the head"),
    (State.GATE, "judged: the base's tests, the referee, sentinels, red to green"),
    (State.PUBLISH, "published: signed evidence as a check run on the head"),
)
AGAIN = "`/agent verify` looks again, at the head as it is then."


def status_of_look(run: Run, minutes: str) -> str:
    """Headline, then progress or the outcome; `minutes` is how long it took so far."""
    parts = [f"**{_headline(run)}** · {minutes}"]
    if run.publication.overtaken:
        parts.append(
            f"⚠️ **Stale:** the head is {short(run.publication.overtaken)} now. What stands below "
            f"is about {short(_head(run))} alone. {AGAIN}"
        )
    if run.wait is not None:
        parts.append(f"⏸️ {code(run.wait.waiting)}: {inline(run.wait.note, 300)}")
    if run.state is State.COMPLETE:
        parts += _outcome(run)
    elif run.state is State.HALTED:
        parts += _stopped(run.halt)
    else:
        parts.append("\n".join(_step(run, at, words) for at, (_, words) in enumerate(_STEPS)))
    asked = f"asked for by {code(run.requester.login)}"
    parts.append(f"No model took part; nothing was pushed. Run {code(run.id)}, {asked}.")
    return "\n\n".join(parts)


def _head(run: Run) -> str:
    return run.contract.head if run.contract else ""


def _headline(run: Run) -> str:
    about = f" of {short(_head(run))}" if _head(run) else ""
    if run.state is State.COMPLETE and run.verdict is not None:
        return f"Evidence{about}: {run.verdict.result}"
    if run.state in ENDS:
        return f"No evidence{about}"
    waits = "waiting" if run.wait else "at work"
    return f"Looking for evidence{about}: {waits} ({run.state})"


def _step(run: Run, at: int, words: str) -> str:
    order = [state for state, _ in _STEPS]
    now = order.index(run.state) if run.state in order else len(order)
    sign = "[ ] ▶️" if at == now else "[x]" if at < now else "[ ]"
    return f"- {sign} {words}"


def _outcome(run: Run) -> list[str]:
    verdict, contract = run.verdict, run.contract
    if verdict is None or contract is None:
        return ["❓ No verdict was recorded."]
    told = tuple(one for one in verdict.findings if not whole_above(one))
    shown = finding_lines(told, SIZES)
    idle = [inline(one, SIZES.line) for one in not_run(verdict.findings)]
    said = (
        passed_words(len(finding_lines(verdict.findings, SIZES)))
        if verdict.result is Result.PASSED
        else f"The wall: {inline(verdict.wall, SIZES.line)}"
    )
    parts = [f"{RESULTS[verdict.result]} {said}"]
    looks = first_looks(verdict.findings, SIZES)
    if looks:
        parts.append("  \n".join(looks))
    parts.append(check_table(run, SIZES, FIRST_ROWS))
    failing = base_tests(run, SIZES)
    if failing:
        parts.append(failing)
    differs = compared(run, SIZES)
    if differs:
        parts.append("  \n".join(differs))
    if shown:
        parts.append(f"Look at\n\n{bullets(shown, FIRST_IDS * 2)}")
    if idle:
        parts.append(f"Beside the checks\n\n{bullets(idle, FIRST_IDS * 2)}")
    parts.append(
        f"Tree {code(verdict.tree)}, commit {code(contract.head)}, compared with "
        f"{short(contract.base_commit)} of {code(contract.base_branch)}, where they parted. All of "
        "it, signed, is in the check run `patchwarrant/evidence` of that commit."
    )
    return parts


def _stopped(halt: HaltRecord | None) -> list[str]:
    if halt is None:
        return [f"It stopped without a reason that was recorded. {AGAIN}"]
    parts = [f"Stopped: {code(halt.reason)}. {inline(halt.message, 1_500)}"]
    if halt.details:
        parts.append(bullets([inline(one, 300) for one in halt.details], 12))
    parts.append(f"{_next(halt.next_step)}{AGAIN}")
    return parts


def _next(step: str) -> str:
    kept = unlabelled(step)
    return f"{inline(kept, 1_500)} " if kept else ""
