"""A draft made ready after its gate has passed, on a real ledger and a GitHub in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Self

import pytest
from redis import Redis

from app.domain import record
from app.domain.errors import Refused, Uncertain
from app.domain.event import Person
from app.domain.evidence import Result
from app.domain.permissions import Phase
from app.domain.ports.ci import Report
from app.domain.ports.views import PullAct, PullView
from app.domain.ports.writer import GitHubWriter
from app.domain.ready import Done
from app.domain.run import Run
from tests.fakes.github import FakeWriter
from tests.worker.desk.made import office
from tests.worker.desk.mortal import Killed
from tests.worker.desk.test_approval import Town
from tests.worker.desk.test_events import Front
from tests.worker.desk.test_gate_look import gates, reported
from worker.desk.approval import ApprovalDesk
from worker.store.approvals import Approvals
from worker.store.ledger import Ledger

CONFIG = ".github/agent.yml"


def made(redis: Redis, config: str = "") -> Town:
    """A Change whose head passed under a configuration of the base branch."""
    town = Waiting.made(redis)
    tree = town.hub.trees[town.hub.commits[town.hub.branches["main"]].tree]
    town.hub.commit_files("main", {**tree, CONFIG: (0o100644, config.encode())})
    reported(town, Report("build", "success"))
    return town


@pytest.fixture
def town(redis: Redis) -> Town:
    place = office()
    place.hub.roles.update(alice="write", dave="write")
    ledger = Ledger(redis)
    return Town(Front(ledger, place.hub), place, Approvals(ledger.calls))


def pull(town: Town) -> PullView:
    return town.hub.pulls[2]


def again(town: Town, told: str = "pull_request.edited") -> None:
    town.tell(told)


def set_draft(town: Town) -> None:
    """A person makes it a draft again."""
    town.hub.pulls[2] = replace(pull(town), draft=True)
    town.tell("pull_request.converted_to_draft", sender=Person(4, "carol"))


def test_it_is_made_ready_and_who_asked_is_asked_each_once(town: Town) -> None:
    assert not pull(town).draft and town.hub.marked == [2]
    assert pull(town).asked == ("alice",)
    assert "A review was asked of `alice`." in gates(town)[0].summary
    past = town.rows.ready(town.run.change)
    assert (past.mark, past.ask) == (Done.DONE, Done.DONE)
    town.hub.pulls[2] = replace(pull(town), asked=())  # taken back by a person
    phases = len([one for one in town.hub.phases if one in (Phase.READY, Phase.PULL)])
    writes = town.hub.check_writes
    again(town)
    assert pull(town).asked == () and town.hub.check_writes == writes
    assert len([o for o in town.hub.phases if o in (Phase.READY, Phase.PULL)]) == phases


def test_never_again_after_a_person_made_it_a_draft(town: Town) -> None:
    set_draft(town)
    again(town)
    assert pull(town).draft and town.hub.marked == [2]
    head = town.push("dave")
    reported(town, Report("build", "success"))
    assert pull(town).head_sha == head and pull(town).draft and town.hub.marked == [2]


def test_not_before_the_gate_says_so(redis: Redis) -> None:
    town = Waiting.made(redis)
    assert pull(town).draft and pull(town).asked == () and town.hub.marked == []
    reported(town, Report("build", "failure"))
    assert pull(town).draft and pull(town).asked == ()
    reported(town, Report("build", "success"))
    assert not pull(town).draft and pull(town).asked == ("alice",)


def test_not_where_a_person_made_it_a_draft_before_the_gate_passed(redis: Redis) -> None:
    town = Waiting.made(redis)
    set_draft(town)
    reported(town, Report("build", "success"))
    assert pull(town).draft and town.hub.marked == [] and pull(town).asked == ()


def test_a_person_who_made_it_ready_is_asked_after_the_gate(redis: Redis) -> None:
    town = Waiting.made(redis)
    town.hub.pulls[2] = replace(pull(town), draft=False)
    again(town, "pull_request.ready_for_review")
    assert pull(town).asked == ()
    reported(town, Report("build", "success"))
    assert pull(town).asked == ("alice",) and town.hub.marked == []
    town.hub.pulls[2] = replace(pull(town), draft=True)  # the event about it never came
    again(town)
    assert pull(town).draft and town.hub.marked == []


def test_an_incomplete_draft_stays_one(redis: Redis) -> None:
    place = office()
    other = Failed(Front(Ledger(redis), place.hub), place, Approvals(Ledger(redis).calls))
    assert other.run.verdict is not None and other.run.verdict.result is Result.FAILED
    assert pull(other).draft and pull(other).asked == () and other.hub.marked == []


class Failed(Town):
    def publish(self, run_id: str, result: Result = Result.FAILED) -> Run:
        return Town.publish(self, run_id, result)


class Waiting(Town):
    """Its head's CI is not done when it is looked at for the first time."""

    @classmethod
    def made(cls, redis: Redis, drafts: bool = True) -> Self:
        place = office()
        place.hub.drafts = drafts
        place.hub.roles.update(alice="write", dave="write")
        ledger = Ledger(redis)
        return cls(Front(ledger, place.hub), place, Approvals(ledger.calls))

    def publish(self, run_id: str, result: Result = Result.PASSED) -> Run:
        self.hub.required["main"] = frozenset({"build"})
        return Town.publish(self, run_id, result)


