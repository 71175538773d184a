"""The slice of the crash matrix that every test run computes, and how matrix and slice are made."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from app.domain.state import OWNER, State
from tests.crash.matrix import DISTURBANCES, GITHUB, LINKS, MODEL, SANDBOX, cases, quick
from tests.crash.points import AFTER, BEFORE, READY, Point, github_effect, redis_effect
from tests.crash.table import SAYS, group
from tests.shared_data import REPOSITORY

EFFECTS = (
    "ledger.claim",
    "journal.model",
    "intent.pull.before",
    "github.POST /pulls",
    "model.reply",
    "sandbox.certify",
    "git.fetch",
    "bell.desk.run",
    "queue.desk.run",
)
SEEN = {
    "fix": [
        Point(state, effect, nth, moment)
        for state in ("edit", "publish")
        for effect in EFFECTS
        for nth in (1, 2, 3)
        for moment in (BEFORE, AFTER)
    ]
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_slice_of_the_matrix_holds() -> None:
    """Every kind of effect in every state once, and every fault once; `--crash` runs them all."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", "--quick", "--rows"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr[-4_000:]
    rows = json.loads(done.stdout)
    broken = {row["case"]: row["broken"] for row in rows if row["broken"]}
    assert broken == {}, done.stderr[-8_000:]
    assert len(rows) >= 100
    states = {row["point"]["state"] for row in rows if row["story"] == "fix"}
    assert states >= {str(state) for state in OWNER} - {State.HALTED, State.COMPLETE}
    assert {group(row["fault"]) for row in rows} == set(SAYS)


def test_the_product_is_of_every_state_every_effect_and_every_fault() -> None:
    every = cases(SEEN)
    assert len(set(every)) == len(every)
    for state in ("edit", "publish"):
        mine = [one for one in every if one.point.state == state]
        assert {one.point.effect for one in mine} == set(EFFECTS)
        faults = {one.fault for one in mine}
        assert faults >= {"kill", "stop", "exception", "poison", "lost-answer", "skew+", "skew-"}
        assert faults >= {"redis-kill", "redis-torn", "git-status", "git-drop"}
        assert faults >= {f"github-{kind}" for kind in GITHUB}
        assert faults >= {f"model-{kind}" for kind in MODEL}
        assert faults >= {f"sandbox-{kind}" for kind in SANDBOX}
        assert faults >= {f"{kind}@{link}" for kind in DISTURBANCES for link in LINKS}
    kills = {(one.point.effect, one.point.nth) for one in every if one.fault == "kill"}
    assert {nth for effect, nth in kills if effect == "model.reply"} == {1, 3}  # first and last


def test_the_slice_leaves_no_effect_and_no_fault_out() -> None:
    every = cases(SEEN)
    chosen = quick(every)
    assert set(chosen) < set(every)
    places = {(one.point.state, one.point.effect) for one in chosen}
    assert places == {(one.point.state, one.point.effect) for one in every}
    assert {one.fault for one in chosen} == {one.fault for one in every}
    assert quick(every) == chosen


def test_stories_after_the_first_go_through_what_is_their_own() -> None:
    own = [
        Point("admit", "ledger.claim", 1, AFTER),
        Point("edit", "ledger.claim", 1, AFTER),
        Point("edit", "ledger.own", 1, AFTER),
        Point("publish", "github.PATCH /git/refs/heads/*", 1, BEFORE),
        Point("publish", "github.PATCH /git/refs/heads/*", 1, AFTER),
    ]
    every = [one for one in cases({**SEEN, "revise": own}) if one.story == "revise"]
    told = {(one.fault, one.point.state, one.point.effect) for one in every}
    moving = ("publish", "github.PATCH /git/refs/heads/*")
    assert told == {
        ("kill", "admit", "ledger.claim"),  # the desk has a stage of its own there
        ("kill", "edit", "ledger.own"),  # and the other effect of the runner's is the first's, too
        *((fault, *moving) for fault in ("kill", "stop", "poison")),
        *((f"github-{kind}", *moving) for kind in ("do_then_drop", "status")),
    }
    chosen = {one.point.effect for one in quick(every + cases(SEEN)) if one.story == "revise"}
    assert chosen == {"ledger.own", moving[1], "ledger.claim"}  # admit is not in SEEN


def test_of_a_look_after_the_run_only_what_it_does_is_gone_through() -> None:
    marks, asks = "github.POST /graphql", "github.POST /pulls/*/requested_reviewers"
    seen = [
        Point(state, effect, 1, moment)
        for state, effect in (("idle", "ledger.claim"), (READY, marks), (READY, asks))
        for moment in (BEFORE, AFTER)
    ]
    every = cases({"ready": seen, "taken-back": seen})
    assert {one.point.state for one in every} == {READY}
    faults = {(one.story, one.fault) for one in every if one.point.effect == asks}
    assert faults >= {("ready", fault) for fault in ("kill", "exception", "stop")}
    assert faults >= {("ready", f"github-{kind}") for kind in GITHUB}
    assert faults >= {("taken-back", fault) for fault in ("kill", "stop", "github-do_then_drop")}
    assert "poison" not in {one.fault for one in every}  # a look is no run that could be set aside


def test_effects_have_names_and_reads_have_none() -> None:
    assert github_effect("POST", "/repos/a/b/git/refs") == "github.POST /git/refs"
    moved = github_effect("PATCH", "/repos/a/b/git/refs/heads/agent/issue-1-0123456789ab")
    assert moved == "github.PATCH /git/refs/heads/*"
    gone = github_effect("DELETE", "/repos/a/b/issues/4/labels/agent%3Afix")
    assert gone == "github.DELETE /issues/*/labels/*"
    assert github_effect("GET", "/repos/a/b") == ""
    assert redis_effect(["HGET", "pw:run:1", "lease"]) == ""
    assert redis_effect(["HSET", "pw:tokens", "a", "b"]) == "redis.hset.token"
    noted = ["HSET", "pw:ready:c", "mark", "begun"]
    assert redis_effect(noted) == "redis.hset.ready.mark.begun"
    assert redis_effect(["HSET", "pw:ready:c", "said", "{}"]) == "redis.hset.ready.said"
    assert redis_effect(["ZADD", "pw:approvals", 1, "c"]) == "redis.zadd.looks"
