"""Vouch: signed evidence about somebody else's commit: one check run, one comment, nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.domain.errors import Halt, Reason
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.worker.desk.made import FILES, SIGNER, Office, ready
from tests.worker.desk.stages.test_examine import TOPIC, town
from worker.attest.verify import public_key, subjects, verify
from worker.desk.intents import done
from worker.desk.stages.examine import examine
from worker.desk.stages.explain import explain
from worker.desk.stages.vouch import vouch


def judged(verdict: Result = Result.PASSED) -> tuple[Office, Run]:
    """Pull request 7 after the gate; its head has the tree that was checked."""
    desk, run = town()
    run = examine(desk.kit())(run)
    assert run.contract is not None
    head = desk.hub.commit_files("topic", TOPIC)
    desk.hub.pulls[7] = replace(desk.hub.pulls[7], head_sha=head)
    contract = replace(run.contract, head=head)
    run = ready(run, contract.base_commit, FILES, desk.hold, verdict)
    desk.hub.phases.clear()
    return desk, replace(run, contract=contract, halt=None)


def published(desk: Office, run: Run) -> Run:
    return explain(desk.kit())(vouch(desk.kit())(run))


def test_one_check_run_on_the_head_and_one_comment() -> None:
    desk, run = judged()
    before = (dict(desk.hub.branches), dict(desk.hub.commits), dict(desk.hub.pulls))
    run = published(desk, run)
    assert run.state is State.COMPLETE and run.explained and run.kind is Kind.VERIFY
    (check,) = desk.hub.checks
    assert run.contract is not None
    assert (check.head, check.conclusion) == (run.contract.head, "success")
    (only,) = desk.hub.comments
    assert "✅" in only.body and run.contract.head in only.body and "Stale" not in only.body
    assert (desk.hub.branches, desk.hub.commits, desk.hub.pulls) == before
    assert set(desk.hub.phases) == {Phase.EXAMINE, Phase.EVIDENCE, Phase.STATUS}


def test_the_statement_is_about_the_head_and_its_tree() -> None:
    desk, run = judged()
    run = published(desk, run)
    (check,) = desk.hub.checks
    kept = done(desk.hold, "statement")
    assert kept is not None and run.verdict is not None and run.contract is not None
    envelope = json.loads(desk.hold.get(kept["envelope"]))
    statement = verify(envelope, public_key(SIGNER.public_pem))
    assert subjects(statement) == (run.verdict.tree, run.contract.head)
    assert statement["predicate"]["run"]["kind"] == "verify"
    assert envelope["payload"] in check.text


def test_what_did_not_pass_turns_the_check_action_required_and_is_told() -> None:
    desk, run = judged(Result.FAILED)
    published(desk, run)
    assert desk.hub.checks[0].conclusion == "action_required"
    assert "❌" in desk.hub.comments[0].body and "The wall" in desk.hub.comments[0].body


def test_a_head_that_moved_on_makes_it_stale_and_keeps_the_evidence_where_it_belongs() -> None:
    desk, run = judged()
    newer = desk.hub.commit_files("topic", FILES)
    desk.hub.pulls[7] = replace(desk.hub.pulls[7], head_sha=newer)
    run = published(desk, run)
    assert run.publication.overtaken == newer
    assert [one.head for one in desk.hub.checks] == [run.publication.commit]
    assert "Stale" in desk.hub.comments[0].body and newer[:12] in desk.hub.comments[0].body


def test_another_tree_than_the_one_that_was_checked_is_not_vouched_for() -> None:
    desk, run = judged()
    assert run.contract is not None
    other = replace(run.contract, head=desk.hub.branches["main"])
    with pytest.raises(Halt) as told:
        vouch(desk.kit())(replace(run, contract=other))
    assert told.value.record.reason is Reason.INTEGRITY
    assert desk.hub.checks == []


def test_who_lost_the_right_meanwhile_gets_nothing_published() -> None:
    desk, run = judged()
    desk.hub.roles["alice"] = "read"
    with pytest.raises(Halt) as told:
        vouch(desk.kit())(run)
    assert told.value.record.reason is Reason.REFUSED_ROLE and desk.hub.checks == []


def test_twice_is_once() -> None:
    desk, run = judged()
    first = vouch(desk.kit())(run)
    assert vouch(desk.kit())(run) == first
    assert len(desk.hub.checks) == 1
