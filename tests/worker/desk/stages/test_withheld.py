"""`publish: after-approval` in the stage: shown, waited for, published exactly, given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain import publish_approval
from app.domain.errors import Halt, Park, Reason, Waiting
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.record import Kept
from app.domain.repo_config import Approval, Publish, RepoConfig
from app.domain.run import Run
from app.domain.state import State
from tests.worker.desk.made import FILES, Office, new_run, office, ready
from worker.desk.stages.explain import explain
from worker.desk.stages.publish import publish

LATER = RepoConfig(publish=Publish.AFTER_APPROVAL)
DIFF = b"--- a/src/widgets.py\n+++ b/src/widgets.py\n@@ -1 +1 @@\n-a - b\n+a + b\n"


def waiting(
    config: RepoConfig = LATER, result: Result = Result.PASSED, diff: bytes = DIFF
) -> tuple[Office, Run]:
    made = office()
    base = made.hub.branches["main"]
    asked = replace(new_run(), requester=Person(1, "alice"))
    run = ready(asked, base, FILES, made.hold, result, config)
    made.ms = made.hold.note(Kept.NOTE, {"patch": made.hold.put(diff)}).ms
    return made, run


def parked(made: Office, run: Run) -> Park:
    with pytest.raises(Park) as park:
        publish(made.kit())(run)
    assert park.value.waiting is Waiting.PUBLISH
    return park.value


def shown(made: Office) -> list[str]:
    return [one.body for one in made.hub.comments if "patchwarrant:publish:" in one.body]


def tree(run: Run) -> str:
    assert run.verdict is not None
    return run.verdict.tree


def test_diff_and_evidence_are_shown_once_and_nothing_is_published() -> None:
    made, run = waiting()
    assert parked(made, run).seconds == pytest.approx(publish_approval.WAIT, abs=1)
    parked(made, run)
    (text,) = shown(made)
    assert tree(run) in text and f"/agent publish {tree(run)[:16]}" in text
    assert "+a + b" in text and "<details>" in text and "✅ **Passed.**" in text
    assert "but not `alice` (asked for it)" in text and "@alice" in text
    assert made.hub.pulls == {} and set(made.hub.branches) == {"main"} and made.hub.checks == []
    assert len(text) < 65_536


def test_only_that_very_tree_is_let_go() -> None:
    made, run = waiting()
    parked(made, run)
    made.hold.note(Kept.NOTE, {"publish": "f" * 40, "by": "carol (4)"})
    parked(made, run)
    made.hold.note(Kept.NOTE, {"publish": tree(run), "by": "carol (4)"})
    done = publish(made.kit())(run)
    assert done.state is State.COMPLETE
    assert made.hub.commits[done.publication.commit].tree == tree(run)


def test_another_tree_is_shown_anew() -> None:
    made, run = waiting()
    made.hold.note(Kept.NOTE, {"publish": "f" * 40})
    made.hold.note(Kept.NOTE, publish_approval.note_of("f" * 40))
    parked(made, run)
    assert len(shown(made)) == 1


def test_after_seven_days_it_ends_with_the_diff_kept() -> None:
    made, run = waiting()
    parked(made, run)
    (entry,) = [one for one in made.hold.entries() if "withheld" in one.data]
    made.ms = entry.ms + publish_approval.WAIT * 1000 - 500
    assert parked(made, run).seconds == 0.5
    made.ms += 500
    with pytest.raises(Halt) as halt:
        publish(made.kit())(run)
    assert halt.value.record.reason is Reason.UNPUBLISHED
    ended = replace(run, state=State.HALTED, halt=halt.value.record)
    explain(made.kit())(ended)
    (text,) = [one.body for one in made.hub.comments if "patchwarrant:ending:" in one.body]
    assert "+a + b" in text and "which its evidence says passed" in text


def test_partial_work_waits_as_well_and_says_what_it_is() -> None:
    made, run = waiting(result=Result.PARTIAL)
    parked(made, run)
    assert "🟡 **Partial" in shown(made)[0]


def test_a_locked_issue_takes_no_comment_and_the_run_waits_all_the_same() -> None:
    made, run = waiting()
    made.hub.issues[1] = replace(made.hub.issues[1], locked=True)
    parked(made, run)
    assert shown(made) == []
    assert [one for one in made.hold.entries() if "untold" in one.data]


@pytest.mark.parametrize("size", [0, 100, 60_000, 300_000])
def test_the_comment_holds_whatever_the_diff_is(size: int) -> None:
    made, run = waiting(diff=b"+```\n</details>\n" * (size // 16))
    parked(made, run)
    (text,) = shown(made)
    assert len(text) < 65_536 and text.count("<details>") <= 1
    assert (size == 0) == ("too large to be shown" in text)
    assert ("fit here" in text) == (size > 30_000)


def test_a_diff_that_is_gone_is_said() -> None:
    made, run = waiting()
    made.hold.note(Kept.NOTE, {"patch": "0" * 64})
    parked(made, run)
    assert "too large to be shown" in shown(made)[0]
    empty = office()
    again = ready(new_run(), empty.hub.branches["main"], FILES, empty.hold, config=LATER)
    parked(empty, again)
    assert "too large to be shown" in shown(empty)[0]


def test_at_once_asks_nobody() -> None:
    made, run = waiting(RepoConfig())
    assert publish(made.kit())(run).state is State.COMPLETE


def test_solo_says_so() -> None:
    made, run = waiting(replace(LATER, approval=Approval.SOLO))
    parked(made, run)
    assert "approval: solo" in shown(made)[0]


def test_who_lost_the_role_meanwhile_publishes_nothing() -> None:
    made, run = waiting()
    parked(made, run)
    made.hold.note(Kept.NOTE, {"publish": tree(run)})
    made.hub.roles["alice"] = "read"
    with pytest.raises(Halt) as halt:
        publish(made.kit())(run)
    assert halt.value.record.reason is Reason.REFUSED_ROLE and made.hub.pulls == {}
