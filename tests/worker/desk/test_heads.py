"""People's pushes to our own pull request: checked again, named, and nobody is asked for it."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from redis import Redis

from app.domain.check import Standing
from app.domain.errors import Reason
from app.domain.event import Person, Repository
from app.domain.permissions import Phase
from app.domain.state import Kind, State
from tests.fakes.github import BOT, Files
from tests.worker.desk.going_on import ALICE, FIXED, Street, street
from tests.worker.desk.made import FILES
from worker.desk.events import handle_event
from worker.store.caps import Caps
from worker.store.ledger import Ledger

MORE: Files = {**FIXED, "more.py": (0o100644, b"x = 1\n")}
ZED = Person(9, "zed")


@pytest.fixture
def town(redis: Redis) -> Street:
    return street(Ledger(redis))


def checked(town: Street, key: str, files: Files, standing: Standing = Standing.PASSED) -> str:
    """From the told push to the end; the run's id."""
    run_id = town.told(key)
    assert run_id is not None
    assert town.carry(run_id).state is State.PREPARE
    town.judged(run_id, files, standing)
    town.carry(run_id)
    return run_id


def test_a_persons_push_is_checked_again_and_named(town: Street) -> None:
    head = town.push(MORE)
    run_id = checked(town, "a", MORE)
    run = town.ledger.run(run_id)
    assert run is not None and run.state is State.COMPLETE and run.explained
    assert run.kind is Kind.RECHECK and run.change == town.first and run.spend.calls == 0
    assert run.publication.commit == head and town.evidence(head) == ["success"]
    (other,) = run.contract.others if run.contract else ()
    assert (other.sha, other.author.login) == (head, "alice")
    body = town.body()
    assert head in body and "not made by the agent" in body and "`alice`" in body
    assert "Since the evidence before" in body and "more.py" in body
    assert "No model was" not in body and "no model took part" in body
    assert town.hub.branches[town.branch] == head, "no commit of ours"
    assert Phase.GIT not in town.hub.phases
    assert town.comments(7) == [], "nobody asked, so nobody is called"


def test_the_signed_statement_names_the_commits_that_are_not_ours(town: Street) -> None:
    before = town.hub.branches[town.branch]
    head = town.push(MORE)
    run_id = checked(town, "a", MORE)
    record = town.ledger.intent(run_id, "statement") or {}
    envelope = json.loads(town.ledger.artifact(str(record["envelope"])))
    told = json.loads(base64.b64decode(envelope["payload"]))
    assert told["subject"][0]["digest"]["gitCommit"] == head
    seen = told["predicate"]["head"]
    assert seen["others"]["ids"] == [f"{head} alice"] and seen["others"]["count"] == 1
    assert (seen["before"], seen["rewritten"]) == (before, False)
    assert told["predicate"]["run"]["kind"] == "recheck"


def test_our_own_push_starts_nothing(town: Street) -> None:
    assert town.told("own", sender=BOT) is None
    assert len(town.runs()) == 1 and town.ledger.unhandled_events(10) == []


def test_a_bots_push_is_checked_too(town: Street) -> None:
    town.push(MORE, Person(77, "format[bot]", "Bot"))
    run_id = town.told("bot", sender=Person(77, "format[bot]", "Bot"))
    assert run_id is not None and town.carry(run_id).state is State.PREPARE


def test_who_has_no_role_is_not_asked_for_a_push(town: Street) -> None:
    town.push(MORE, ZED)
    run_id = town.told("zed", sender=ZED)
    assert run_id is not None and town.carry(run_id).state is State.PREPARE


def test_several_pushes_are_one_look_at_the_newest(town: Street) -> None:
    town.push(MORE)
    newest = town.push({**MORE, "last.py": (0o100644, b"y = 2\n")})
    run_id = town.told("a")
    assert run_id is not None
    assert town.told("b") is None and town.told("c") is None
    assert town.ledger.unhandled_events(10) == ["nudge:b"], "one waits for all"
    run = town.carry(run_id)
    assert run.contract is not None and run.contract.head == newest
    town.judged(run_id, {**MORE, "last.py": (0o100644, b"y = 2\n")})
    assert town.carry(run_id).state is State.COMPLETE
    assert handle_event("nudge:b", town.front.desk) is None
    assert town.ledger.unhandled_events(10) == [] and len(town.runs()) == 2


def test_a_push_during_a_run_is_looked_at_after_it(town: Street) -> None:
    town.push(MORE)
    first = town.told("a")
    assert first is not None
    town.carry(first)
    later = town.push({**MORE, "late.py": (0o100644, b"z = 3\n")})
    assert town.told("b") is None
    town.judged(first, MORE)
    run = town.carry(first)
    assert run.halt is not None and run.halt.reason is Reason.HEAD_MOVED
    assert town.hub.checks == [], "evidence of an outdated head is dropped"
    second = handle_event("nudge:b", town.front.desk)
    assert second is not None
    assert (town.carry(second).contract or run.contract).head == later  # type: ignore[union-attr]


