"""Explain: every ending speaks once, in a new comment, and labels say how it ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import Halt, HaltRecord, Park, Reason, Waiting
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.record import Kept
from app.domain.repo_config import OnStop, RepoConfig
from app.domain.run import Publication, Run, Wait
from app.domain.state import State
from tests.worker.desk.made import FILES, Office, new_run, office, ready
from worker.desk.stages.explain import explain


def halted(reason: Reason, message: str = "It did not work.") -> Run:
    record = HaltRecord(reason, message, "Do this next.", ("a detail",))
    return replace(new_run(), state=State.HALTED, halt=record)


def endings(desk: Office) -> list[str]:
    return [c.body for c in desk.hub.comments if "patchwarrant:ending:abc" in c.body]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_said_in_one_new_comment_that_mentions_who_asked(reason: Reason) -> None:
    desk = office()
    run = explain(desk.kit())(halted(reason))
    assert run.explained
    (body,) = endings(desk)
    assert "@alice" in body and "It did not work." in body and "Do this next." in body
    assert str(reason) in body


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        (Reason.NEEDS_INFO, "agent:needs-info"),
        (Reason.CANCELLED, "agent:cancelled"),
        (Reason.BUDGET_DOLLARS, "agent:failed"),
    ],
)
def test_the_label_says_how_it_ended(reason: Reason, label: str) -> None:
    desk = office()
    desk.hub.issues[1] = replace(desk.hub.issues[1], labels=("Agent:Fix", "agent:running", "bug"))
    explain(desk.kit())(halted(reason))
    assert set(desk.hub.issues[1].labels) == {label, "bug"}


def test_who_may_start_nothing_is_told_once_and_uses_up_nobody_elses_runs() -> None:
    desk, uncounted = office(), []
    desk.hub.issues[1] = replace(desk.hub.issues[1], labels=("Agent:Fix", "agent:running", "bug"))
    kit = replace(desk.kit(), uncount=lambda run: uncounted.append(run.id))
    explain(kit)(halted(Reason.REFUSED_ROLE))
    assert set(desk.hub.issues[1].labels) == {"agent:running", "bug"}  # that is another run's
    (first,) = (c.body for c in desk.hub.comments)
    desk.hold.intents.clear()
    explain(kit)(replace(halted(Reason.REFUSED_ROLE), id="def"))
    assert [c.body for c in desk.hub.comments] == [first] and uncounted == ["abc", "def"]
    desk.hold.intents.clear()
    explain(kit)(replace(halted(Reason.REFUSED_ROLE), id="ghi", requester=Person(2, "bob")))
    assert len(desk.hub.comments) == 2


@pytest.mark.parametrize("newer", [False, True])
def test_the_label_of_a_newer_event_is_left_to_its_run(newer: bool) -> None:
    desk, noted = office(), []
    kit = replace(
        desk.kit(),
        newer_trigger=lambda _run: newer,
        taking_off=lambda *where: noted.append(where),
    )
    explain(kit)(halted(Reason.NO_PROGRESS))
    assert ("agent:fix" in desk.hub.issues[1].labels) is newer
    assert noted == ([] if newer else [(5, 1)])


def test_that_it_waited_to_be_told_is_not_shown() -> None:
    desk = office()
    waited = replace(halted(Reason.CANCELLED), wait=Wait(Waiting.GITHUB, 1, "suspended", 3, 1))
    assert explain(desk.kit())(waited).wait is None
    assert "waiting-github" not in " ".join(c.body for c in desk.hub.comments)


def test_it_is_said_once_however_often_it_is_explained() -> None:
    desk = office()
    explain(desk.kit())(halted(Reason.NO_PROGRESS))
    explain(desk.kit())(halted(Reason.NO_PROGRESS))
    desk.hold.intents.clear()
    explain(desk.kit())(halted(Reason.NO_PROGRESS))
    assert len(endings(desk)) == 1 and len(desk.hub.comments) == 2


def test_a_passed_draft_has_said_all_by_itself() -> None:
    desk = office()
    run = ready(new_run(), desk.hub.branches["main"], FILES, desk.hold)
    run = replace(run, state=State.COMPLETE, publication=Publication("b", "c", 2, "url"))
    assert explain(desk.kit())(run).explained
    assert desk.hub.phases == [] and desk.hub.comments == []


def test_an_incomplete_draft_is_announced_with_its_link() -> None:
    desk = office()
    run = ready(new_run(), desk.hub.branches["main"], FILES, desk.hold, Result.FAILED)
    link = "https://github.test/acme/widgets/pull/2"
    run = replace(run, state=State.COMPLETE, publication=Publication("b", "c", 2, link))
    explain(desk.kit())(run)
    (body,) = endings(desk)
    assert link in body or "#2" in body
    assert "agent:incomplete" in desk.hub.issues[1].labels


def test_the_partial_work_is_shown_as_a_patch_where_no_draft_shows_it() -> None:
    desk = office()
    config = RepoConfig(on_stop=OnStop.PATCH)
    run = ready(new_run(), desk.hub.branches["main"], FILES, desk.hold, Result.FAILED, config)
    digest = desk.hold.put(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    desk.hold.note(Kept.NOTE, {"patch": digest})
    explain(desk.kit())(replace(run, state=State.HALTED))
    (body,) = endings(desk)
    assert "+++ b/x" in body and "```" in body


@pytest.mark.parametrize(
    ("reason", "on_stop"),
    [
        (Reason.SECRET_FOUND, OnStop.PATCH),
        (Reason.INTEGRITY, OnStop.PATCH),
        (Reason.NO_PROGRESS, OnStop.NOTHING),
    ],
)
def test_work_that_must_not_be_shown_is_not(reason: Reason, on_stop: OnStop) -> None:
    desk = office()
    config = RepoConfig(on_stop=on_stop)
    run = ready(new_run(), desk.hub.branches["main"], FILES, desk.hold, Result.FAILED, config)
    desk.hold.note(Kept.NOTE, {"patch": desk.hold.put(b"+++ b/x\n")})
    explain(desk.kit())(replace(run, state=State.HALTED, halt=HaltRecord(reason, "m", "n")))
    (body,) = endings(desk)
    assert "+++ b/x" not in body


def test_a_patch_that_is_gone_is_no_failure() -> None:
    desk = office()
    desk.hold.note(Kept.NOTE, {"patch": "0" * 64})
    assert explain(desk.kit())(halted(Reason.NO_PROGRESS)).explained
    assert len(endings(desk)) == 1


def test_a_locked_issue_is_no_failure_and_is_not_asked_again() -> None:
    desk = office()
    desk.hub.issues[1] = replace(desk.hub.issues[1], locked=True)
    assert explain(desk.kit())(halted(Reason.NO_PROGRESS)).explained
    assert desk.hub.comments == []
    assert any("locked" in str(entry.data) for entry in desk.hold.journal)


def test_where_the_issue_is_locked_the_pull_request_is_told() -> None:
    desk = office()
    run = ready(new_run(), desk.hub.branches["main"], FILES, desk.hold, Result.FAILED)
    with desk.hub.write(run, desk.hub.phases[0] if desk.hub.phases else None) as writer:  # type: ignore[arg-type]
        writer.create_branch("agent/issue-1-abc", desk.hub.branches["main"])
        pull = writer.open_pull("t", "b", "agent/issue-1-abc", "main")
    desk.hub.issues[1] = replace(desk.hub.issues[1], locked=True)
    published = Publication("b", "c", pull.number, pull.url)
    explain(desk.kit())(replace(run, state=State.COMPLETE, publication=published))
    assert [c.issue for c in desk.hub.comments] == [pull.number]


def test_a_deleted_issue_is_no_failure() -> None:
    desk = office()
    desk.hub.issues.clear()
    assert explain(desk.kit())(halted(Reason.NO_PROGRESS)).explained


def test_github_away_is_a_wait() -> None:
    desk = office()
    desk.hub.down = True
    with pytest.raises(Park):
        explain(desk.kit())(halted(Reason.NO_PROGRESS))


def test_an_installation_that_is_gone_ends_the_telling() -> None:
    desk = office()

    def gone(_run: Run, _phase: object = None) -> object:
        raise Halt(Reason.INSTALLATION, "suspended")

    desk.read = desk.write = gone  # type: ignore[assignment]
    with pytest.raises(Halt):
        explain(desk.kit())(halted(Reason.INSTALLATION))


def test_a_run_that_did_not_end_has_no_ending() -> None:
    with pytest.raises(ValueError, match="no ending"):
        explain(office().kit())(new_run())
