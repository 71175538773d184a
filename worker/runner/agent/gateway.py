"""The one door for tool calls: what the state does not allow, or no schema fits, is not run.

A refusal is an answer that says what is possible instead. Ends of the run are raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from app.domain.errors import Halt, Reason
from app.domain.tool import BY_NAME, BadArguments, allowed, check_arguments
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.codec import key_of
from worker.runner.agent.quote import named
from worker.runner.agent.talk import Call
from worker.runner.agent.tools import editing, ending, fixing, planning, reading, running

REPEATS = 3  # of one failing call, before it is refused for good

_TOOLS: dict[str, Callable[[Bench, Mapping[str, Any]], Answer]] = {
    "list": reading.list_files,
    "search": reading.search,
    "read": reading.read,
    "read_log": reading.read_log,
    "ask": planning.ask,
    "submit_plan": planning.submit_plan,
    "amend_plan": planning.amend_plan,
    "edit": editing.edit,
    "try_out": running.try_out,
    "run_tests": running.run_tests,
    "run_fixer": fixing.run_fixer,
    "finish": ending.finish,
}


def answer(bench: Bench, call: Call) -> Answer:
    """What the model gets for one call. Raises `Halt`, `Park` and faults of adapters."""
    if bench.talk.closing:
        return ending.too_late()
    fault = _fault(bench, call)
    if fault is not None and fault.bad:
        return fault
    failed = bench.talk.failures.get(key_of(call.name, call.input), 0)
    if failed >= REPEATS:
        raise Halt(
            Reason.NO_PROGRESS,
            f"The model repeated a call of {call.name} that had failed {failed} times.",
            "Say in the issue what it was missing, then label it again.",
            bench.last_refusal(call.name),
        )
    made = fault or _TOOLS[call.name](bench, call.input)
    if made.error and failed == REPEATS - 1:
        advice = "This very call has failed three times; once more ends the run. Try another way."
        made = replace(made, text=f"{made.text}\n{advice}")
    return made


def _fault(bench: Bench, call: Call) -> Answer | None:
    """Why the call is not run: no such tool, not now, or arguments that do not fit."""
    here = ", ".join(allowed(bench.state))
    tool = BY_NAME.get(call.name)
    if tool is None:
        name = named(str(call.name)[:60])
        return Answer(f"There is no tool {name}. In this state there are: {here}.", True, True)
    if bench.state not in tool.states:
        return refused(f"{tool.name} is not possible in {bench.state}. Possible are: {here}.")
    try:
        check_arguments(tool, call.input)
    except BadArguments as wrong:
        keys = ", ".join(tool.schema["properties"])
        return Answer(f"Not run: {wrong}. {tool.name} takes: {keys}.", True, True)
    return None