def test_ready_never(redis: Redis) -> None:
    town = made(redis, "ready: never\n")
    assert gates(town)[0].title == "Ready for review"
    assert pull(town).draft and pull(town).asked == ()
    assert Phase.READY not in town.hub.phases


def test_ready_on_approval(redis: Redis) -> None:
    town = made(redis, "ready: approval\n")
    assert pull(town).draft and pull(town).asked == ("alice",)
    town.review("alice")  # who asked: that does not count
    assert pull(town).draft
    town.review("dave")
    assert not pull(town).draft and town.hub.marked == [2]


def test_without_drafts_nothing_is_offered(redis: Redis) -> None:
    town = Waiting.made(redis, drafts=False)
    reported(town, Report("build", "success"))
    assert gates(town)[0].title == "Ready for review"
    assert pull(town).title.startswith("[draft]") and pull(town).asked == ()
    assert town.hub.marked == [] and Phase.READY not in town.hub.phases
    town.hub.pulls[2] = replace(pull(town), title="Fine now")
    again(town)
    assert pull(town).asked == ("alice",) and town.hub.marked == []


def test_whom_github_does_not_take_is_told_and_the_others_are_asked(redis: Redis) -> None:
    names = "[nobody, dave, acme/core, other/web]"
    town = made(redis, f"pull_request: {{reviewers: {names}}}\n")
    assert pull(town).asked == ("alice", "dave") and not pull(town).draft
    summary = gates(town)[0].summary
    assert "A review was asked of `alice`, `dave`." in summary
    assert "`nobody` was not asked for a review: " in summary and "collaborators" in summary
    assert "`acme/core` was not asked" in summary
    assert "`other/web` is no team of this repository's owner." in summary


def test_a_team_is_asked_by_its_slug(redis: Redis) -> None:
    town = Waiting.made(redis)
    town.hub.teams = frozenset({"core"})
    tree = town.hub.trees[town.hub.commits[town.hub.branches["main"]].tree]
    config = b"pull_request: {reviewers: [acme/core]}\n"
    town.hub.commit_files("main", {**tree, CONFIG: (0o100644, config)})
    reported(town, Report("build", "success"))
    assert pull(town).asked_teams == ("core",) and not pull(town).draft


@contextmanager
def failing(
    town: Town, error: Exception | type[BaseException], *, sent: bool, run: Run, phase: Phase
) -> Iterator[GitHubWriter]:
    """The write of making it ready ends with `error`, before or after GitHub did it."""

    class Broken(FakeWriter):
        def mark_ready(self, number: int, head: str) -> PullView:
            if sent:
                FakeWriter.mark_ready(self, number, head)
            raise error

    with town.hub.write(run, phase) as writer:
        assert isinstance(writer, FakeWriter)
        yield Broken(writer.hub, writer.bound, phase)


class Breaking(Waiting):
    """`break_with` sets how making it ready ends from now on."""

    def break_with(self, error: Exception | type[BaseException], sent: bool) -> ApprovalDesk:
        write = partial(failing, self, error, sent=sent)
        return replace(
            self.approvals,
            write=lambda run, phase: write(run=run, phase=phase),
        )


@pytest.mark.parametrize("sent", [False, True])
def test_killed_between_mark_and_record_it_is_adopted_and_not_repeated(
    redis: Redis, sent: bool
) -> None:
    town = Breaking.made(redis)
    dying = town.break_with(Killed, sent)
    town.hub.reported[pull(town).head_sha] = (Report("build", "success"),)
    with pytest.raises(Killed):
        dying.look(town.approvals.published(town.run))
    assert town.rows.ready(town.run.change).mark is Done.BEGUN
    assert pull(town).draft is not sent
    town.rows.unlock(town.run.change, dying.owner)  # its time is over
    again(town)
    assert not pull(town).draft and town.hub.marked == [2]
    assert town.rows.ready(town.run.change).mark is Done.DONE and pull(town).asked == ("alice",)


def test_a_lost_answer_is_looked_at_again(redis: Redis) -> None:
    town = Breaking.made(redis)
    losing = town.break_with(Uncertain("no answer came"), sent=True)
    town.hub.reported[pull(town).head_sha] = (Report("build", "success"),)
    losing.look(town.approvals.published(town.run))
    assert pull(town).asked == ()
    again(town)
    assert town.hub.marked == [2] and pull(town).asked == ("alice",)


def refusing(redis: Redis) -> tuple[Breaking, ApprovalDesk]:
    town = Breaking.made(redis)
    no = Refused("Resource not accessible by integration", 403)
    town.hub.reported[pull(town).head_sha] = (Report("build", "success"),)
    return town, town.break_with(no, sent=False)


