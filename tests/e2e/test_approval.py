"""Approval, end to end: who approves exactly what was checked, and what takes it back."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.domain import record
from app.domain.approval import CHECK
from app.domain.errors import Reason, Waiting
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.e2e.conftest import FIX, Town
from tests.e2e.test_commands import at_work, quiet, said
from tests.e2e.test_endings import configured
from tests.pace import in_time
from tests.shared_data import REPOSITORY
from tests.standins.github.client import StandinRefused
from worker.desk.approval import AGAIN_MS

SECONDS = 120  # a machine that others use as well shows it later


def shown(town: Town, name: str, head: str) -> list[tuple[str, str]]:
    """(conclusion, title) of every check run of approval on a commit."""
    return [
        (one["conclusion"], one["output"]["title"])
        for one in town.up.hub.check_runs(name, head)
        if one["name"] == CHECK
    ]


def becomes(town: Town, name: str, head: str, conclusion: str, title: str) -> None:
    """Soon there is one check run on the head, and it says that."""
    wanted = [(conclusion, title)]
    try:
        town.up.await_true(lambda: shown(town, name, head) == wanted, SECONDS)
    except TimeoutError:
        log = town.up.log("desk")[-3000:]
        raise AssertionError(f"{shown(town, name, head)} instead of {wanted}\n{log}") from None


def published(town: Town, config: str = "") -> tuple[str, Run]:
    """A repository where mona asked for a fix, with carol and dave as writers; its finished run."""
    name = town.repository(configured(config) if config else None)
    for login in ("carol", "dave"):
        town.up.hub.set_role(name, login, "write")
    town.up.hub.set_role(name, "eve", "read")
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.verdict is not None and run.verdict.result is Result.PASSED
    return name, run


WAITS = ("action_required", "Waits for an approval")


def test_a_second_person_approves_and_what_follows_takes_it_back(town: Town) -> None:
    name, run = published(town)
    hub, pull, head = town.up.hub, run.publication.pull, run.publication.commit
    becomes(town, name, head, *WAITS)
    hub.review(name, pull, "mona", "APPROVE")
    becomes(town, name, head, "action_required", "Approved by somebody who took part")
    hub.review(name, pull, "eve", "APPROVE")
    becomes(town, name, head, "action_required", "Approved by somebody without the role")
    review = hub.review(name, pull, "carol", "APPROVE")
    becomes(town, name, head, "success", "Approved by carol")
    hub.dismiss_review(name, pull, "dave", review)
    becomes(town, name, head, "action_required", "Approved by somebody without the role")
    hub.review(name, pull, "carol", "APPROVE")
    becomes(town, name, head, "success", "Approved by carol")
    hub.review(name, pull, "dave", "REQUEST_CHANGES", "Not yet")
    becomes(town, name, head, "action_required", "Changes were asked for")
    hub.review(name, pull, "dave", "APPROVE")
    becomes(town, name, head, "success", "Approved by carol, dave")
    pushed = hub.push(name, "dave", run.publication.branch, {"more.py": "m = 1\n"}, "Mine")
    becomes(town, name, head, "action_required", "Another head came")
    town.up.await_true(lambda: bool(shown(town, name, pushed)), SECONDS)
    assert shown(town, name, pushed)[0][0] == "action_required"


def test_a_persons_push_is_checked_again_and_approved_by_somebody_else(town: Town) -> None:
    name, run = published(town)
    hub, pull = town.up.hub, run.publication.pull
    hub.review(name, pull, "carol", "APPROVE")
    becomes(town, name, run.publication.commit, "success", "Approved by carol")
    branch = run.publication.branch
    pushed = hub.push(name, "dave", branch, {"more.py": "m = 1\n"}, "Mine")
    again = town.up.await_run(
        lambda one: one.change == run.change and one.kind is Kind.RECHECK and one.explained, 240
    )
    assert again.publication.commit == pushed
    becomes(town, name, pushed, "action_required", "Approved for an earlier commit")
    hub.review(name, pull, "dave", "APPROVE")
    becomes(town, name, pushed, "action_required", "Approved by somebody who took part")
    hub.review(name, pull, "carol", "APPROVE")
    becomes(town, name, pushed, "success", "Approved by carol")


def test_a_base_that_moves_counts_where_the_change_touches_it(town: Town) -> None:
    name, run = published(town)
    hub, pull, head = town.up.hub, run.publication.pull, run.publication.commit
    hub.review(name, pull, "carol", "APPROVE")
    becomes(town, name, head, "success", "Approved by carol")
    hub.push(name, "dave", "main", {"other.py": "o = 1\n"}, "Elsewhere")
    looked(town, run)
    assert shown(town, name, head) == [("success", "Approved by carol")]
    hub.push(name, "dave", "main", {"sums.py": "def add(a, b):\n    return 0\n"}, "There")
    becomes(town, name, head, "action_required", "The base moved on in its files")


@pytest.mark.parametrize(
    ("mode", "title", "conclusion"),
    [
        ("solo", "Approved by mona (solo)", "success"),
        ("strict", "Approved by somebody who took part", "action_required"),
    ],
)
def test_the_mode_of_the_repository_holds(
    town: Town, mode: str, title: str, conclusion: str
) -> None:
    name, run = published(town, f"approval: {mode}\n")
    town.up.hub.review(name, run.publication.pull, "mona", "APPROVE")
    becomes(town, name, run.publication.commit, conclusion, title)


def test_a_required_check_lets_people_work_and_holds_our_change_back(town: Town) -> None:
    """The ruleset that we hand out, with our App as the expected source."""
    name, run = published(town)
    hub, pull, head = town.up.hub, run.publication.pull, run.publication.commit
    hub.add_ruleset(name, ruleset(town.up.app.app_id))
    hub.push(name, "dave", "topic", {"d.py": "d = 1\n"}, "Mine")
    theirs = hub.open_pull(name, "dave", "topic", "Mine")
    theirs_head = hub.pull(name, theirs)["head"]["sha"]
    becomes(town, name, theirs_head, "success", "Not an agent change")
    hub.merge(name, theirs, "dave")
    hub.set_draft(name, pull, "mona", False)
    becomes(town, name, head, *WAITS)
    with pytest.raises(StandinRefused, match="Required status check"):
        hub.merge(name, pull, "mona")
    looked(town, run)  # a look that came later would see the other pull request already
    hub.move_branch(name, "dave", "mine-now", head)
    bypass = hub.open_pull(name, "dave", "mine-now", "The same")
    quiet(town)
    ((conclusion, _),) = shown(town, name, head)
    assert conclusion == "action_required"
    with pytest.raises(StandinRefused, match="Required status check"):
        hub.merge(name, bypass, "dave")
    hub.review(name, pull, "carol", "APPROVE")
    becomes(town, name, head, "action_required", "Another pull request has this head")
    hub.close_issue(name, bypass, "dave")
    (check,) = [one for one in hub.check_runs(name, head) if one["name"] == CHECK]
    hub.press(name, check["id"], "carol")
    becomes(town, name, head, "success", "Approved by carol")
    hub.merge(name, pull, "carol")
    quiet(town)
    assert shown(town, name, head) == [("success", "Approved by carol")]
    assert not [one for one in hub.log() if one["method"] == "PUT"]


def looked(town: Town, run: Run) -> None:
    """Until every event is handled and no look at the approval is under way or due soon."""
    quiet(town)

    def settled() -> bool:
        at = town.up.ledger.calls.command("ZSCORE", record.APPROVALS, run.change)
        return at is not None and float(at) - town.up.ledger.now() > AGAIN_MS / 2

    town.up.await_true(settled, SECONDS)


def ruleset(app: int) -> dict[str, Any]:
    text = Path(REPOSITORY / "manifests/rulesets/4-default-branch.json").read_text()
    made: dict[str, Any] = json.loads(text.replace('"APP_ID"', str(app)))
    return made


def diff_shown(town: Town, name: str, number: int) -> tuple[str, str]:
    """(the comment that waits for the word, the tree that it names)."""
    text = said(town, name, number, "/agent publish")
    found = re.search(r"exactly the tree `([0-9a-f]{40})`", text)
    assert found is not None
    return text, found[1]


def held(town: Town, name: str, number: int) -> Callable[[], bool]:
    def waits() -> bool:
        run = at_work(town, name, number, State.PUBLISH)
        return run.wait is not None and run.wait.waiting is Waiting.PUBLISH

    return waits


def test_nothing_is_published_before_the_word_of_a_second_person(town: Town) -> None:
    name = town.repository(configured("publish: after-approval\n"))
    hub = town.up.hub
    hub.set_role(name, "carol", "write")
    town.patches(name, FIX)
    number = town.ask(name)
    text, tree = diff_shown(town, name, number)
    assert "+    return a + b" in text and "✅ **Passed.**" in text
    town.up.await_true(held(town, name, number), SECONDS)
    assert hub.pulls(name) == [] and list(hub.refs(name)) == ["refs/heads/main"]
    hub.comment(name, number, "mona", f"/agent publish {tree}")
    said(town, name, number, "cannot let it be published here")
    hub.comment(name, number, "carol", f"/agent publish {'0' * 40}")
    said(town, name, number, "not the tree that waits")
    assert hub.pulls(name) == []
    began = time.monotonic()
    hub.comment(name, number, "carol", f"/agent publish {tree[:16]}")
    run = town.end(name, number)
    assert in_time(time.monotonic() - began, 20)
    assert run.verdict is not None and run.verdict.tree == tree
    (pull,) = hub.pulls(name)
    assert pull["head"]["sha"] == run.publication.commit
    becomes(town, name, run.publication.commit, *WAITS)
    hub.comment(name, number, "carol", f"/agent publish {tree[:16]}")
    assert f"#{pull['number']} is the pull request" in said(town, name, number, "was said already")
    hub.review(name, pull["number"], "carol", "APPROVE")
    becomes(town, name, run.publication.commit, "success", "Approved by carol")


def test_what_waits_to_be_published_can_be_cancelled_and_its_diff_stays(town: Town) -> None:
    name = town.repository(configured("publish: after-approval\n"))
    town.patches(name, FIX)
    number = town.ask(name)
    diff_shown(town, name, number)
    town.up.await_true(held(town, name, number), SECONDS)
    town.up.hub.comment(name, number, "mona", "/agent cancel")
    run = town.end(name, number)
    assert run.halt is not None and run.halt.reason is Reason.CANCELLED
    assert town.up.hub.pulls(name) == []
    assert "+    return a + b" in said(town, name, number, f"patchwarrant:ending:{run.id}")
