"""Every ending speaks: one new comment with the reason, what was spent and the next step."""

from __future__ import annotations

import pytest

from app.domain.check import Standing
from app.domain.errors import Reason
from app.domain.evidence import Result
from app.domain.recognise import SNIPPET
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FILES, FIX, ISSUE, PYTEST, WRONG, Town

pytestmark = pytest.mark.docker

PLAN = {
    "summary": "Mend add.",
    "files": [{"path": "sums.py", "action": "edit", "why": "the bug", "lines": 2}],
    "tests_must_pass": ["tests/test_sums.py::test_add"],
    "tests_to_write": [],
    "steps": [{"id": "1", "what": "mend it", "needs": []}],
    "turns": 2,
}


def ending(town: Town, name: str, number: int, run: Run) -> str:
    """The one new comment that tells the end, mentioning who asked."""
    found = [
        comment["body"]
        for comment in town.up.hub.comments(name, number)
        if f"patchwarrant:ending:{run.id}" in comment["body"]
    ]
    assert len(found) == 1
    assert "@mona" in found[0]
    assert run.halt is not None
    assert run.halt.reason in found[0]
    return str(found[0])


def configured(lines: str) -> dict[str, str]:
    return {**FILES, ".github/agent.yml": PYTEST + lines}


def plan_for(path: str) -> dict[str, object]:
    file = {"path": path, "action": "create", "why": "wanted", "lines": 3}
    return {**PLAN, "files": [file]}


def test_neither_criteria_nor_reproduction_asks_at_no_model_cost(town: Town) -> None:
    name = town.repository()
    number = town.ask(name, "It is somehow wrong.")
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.NEEDS_INFO
    assert run.spend.calls == 0
    ending(town, name, number, run)
    labels = {label["name"] for label in town.up.hub.issue(name, number)["labels"]}
    assert labels == {"agent:needs-info"}
    assert town.up.model is not None
    assert town.up.model.requests() == []


@pytest.mark.parametrize("role", ["triage", "read", "none"])
def test_who_may_not_write_is_refused(town: Town, role: str) -> None:
    name = town.repository(role=role)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.REFUSED_ROLE
    assert run.spend.calls == 0
    assert town.up.hub.pulls(name) == []
    ending(town, name, number, run)


def test_a_paused_instance_refuses(town: Town) -> None:
    name = town.repository()
    town.up.ledger.pause("the test")
    number = town.ask(name)
    run = town.end(name, number)
    town.up.ledger.resume()
    assert run.halt is not None
    assert run.halt.reason is Reason.REFUSED_PAUSED


def test_an_unknown_configuration_key_is_named(town: Town) -> None:
    name = town.repository(configured("colour: red\n"))
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.CONFIG_ERROR
    assert "colour" in ending(town, name, number, run)


def test_checks_that_cannot_start_end_the_run_before_the_model_is_asked(town: Town) -> None:
    config = "checks: [{name: tests, run: [no-such-program, --all]}]\n"
    name = town.repository({**FILES, ".github/agent.yml": config})
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.CHECKS_UNAVAILABLE
    said = ending(town, name, number, run)
    assert "no-such-program" in said and "None" not in said
    assert town.up.model is not None
    assert town.up.model.requests() == []


def test_without_a_check_the_line_to_add_is_whole(town: Town) -> None:
    name = town.repository({"README.md": "Only words.\n"})
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.NO_CHECKS
    assert f"`{SNIPPET}`" in ending(town, name, number, run)


def test_a_wrong_patch_is_an_honest_incomplete_draft(town: Town) -> None:
    name = town.repository(configured("limits: {repairs: 1}\n"))
    town.patches(name, WRONG)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.state is State.COMPLETE
    assert run.verdict is not None
    assert run.verdict.result is Result.FAILED
    pull = town.up.hub.pulls(name)[0]
    assert pull["draft"] is True
    assert f"Closes #{number}" not in pull["body"]
    assert "tests/test_sums.py::test_nothing" in pull["body"]
    labels = {label["name"] for label in town.up.hub.issue(name, number)["labels"]}
    assert labels == {"agent:incomplete"}
    ending(town, name, number, run)


def test_on_stop_patch_keeps_the_work_in_a_comment(town: Town) -> None:
    name = town.repository(configured("on_stop: patch\nlimits: {repairs: 1}\n"))
    town.patches(name, WRONG)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.state is State.HALTED
    assert town.up.hub.pulls(name) == []
    assert "+    return 4" in ending(town, name, number, run)