def look(town: Town, desk: ApprovalDesk, *, later: bool = True) -> None:
    """One look, the next try's time having come."""
    change = town.run.change
    if later:
        no = town.rows.ready(change).no
        town.rows.note_refusal(change, replace(no, again=0))
    desk.look(town.approvals.published(town.run))


def test_what_github_refuses_is_told_and_tried_again_later(redis: Redis) -> None:
    town, refused = refusing(redis)
    look(town, refused, later=False)
    (check,) = gates(town)
    assert check.title == "Ready for review" and "It could not be made ready" in check.summary
    assert "not accessible" in check.summary and "try 1 of 5, the next after" in check.summary
    assert pull(town).asked == ()
    tries, writes = town.hub.phases.count(Phase.READY), town.hub.check_writes
    again(town)
    assert pull(town).draft and town.hub.phases.count(Phase.READY) == tries
    assert town.hub.check_writes == writes, "nothing new is said while it waits"
    look(town, town.approvals)
    assert not pull(town).draft and "could not" not in gates(town)[0].summary


def test_after_five_refusals_nothing_is_tried_until_somebody_asks_or_pushes(redis: Redis) -> None:
    town, refused = refusing(redis)
    for _ in range(5):
        look(town, refused)
    tries = town.hub.phases.count(Phase.READY)
    assert "5 times, and is not tried again by itself" in gates(town)[0].summary
    for _ in range(3):
        look(town, town.approvals)
    assert town.hub.phases.count(Phase.READY) == tries and pull(town).draft
    town.tell("check_run.rerequested", text=f"gate:{town.run.change}", issue=0)
    assert not pull(town).draft and town.hub.marked == [2]
    assert "could not" not in gates(town)[0].summary


def unnoticed(town: Town) -> None:
    """A person takes all of it back, and no event comes of that."""
    town.hub.pulls[2] = replace(pull(town), draft=True, asked=())
    town.hub.done.append(PullAct("convert_to_draft", "carol"))
    town.hub.done.append(PullAct("review_request_removed", "carol", "alice"))


def test_taken_back_before_it_was_recorded_and_untold_it_stays_so(redis: Redis) -> None:
    town = Breaking.made(redis)
    dying = town.break_with(Killed, sent=True)
    town.hub.reported[pull(town).head_sha] = (Report("build", "success"),)
    with pytest.raises(Killed):
        dying.look(town.approvals.published(town.run))
    unnoticed(town)
    town.rows.unlock(town.run.change, dying.owner)
    again(town)
    past = town.rows.ready(town.run.change)
    assert pull(town).draft and town.hub.marked == [2] and pull(town).asked == ()
    assert (past.mark, past.back) == (Done.DONE, True)


def test_a_request_taken_back_before_it_was_recorded_is_not_made_again(redis: Redis) -> None:
    town = Waiting.made(redis)

    class Dying(FakeWriter):
        def request_review(
            self, number: int, logins: Sequence[str], teams: Sequence[str]
        ) -> PullView:
            FakeWriter.request_review(self, number, logins, teams)
            raise Killed

    @contextmanager
    def write(run: Run, phase: Phase) -> Iterator[GitHubWriter]:
        with town.hub.write(run, phase):
            yield Dying(town.hub, run.branch, phase)

    town.hub.reported[pull(town).head_sha] = (Report("build", "success"),)
    dying = replace(town.approvals, write=write)
    with pytest.raises(Killed):
        dying.look(town.approvals.published(town.run))
    assert pull(town).asked == ("alice",) and town.rows.ready(town.run.change).ask is Done.BEGUN
    town.hub.pulls[2] = replace(pull(town), asked=())
    town.rows.unlock(town.run.change, dying.owner)
    again(town)
    assert pull(town).asked == () and town.rows.ready(town.run.change).ask is Done.DONE
    assert "A review was asked of `alice`." in gates(town)[0].summary


def test_a_ledger_that_forgot_it_does_nothing_again(town: Town, redis: Redis) -> None:
    unnoticed(town)
    redis.delete(record.ready_key(town.run.change))
    again(town)
    assert pull(town).draft and town.hub.marked == [2] and pull(town).asked == ()


def test_where_github_does_not_tell_what_was_done_nothing_is(redis: Redis) -> None:
    town = Waiting.made(redis)

    def refused(_run: Run, _pull: int) -> Sequence[PullAct]:
        raise Refused("Resource not accessible by integration", 403)

    town.hub.reported[pull(town).head_sha] = (Report("build", "success"),)
    replace(town.approvals, acts=refused).look(town.approvals.published(town.run))
    assert pull(town).draft and pull(town).asked == () and town.hub.marked == []
    assert "what was done to it before cannot be read" in gates(town)[0].summary
    again(town)
    assert pull(town).draft, "it is tried again later"
    look(town, town.approvals)
    assert not pull(town).draft and pull(town).asked == ("alice",)
