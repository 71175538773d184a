"""Aside: the least is said where telling an ending takes the worker down each time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import HaltRecord, Park, Reason
from app.domain.run import Publication, Run
from app.domain.state import State
from tests.worker.desk.made import Office, new_run, office
from worker.desk.notices import status_marker
from worker.desk.stages.aside import aside


def stickies(desk: Office, run: Run) -> list[str]:
    return [c.body for c in desk.hub.comments if status_marker(run.change) in c.body]


def test_a_run_that_stopped_says_so_in_its_one_comment_and_label() -> None:
    desk = office()
    desk.hub.issues[1] = replace(desk.hub.issues[1], labels=("agent:running", "bug"))
    halt = HaltRecord(Reason.NO_PROGRESS, "a text that kills", "", ("and details",))
    run = aside(desk.kit())(replace(new_run(), state=State.HALTED, halt=halt))
    (said,) = stickies(desk, run)
    assert "Set aside" in said and "no-progress" in said and run.id in said
    assert "a text that kills" not in said
    assert run.status_comment
    assert set(desk.hub.issues[1].labels) == {"agent:failed", "bug"}
    again = aside(desk.kit())(run)
    assert len(stickies(desk, again)) == 1


def test_a_draft_that_is_there_is_named() -> None:
    desk = office()
    there = Publication("agent/issue-1-abc", "c" * 40, 7, "https://example.org/7")
    told = aside(desk.kit())(replace(new_run(), state=State.COMPLETE, publication=there))
    (said,) = stickies(desk, told)
    assert "was complete" in said and "#7" in said
    assert told.publication == there


def test_github_is_waited_for_and_its_no_is_taken() -> None:
    desk = office()
    halt = HaltRecord(Reason.NO_PROGRESS, "", "")
    run = replace(new_run(), state=State.HALTED, halt=halt)
    desk.hub.down = True
    with pytest.raises(Park):
        aside(desk.kit())(run)
    desk.hub.down = False
    desk.hub.issues[1] = replace(desk.hub.issues[1], locked=True)
    assert aside(desk.kit())(run) == run and stickies(desk, run) == []
