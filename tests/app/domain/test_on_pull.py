"""What a person can do next fits the pull request that a run was begun on, whoever wrote it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import HaltRecord, Reason
from app.domain.on_pull import unlabelled
from app.domain.report import ending, pull_body
from app.domain.state import Kind, State
from tests.app.domain.report_world import facts, failed
from tests.shared_data import REPOSITORY


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("", ""),
        ("Raise `limits`.", "Raise `limits`."),
        ("Label the issue again.", ""),
        ("Set the label `agent:fix` again.", ""),
        ("Mend it, then label the issue again.", "Mend it."),
        ("Mend it; then label the issue again. Nothing ran.", "Mend it. Nothing ran."),
        ("Say in the issue what to do, then label it again.", "Say in your request what to do."),
        ("Say more in the issue and label it again.", "Say more in your request."),
        ("Label the issue again; if it ends so, ask.", "If it ends so, ask."),
        ("Label the issue again tomorrow, or pay.", "Try again tomorrow, or pay."),
        ("It is built; label the issue again afterwards.", "It is built; try again afterwards."),
        ("When it is right, label the issue again.", "When it is right, try again."),
        ("Bring it back, or label the issue for a new start.", "Bring it back."),
        ("Close it and label the issue again.", ""),
        ("Read it; a narrower issue helps.", "Read it; a narrower request helps."),
        ("The log has it; a new label starts a new run.", "The log has it."),
        ("The issues are many.", "The issues are many."),
    ],
)
def test_labels_and_issues_go_and_the_rest_stays(step: str, said: str) -> None:
    assert unlabelled(step) == said


def steps() -> Iterator[str]:
    """The next step of every ending that the code can make, as far as it stands there in words."""
    for folder in ("app", "worker"):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            yield from _of_file(path)


def _of_file(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Halt"
        if named and isinstance(node, ast.Call) and len(node.args) > 2:
            yield from _texts(node.args[2])


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values
        )
    elif isinstance(node, ast.IfExp):
        yield from (*_texts(node.body), *_texts(node.orelse))


def test_every_next_step_of_the_code_fits_a_pull_request() -> None:
    known = list(steps())
    assert len(known) > 40 and any("label" in one for one in known)
    for one in known:
        said = unlabelled(one)
        assert "label" not in said.casefold(), one
        assert " issue " not in f" {said} ".replace(".", " ").replace(",", " "), one
        assert not said.endswith((";", ":")), one


STEP = "Say in the issue which files it may touch, then label it again."


def test_body_and_ending_of_a_revision_speak_of_comments() -> None:
    halt = HaltRecord(Reason.SCOPE, "It wants more.", STEP)
    run = replace(failed(), kind=Kind.REVISE, halt=halt)
    body = pull_body(run, facts())
    assert "Say in your request which files it may touch." in body and STEP not in body
    comment = ending(replace(run, state=State.HALTED))
    assert "which files it may touch. Then say `/agent revise` again here." in comment
    assert "this issue" not in comment and STEP in pull_body(replace(run, kind=Kind.FIX), facts())