class Looks:
    """Counts what is looked at for approvals."""

    def __init__(self) -> None:
        self.seen = 0

    def mark(self, _event: object) -> tuple[str, ...]:
        self.seen += 1
        return ("c",)

    def look(self, _marked: object) -> None:
        self.seen += 1

    def others(self, _event: object, _asking: object) -> None:
        self.seen += 1


def test_a_push_that_waits_asks_github_nothing_until_its_turn(town: Street) -> None:
    looks = Looks()
    town.front.desk = replace(town.front.desk, approvals=looks)
    town.push(MORE)
    town.carry(str(town.told("a")))
    town.push({**MORE, "late.py": (0o100644, b"z = 3\n")})
    town.told("b")
    before, phases = looks.seen, len(town.hub.phases)
    for _ in range(20):
        assert handle_event("nudge:b", town.front.desk) is None
    assert looks.seen == before and len(town.hub.phases) == phases
    assert town.ledger.unhandled_events(10) == ["nudge:b"]


def test_a_push_that_nobody_told_of_is_found_by_the_next_live_read(town: Street) -> None:
    town.push(MORE)
    first = town.told("a")
    assert first is not None
    town.carry(first)
    later = town.push({**MORE, "late.py": (0o100644, b"z = 3\n")})
    town.judged(first, MORE)
    town.carry(first)
    (key,) = town.ledger.unhandled_events(10)
    assert later in key
    second = handle_event(key, town.front.desk)
    run = town.carry(str(second))
    assert run.contract is not None and run.contract.head == later


def test_what_fails_now_is_said_with_the_difference(town: Street) -> None:
    town.push(FILES)
    worse: Files = {**FILES, "src/widgets.py": (0o100644, b"def add(a, b):\n    return 7\n")}
    head = town.push(worse)
    checked(town, "a", worse, Standing.FAILED)
    assert town.evidence(head) == ["action_required"]
    assert "passed → failed" in town.body()
    assert town.hub.pulls[7].title == "[incomplete] Agent fix for #1: add is wrong"
    assert "agent:incomplete" in town.hub.issues[1].labels
    town.push(FIXED)
    checked(town, "b", FIXED)
    assert town.hub.pulls[7].title == "Agent fix for #1: add is wrong"
    assert "agent:done" in town.hub.issues[1].labels


def test_history_that_was_rewritten_is_said_and_what_is_there_is_checked(town: Street) -> None:
    town.hub.branches[town.branch] = town.hub.branches["main"]
    head = town.push(MORE)
    run_id = checked(town, "forced", MORE)
    run = town.ledger.run(run_id)
    assert run is not None and run.contract is not None and run.contract.rewritten
    assert "history was rewritten" in town.body() and town.evidence(head) == ["success"]


def test_a_branch_without_the_base_is_not_ours_any_more(town: Street) -> None:
    town.hub.branches.pop(town.branch)
    town.push(MORE)  # a root commit
    run_id = town.told("root")
    run = town.carry(str(run_id))
    assert run.halt is not None and run.halt.reason is Reason.BASE_LOST and run.explained
    assert town.hub.checks == []
    assert "Not certified" in town.body()
    assert town.hub.pulls[7].title.startswith("[not certified] ")
    (note,) = town.comments(7)
    assert "not this app's change any more" in note and "@alice" in note


def test_a_push_back_to_an_older_commit_of_ours_is_looked_at(town: Street) -> None:
    first = town.hub.branches[town.branch]
    town.push(MORE)
    checked(town, "a", MORE)
    town.hub.branches[town.branch] = first
    town.hub.follow(town.branch)
    run_id = town.told("back")
    run = town.carry(str(run_id))
    assert run.contract is not None and run.contract.head == first
    assert run.contract.others == () and run.contract.rewritten


def test_until_it_is_checked_the_body_says_that_it_is_stale(town: Street) -> None:
    first = town.push(MORE)
    checked(town, "a", MORE)
    signed = town.body()
    second = town.push({**MORE, "late.py": (0o100644, b"z = 3\n")})
    run_id = str(town.told("b"))
    assert "**Stale:**" in town.body() and second[:12] in town.body()
    assert town.body().endswith(signed[signed.index("<!-- patchwarrant:body") :])
    town.hub.branches[town.branch] = first  # back before anybody looked
    town.hub.follow(town.branch)
    run = town.carry(run_id)
    assert run.contract is not None and run.contract.head == first
    town.judged(run_id, MORE)
    town.carry(run_id)
    assert "Stale" not in town.body() and first in town.body()


def test_a_head_that_is_the_known_one_again_takes_the_line_back(town: Street) -> None:
    first = town.push(MORE)
    checked(town, "a", MORE)
    town.push(FIXED)
    town.front.desk = replace(town.front.desk, caps=Caps(town.ledger.calls, {"issue": 0}))
    assert town.told("b") is None and "**Stale:**" in town.body()
    town.hub.branches[town.branch] = first
    town.hub.follow(town.branch)
    assert town.told("c") is None and "Stale" not in town.body()


