"""Progress: the sticky comment follows the run, seldom enough, and never harms it."""

from __future__ import annotations

from dataclasses import replace

from app.domain.errors import Waiting
from app.domain.record import Kept
from app.domain.run import Run, Wait
from app.domain.state import State
from tests.worker.desk.made import Office, new_run, office
from worker.desk.notices import sticky
from worker.desk.progress import Progress


def begun() -> tuple[Office, Run, Progress]:
    desk = office()
    run = new_run()
    with desk.hub.write(run, None) as writer:  # type: ignore[arg-type]
        run = replace(run, status_comment=sticky(desk.hold, writer, run, 2_000))
    return desk, run, Progress(desk.hub.write, lambda: desk.ms)


def test_a_move_is_shown_in_the_one_comment() -> None:
    desk, run, progress = begun()
    before = desk.hub.comments[0].body
    assert progress(replace(run, state=State.EDIT))
    assert len(desk.hub.comments) == 1 and desk.hub.comments[0].body != before


def test_the_same_state_is_not_shown_twice_and_moves_are_seldom() -> None:
    desk, run, progress = begun()
    assert progress(replace(run, state=State.LOCATE))
    assert not progress(replace(run, state=State.LOCATE))
    assert not progress(replace(run, state=State.PLAN))
    desk.ms += 3_000
    assert progress(replace(run, state=State.PLAN))
    desk.ms += 3_000
    waiting = replace(run, state=State.PLAN, wait=Wait(Waiting.MODEL, 0, ""))
    assert progress(waiting) and not progress(waiting)


def asking(run: Run) -> Run:
    return replace(run, state=State.LOCATE, wait=Wait(Waiting.ANSWER, 1_800_000_000_000, "asks"))


def test_the_agent_s_questions_are_put_once_in_a_comment_of_their_own() -> None:
    desk, run, progress = begun()
    progress.journal = lambda _run: desk.hold.entries()
    asked = [{"question": "Which @team?", "default": "<b>none</b>"}]
    desk.hold.note(Kept.NOTE, {"questions": asked})
    assert progress(asking(run))
    assert not progress(asking(run))
    again = Progress(desk.hub.write, lambda: desk.ms, journal=progress.journal)
    assert again(asking(run))
    (question,) = [c.body for c in desk.hub.comments if "patchwarrant:questions:" in c.body]
    assert question.count("@alice") == 1 and "@team" not in question and "<b>" not in question
    assert "agent:fix" in question and "2027-01-15 08:00 UTC" in question


def test_new_questions_are_a_new_comment_and_answered_ones_are_none() -> None:
    desk, run, progress = begun()
    progress.journal = lambda _run: desk.hold.entries()
    for number in (1, 2):
        desk.hold.note(Kept.NOTE, {"questions": [{"question": f"q{number}", "default": "d"}]})
        assert progress(asking(run))
        desk.hold.note(Kept.NOTE, {"answer": "yes"})
        progress(asking(run))
    assert len([c for c in desk.hub.comments if "questions" in c.body]) == 2


def test_endings_and_runs_without_a_comment_are_left_alone() -> None:
    desk, run, progress = begun()
    assert not progress(replace(run, state=State.HALTED))
    assert not progress(replace(run, state=State.COMPLETE))
    assert not progress(replace(run, state=State.EDIT, status_comment=0))
    assert len(desk.hub.phases) == 1


def late(saved: bool) -> tuple[Office, Run, Progress, list[Run]]:
    """The run's row moves on while the comment about `publish` is on its way."""
    desk, run, progress = begun()
    done = replace(run, state=State.COMPLETE, explained=True)
    rows = [done if saved else replace(run, state=State.PUBLISH)]
    progress.latest = lambda _run: rows[-1]
    assert progress(replace(run, state=State.PUBLISH))
    return desk, done, progress, rows


def test_a_comment_that_arrives_after_the_end_is_put_right_at_once() -> None:
    desk, _done, progress, _rows = late(saved=True)
    assert "Done" in desk.hub.comments[0].body and not progress.late


def test_a_comment_that_arrives_just_before_the_end_is_put_right_by_the_next_pass() -> None:
    desk, done, progress, rows = late(saved=False)
    progress.settle()
    assert "At work" in desk.hub.comments[0].body
    rows.append(done)
    desk.hub.down = True
    progress.settle()
    desk.hub.down = False
    progress.settle()
    assert "Done" in desk.hub.comments[0].body and not progress.late


def test_a_comment_that_is_a_later_run_s_by_now_is_left_alone() -> None:
    desk, _done, progress, _rows = late(saved=False)
    progress.latest = lambda _run: None
    desk.hub.comments[0].body = "the later run's"
    progress.settle()
    assert desk.hub.comments[0].body == "the later run's" and not progress.late


def test_what_goes_wrong_is_no_failure_and_is_tried_again() -> None:
    desk, run, progress = begun()
    desk.hub.down = True
    assert not progress(replace(run, state=State.EDIT))
    desk.hub.down = False
    assert progress(replace(run, state=State.EDIT))
