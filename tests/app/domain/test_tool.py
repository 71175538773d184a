"""The tool list: who may use what when, and arguments that fit or are refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.state import State
from app.domain.tool import BY_NAME, TOOLS, BadArguments, allowed, check_arguments

LOOKING = {"list", "search", "read", "read_log", "try_out", "finish"}


def objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Every object schema inside a schema, itself included."""
    if schema["type"] == "array":
        return objects(schema["items"])
    if schema["type"] != "object":
        return []
    return [schema, *(o for part in schema["properties"].values() for o in objects(part))]


def test_names_are_unique_and_every_tool_says_what_it_does() -> None:
    assert len(BY_NAME) == len(TOOLS)
    assert all(len(tool.description) > 40 for tool in TOOLS)


def test_every_schema_is_closed_so_that_it_may_be_strict() -> None:
    for tool in TOOLS:
        for schema in objects(tool.schema):
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) <= set(schema["properties"])


@pytest.mark.parametrize(
    ("state", "more"),
    [
        (State.LOCATE, {"ask"}),
        (State.PLAN, {"ask", "submit_plan"}),
        (State.EDIT, {"edit", "amend_plan", "run_tests", "run_fixer"}),
    ],
)
def test_reading_is_always_possible_and_writing_depends_on_the_state(
    state: State, more: set[str]
) -> None:
    assert set(allowed(state)) == LOOKING | more


@pytest.mark.parametrize(
    "state", [s for s in State if s not in (State.LOCATE, State.PLAN, State.EDIT)]
)
def test_no_other_state_lets_the_model_do_anything(state: State) -> None:
    assert allowed(state) == ()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list", {}),
        ("read", {"path": "a", "start": 1}),
        ("search", {"pattern": "x", "regex": True}),
        ("ask", {"questions": [{"question": "q", "default": "d"}]}),
        ("edit", {"edits": [{"path": "a", "delete": True}, {"path": "b", "content": ""}]}),
        ("try_out", {"kind": "code", "text": "1", "on": "base"}),
    ],
)
def test_what_fits_is_taken(name: str, arguments: dict[str, Any]) -> None:
    check_arguments(BY_NAME[name], arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("read", {}, "`path` is missing"),
        ("read", {"path": "a", "file": "b"}, "`file` is unknown; known are path, start, end"),
        ("read", {"path": 1}, "read.path: string is wanted, not int"),
        ("read", {"path": "a", "start": True}, "integer is wanted, not bool"),
        ("read", {"path": "a", "start": 1.0}, "integer is wanted, not float"),
        ("read", "[1]", "an object is wanted"),
        ("read", [], "an object is wanted"),
        ("edit", {"edits": {}}, "array is wanted"),
        ("edit", {"edits": ["x"]}, "edit.edits[0]: an object is wanted"),
        ("edit", {"edits": [{"path": "a"}, {}]}, "edit.edits[1]: `path` is missing"),
        ("try_out", {"kind": "sh", "text": "", "on": "base"}, "one of code, test is wanted"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_first_reason(
    name: str, arguments: Any, says: str
) -> None:
    with pytest.raises(BadArguments) as caught:
        check_arguments(BY_NAME[name], arguments)
    assert says in str(caught.value)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=8), part, max_size=3)
    ),
    max_leaves=8,
)


@given(tool=st.sampled_from(TOOLS), arguments=JUNK)
def test_junk_is_refused_and_never_more_than_refused(tool: Any, arguments: Any) -> None:
    try:
        check_arguments(tool, arguments)
    except BadArguments:
        return
    assert isinstance(arguments, dict)
    assert set(tool.schema["required"]) <= set(arguments) <= set(tool.schema["properties"])