def test_an_update_taken_back_by_force_brings_no_older_rules_back(town: Street) -> None:
    old, hub = town.hub.branches[town.branch], town.hub
    rules = {".github/agent.yml": (0o100644, b"version: 1\nlimits: {turns: 3}\n")}
    hub.commit_files("main", {**FILES, **rules})
    run_id = str(town.say("/agent update", 60))
    town.carry(run_id)
    town.judged(run_id, {**FIXED, **rules})
    assert town.carry(run_id).state is State.COMPLETE
    hub.branches[town.branch] = old
    hub.follow(town.branch)
    run = town.carry(str(town.told("back")))
    assert run.halt is not None and run.halt.reason is Reason.CONFIG_ERROR
    assert "older" in run.halt.message and "/agent update" in run.halt.next_step
    again = town.carry(str(town.say("/agent update", 61)))
    assert again.contract is not None and again.contract.limits.turns == 3


def test_caps_apply_and_are_said_on_the_pull_request(town: Street) -> None:
    caps = Caps(town.ledger.calls, {"issue": 1})
    town.front.desk = replace(town.front.desk, caps=caps)
    town.push(MORE)
    checked(town, "a", MORE)
    town.push(FIXED)
    assert town.told("b") is None and town.ledger.unhandled_events(10) == []
    (note,) = town.comments(7)
    assert "the cap" in note and "was not checked" in note
    assert len(town.runs()) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"branch": "topic"}, "synchronize"),
        ({"repository": Repository(6, "acme", "other")}, "synchronize"),
        ({"repository": Repository(5, "evil", "widgets")}, "synchronize"),
        ({"issue": 8}, "synchronize"),
        ({"branch": "agent/issue-1-nobody"}, "synchronize"),
    ],
)
def test_what_is_not_our_pull_request_starts_nothing(
    town: Street, change: dict[str, object], told: str
) -> None:
    town.push(MORE)
    assert town.told("x", f"pull_request.{told}", **change) is None
    assert len(town.runs()) == 1 and town.ledger.unhandled_events(10) == []


@pytest.mark.parametrize("change", [{"state": "closed"}, {"head_repository": 99}])
def test_the_live_read_decides(town: Street, change: dict[str, object]) -> None:
    town.push(MORE)
    town.hub.pulls[7] = replace(town.hub.pulls[7], **change)  # type: ignore[arg-type]
    assert town.told("x") is None and len(town.runs()) == 1


def test_a_writers_word_and_the_button_look_again(town: Street) -> None:
    run_id = town.say("/agent verify", 50)
    run = town.ledger.run(str(run_id))
    assert run is not None and run.kind is Kind.RECHECK and run.word == "verify"
    town.carry(run.id)
    town.judged(run.id, FIXED)
    assert town.carry(run.id).state is State.COMPLETE
    again = town.front.send(
        "nudge:press", told="check_run.rerequested", text=run.id, issue=0, label=""
    )
    pressed = town.ledger.run(str(again))
    assert pressed is not None and pressed.kind is Kind.RECHECK and pressed.change == town.first


def test_a_pull_request_that_goes_elsewhere_is_checked_against_that(town: Street) -> None:
    base = town.hub.branches["main"]
    town.hub.branches["release"] = base
    town.hub.pulls[7] = replace(town.hub.pulls[7], base_ref="release")
    run_id = town.told("edited", "pull_request.edited")
    run = town.carry(str(run_id))
    assert run.contract is not None
    assert (run.contract.base_branch, run.contract.base_commit) == ("release", base)


def test_another_base_brings_no_rules_of_its_own(town: Street) -> None:
    town.hub.branches["release"] = town.hub.branches["main"]
    loose = {**FILES, ".github/agent.yml": (0o100644, b"version: 1\nchecks: []\n")}
    town.hub.commit_files("release", loose)
    head = town.hub.commit_files(town.branch, {**loose, "x.py": (0o100644, b"x = 1\n")})
    view = town.hub.commits[head]
    merged = replace(view, parents=(*view.parents, town.hub.branches["release"]))
    town.hub.commits[head] = merged
    town.hub.follow(town.branch)
    town.hub.pulls[7] = replace(town.hub.pulls[7], base_ref="release")
    run = town.carry(str(town.told("edited", "pull_request.edited")))
    assert run.halt is not None and run.halt.reason is Reason.CONFIG_ERROR


def test_a_pull_request_that_is_opened_again_is_followed_again(town: Street) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="closed")
    town.told("closed", "pull_request.closed")
    change = town.ledger.change(town.first)
    assert change is not None and not change.open
    town.push(MORE)
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="open")
    town.hub.follow(town.branch)
    run_id = town.told("reopened", "pull_request.reopened")
    assert run_id is not None
    change = town.ledger.change(town.first)
    assert change is not None and change.open and change.active == run_id


def test_once_its_issue_began_anew_a_reopened_one_is_left_alone(town: Street) -> None:
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="closed")
    town.told("closed", "pull_request.closed")
    assert town.front.send("issue:5:1:9:later") is not None
    town.hub.pulls[7] = replace(town.hub.pulls[7], state="open")
    town.push(MORE)
    assert town.told("reopened", "pull_request.reopened") is None
    assert len(town.runs()) == 2 and ALICE.login == "alice"
