"""The model's tools: a constant list, in which states each may be used, and strict arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.state import State

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_PLANNED = _object(
    {
        "path": _TEXT,
        "action": {"type": "string", "enum": ["edit", "create", "delete"]},
        "why": _TEXT,
        "lines": _NUMBER,
    }
)
_EDIT = _object(
    {"path": _TEXT},
    {
        "sha256": _TEXT,
        "old": _TEXT,
        "new": _TEXT,
        "content": _TEXT,
        "delete": {"type": "boolean"},
    },
)

_THREAD = _object(
    {"thread": _TEXT, "outcome": {"type": "string", "enum": ["done", "declined"]}},
    {"why": _TEXT},
)


@dataclass(frozen=True)
class Tool:
    """One tool: `states` in which it may be used, `schema` a JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]
    states: frozenset[State]


READING = frozenset({State.LOCATE, State.PLAN, State.EDIT})

TOOLS: tuple[Tool, ...] = (
    Tool(
        "list",
        "List files of the working snapshot. `glob` narrows by path (`**` crosses folders), "
        "`offset` pages on.",
        _object({}, {"glob": _TEXT, "offset": _NUMBER}),
        READING,
    ),
    Tool(
        "search",
        "Search the working snapshot line by line. `pattern` is literal text unless `regex` is "
        "true; `glob` narrows by path.",
        _object(
            {"pattern": _TEXT},
            {"regex": {"type": "boolean"}, "glob": _TEXT, "offset": _NUMBER},
        ),
        READING,
    ),
    Tool(
        "read",
        "Read a file of the working snapshot with line numbers. The answer names the file's "
        "SHA-256, which an edit of it must carry.",
        _object({"path": _TEXT}, {"start": _NUMBER, "end": _NUMBER}),
        READING,
    ),
    Tool(
        "ask",
        "Ask the person who requested the change at most five questions, each with the default "
        "that you would assume. Only before a plan is accepted, and only if the answer changes "
        "what you would do.",
        _object({"questions": _list(_object({"question": _TEXT, "default": _TEXT}))}),
        frozenset({State.LOCATE, State.PLAN}),
    ),
    Tool(
        "submit_plan",
        "Submit the plan: every file that will change, tests that must pass, tests to write, "
        "steps with their prerequisites, turns needed. It is enforced from then on.",
        _object(
            {
                "summary": _TEXT,
                "files": _list(_PLANNED),
                "tests_must_pass": _list(_TEXT),
                "tests_to_write": _list(_TEXT),
                "steps": _list(_object({"id": _TEXT, "what": _TEXT, "needs": _list(_TEXT)})),
                "turns": _NUMBER,
            }
        ),
        frozenset({State.PLAN}),
    ),
    Tool(
        "amend_plan",
        "Amend the accepted plan, with the reason that a reviewer will read. Possible twice.",
        _object({"reason": _TEXT, "add": _list(_PLANNED), "remove": _list(_TEXT)}),
        frozenset({State.EDIT}),
    ),
    Tool(
        "edit",
        "Propose one change: all of its edits are accepted together or none is. Each edit names "
        "`path` and either `old` and `new` (exactly one occurrence is replaced), or `content` "
        "(the whole file), or `delete`: true. An edit of an existing file carries the `sha256` "
        "that reading it gave.",
        _object({"edits": _list(_EDIT)}),
        frozenset({State.EDIT}),
    ),
    Tool(
        "try_out",
        "Explore: run a scratch file in a throw-away copy of the base or of the candidate, "
        "without network. `kind` code runs it with the configured interpreter, `kind` test with "
        "the configured test command. It never becomes part of the change.",
        _object(
            {
                "kind": {"type": "string", "enum": ["code", "test"]},
                "text": _TEXT,
                "on": {"type": "string", "enum": ["base", "candidate"]},
            },
            {"name": _TEXT},
        ),
        READING,
    ),
    Tool(
        "run_tests",
        "Run selected tests of a configured check on the candidate: 1 to 40 selectors, 5 to 300 "
        "seconds. A failing suite is a result.",
        _object(
            {"selectors": _list(_TEXT)},
            {"check": _TEXT, "seconds": _NUMBER},
        ),
        frozenset({State.EDIT}),
    ),
    Tool(
        "run_fixer",
        "Run a configured formatter or generator by name over the candidate; what it changes in "
        "files of the plan is taken as one edit. An unknown name lists those that exist.",
        _object({"name": _TEXT}),
        frozenset({State.EDIT}),
    ),
    Tool(
        "read_log",
        "Page through the capped output of the last check, from line `start`.",
        _object({}, {"check": _TEXT, "start": _NUMBER}),
        READING,
    ),
    Tool(
        "finish",
        "Say that this stage is done: looking around is over, or the change is complete. Where "
        "the request has review threads, `threads` says what became of each: done, or declined "
        "with the reason in `why`.",
        _object({"summary": _TEXT}, {"threads": _list(_THREAD)}),
        READING,
    ),
)

BY_NAME: dict[str, Tool] = {tool.name: tool for tool in TOOLS}


def allowed(state: State) -> tuple[str, ...]:
    """The names of the tools that `state` allows, in the list's order."""
    return tuple(tool.name for tool in TOOLS if state in tool.states)


class BadArguments(ValueError):
    """Arguments that do not fit the tool's schema; the text is the answer to the model."""


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raise `BadArguments` naming the first thing that does not fit: missing, unknown, mistyped."""
    _fits(arguments, tool.schema, tool.name)


_KINDS: dict[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list}


def _fits(value: Any, schema: Mapping[str, Any], where: str) -> None:
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, Mapping):
            raise BadArguments(f"{where}: an object is wanted")
        known = schema["properties"]
        for name in schema["required"]:
            if name not in value:
                raise BadArguments(f"{where}: `{name}` is missing")
        for name, part in value.items():
            if name not in known:
                raise BadArguments(f"{where}: `{name}` is unknown; known are {', '.join(known)}")
            _fits(part, known[name], f"{where}.{name}")
        return
    if type(value) is not _KINDS[kind]:  # bool is an int, and not wanted as one
        raise BadArguments(f"{where}: {kind} is wanted, not {type(value).__name__}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _fits(item, schema["items"], f"{where}[{index}]")
    elif "enum" in schema and value not in schema["enum"]:
        raise BadArguments(f"{where}: one of {', '.join(schema['enum'])} is wanted")