def test_on_stop_nothing_says_why_and_shows_no_work(town: Town) -> None:
    name = town.repository(configured("on_stop: nothing\nlimits: {repairs: 1}\n"))
    town.patches(name, WRONG)
    number = town.ask(name)
    run = town.end(name, number)
    assert town.up.hub.pulls(name) == []
    assert "return 4" not in ending(town, name, number, run)


def test_a_plan_for_a_blocked_path_stops_and_prints_the_line(town: Town) -> None:
    name = town.repository()
    model = town.up.model
    assert model is not None
    model.script(
        [
            [
                model.say(("read", {"path": "sums.py"})),
                model.say(("finish", {"summary": "found"})),
                model.say(("submit_plan", plan_for("db/migrations/0001.sql"))),
            ]
        ]
    )
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.BLOCKED_PATH
    text = ending(town, name, number, run)
    assert 'unlock: ["db/migrations/**"]' in text
    assert town.up.hub.pulls(name) == []


def test_a_model_that_refuses_ends_the_run_with_its_words_as_its_own(town: Town) -> None:
    name = town.repository()
    town.patches(name, FIX)
    assert town.up.model is not None
    town.up.model.fault("refusal", times=1)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.MODEL_REFUSED
    ending(town, name, number, run)


def test_the_dollar_limit_stops_before_the_call(town: Town) -> None:
    name = town.repository(configured("limits: {dollars: 0.01}\n"))
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.BUDGET_DOLLARS
    assert run.spend.dollars <= 10_000
    ending(town, name, number, run)


def test_edits_outside_the_plan_end_as_a_scope_violation_with_the_paths(town: Town) -> None:
    name = town.repository()
    model = town.up.model
    assert model is not None
    outside = {"edits": [{"path": "other.py", "content": "x = 1\n"}]}
    model.script(
        [
            [
                model.say(("read", {"path": "sums.py"})),
                model.say(("finish", {"summary": "found"})),
                model.say(("submit_plan", PLAN)),
                model.say(("edit", outside)),
                model.say(("edit", outside)),
                model.say(("edit", outside)),
            ]
        ]
    )
    number = town.ask(name)
    run = town.end(name, number)
    assert run.halt is not None
    assert run.halt.reason is Reason.SCOPE
    assert "other.py" in ending(town, name, number, run)
    assert town.up.hub.pulls(name) == []


def test_questions_wait_for_an_edit_and_a_new_label_and_the_run_goes_on(town: Town) -> None:
    name = town.repository()
    model = town.up.model
    assert model is not None
    question = {"questions": [{"question": "Should text be added too?", "default": "no"}]}
    edit = {"path": "sums.py", "sha256": "{{sha256:sums.py}}", "old": "a - b", "new": "a + b"}
    model.script(
        [
            [
                model.say(("read", {"path": "sums.py"})),
                model.say(("ask", question)),
                model.say(("finish", {"summary": "found"})),
                model.say(("submit_plan", PLAN)),
                model.say(("edit", {"edits": [edit]})),
                model.say(("finish", {"summary": "done"})),
            ]
        ]
    )
    number = town.ask(name)
    hub = town.up.hub

    def asked() -> bool:
        return any("Should text be added too?" in c["body"] for c in hub.comments(name, number))

    town.up.await_true(asked, 120)
    hub.edit_issue(name, number, "mona", body=ISSUE + "\nText need not be added.\n")
    hub.add_label(name, number, "mona", "agent:fix")
    run = town.end(name, number)
    assert run.verdict is not None
    assert run.verdict.result is Result.PASSED
    assert len(hub.pulls(name)) == 1


FORGE = """import os
os.makedirs(".reports", exist_ok=True)
with open(".reports/junit.xml", "w") as out:
    out.write(
        '<testsuite tests="2" failures="0"><testcase classname="tests.test_sums" name="test_add"/>'
        '<testcase classname="tests.test_sums" name="test_nothing"/></testsuite>'
    )
os._exit(0)
"""


@pytest.mark.parametrize("path", ["sums.py", "argparse.py", "pytest/__init__.py"])
def test_a_forged_report_is_never_passed(town: Town, path: str) -> None:
    """In the product code (the sentinels miss in the report), and as a module in another's place
    (without it the tests fail)."""
    name = town.repository(configured("limits: {repairs: 1}\n"))
    town.patches(name, {path: FORGE} if path == "sums.py" else {**WRONG, path: FORGE})
    run = town.end(name, town.ask(name))
    assert run.verdict is not None
    assert run.verdict.result is not Result.PASSED
    assert run.results and run.results[0].standing is Standing.PASSED  # the check itself is fooled
