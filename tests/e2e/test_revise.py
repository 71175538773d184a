"""`/agent revise` through the whole product: what a reviewer asks becomes one follow-up commit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.domain.errors import Reason
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.e2e.conftest import FILES, FIX, Town
from tests.e2e.test_kill import intended
from tests.e2e.test_verify_command import examined

pytestmark = pytest.mark.docker
FLOATS = {"sums.py": 'def add(a, b):\n    """The sum."""\n    return a + b\n'}
TESTED = {
    **FLOATS,
    "tests/test_sums.py": FILES["tests/test_sums.py"]
    + "\n\ndef test_negative():\n    assert add(-1, 1) == 0\n",
}


def published(town: Town, files: Mapping[str, str] | None = None) -> tuple[str, int, Run]:
    """A pull request of ours that passed: (repository, its number, the run)."""
    name = town.repository(files)
    town.patches(name, FIX)
    run = town.end(name, town.ask(name))
    assert run.verdict is not None and run.verdict.result is Result.PASSED, run.halt
    return name, run.publication.pull, run


def revised(town: Town, name: str, first: Run, after: str = "", seconds: float = 240) -> Run:
    """The next revision of that pull request, when it has ended and said so."""
    return town.up.await_run(
        lambda run: (
            run.repository.full_name == name
            and run.kind is Kind.REVISE
            and run.id not in (first.id, after)
            and run.explained
        ),
        seconds,
    )


def commits(town: Town, name: str, number: int) -> int:
    return int(town.up.hub.pull(name, number)["commits"])


def replies(town: Town, name: str, number: int) -> dict[int, str]:
    """Our replies, by the comment that their thread began with."""
    return {
        one["in_reply_to_id"]: one["body"]
        for one in town.up.hub.review_comments(name, number)
        if one["user"]["type"] == "Bot"
    }


def test_a_comment_in_the_conversation_becomes_one_follow_up_commit(town: Town) -> None:
    name, number, first = published(town)
    hub = town.up.hub
    town.revises(name, TESTED)
    said = hub.comment(name, number, "mona", "/agent revise Give add a docstring, and add a test.")
    run = revised(town, name, first)
    assert run.state is State.COMPLETE, run.halt
    assert run.verdict is not None and run.verdict.result is Result.PASSED, run.verdict.wall
    head = hub.pull(name, number)["head"]["sha"]
    assert head == run.publication.commit != first.publication.commit
    assert commits(town, name, number) == 2
    assert run.contract is not None and run.contract.head == first.publication.commit
    assert run.contract.base_commit == first.contract.base_commit  # type: ignore[union-attr]
    shown = next(one for one in hub.comments(name, number) if one["id"] == said)
    assert shown["reactions"]["eyes"] == 1
    body = hub.pull(name, number)["body"]
    assert "What changed since the previous head" in body
    assert "test_negative" in body and "Newly passing" in body
    assert head in body and first.publication.commit not in body.partition("##")[0]
    checks = {one["name"]: one["conclusion"] for one in hub.check_runs(name, head)}
    assert checks["patchwarrant/evidence"] == "success"
    told = [c["body"] for c in hub.comments(name, number) if f"revised in {head}" in c["body"]]
    assert len(told) == 1 and "@mona" in told[0]
    done = examined(town, name, number, run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stands on the head that the evidence names" in done.stdout


def line(path: str, number: int, body: str) -> dict[str, object]:
    return {"path": path, "line": number, "body": body}


def test_an_inline_comment_is_scoped_to_its_file_and_answered_in_its_thread(town: Town) -> None:
    name, number, first = published(town)
    hub = town.up.hub
    done = [{"thread": "t1", "outcome": "done", "why": "there is a docstring now"}]
    town.revises(name, FLOATS, done)
    hub.review(
        name, number, "mona", "COMMENT",
        comments=[line("sums.py", 2, "/agent revise Say what it gives.")],
    )  # fmt: skip
    run = revised(town, name, first)
    assert run.state is State.COMPLETE and run.contract is not None, run.halt
    revision = run.contract.revision
    assert revision is not None and revision.scope.globs == ("sums.py",)
    assert [(one.path, one.line) for one in revision.threads] == [("sums.py", 2)]
    assert commits(town, name, number) == 2
    root = hub.review_comments(name, number)[0]
    assert root["reactions"]["eyes"] == 1
    said = replies(town, name, number)
    assert list(said) == [root["id"]]
    assert f"Done in {run.publication.commit}" in said[root["id"]]
    assert "there is a docstring now" in said[root["id"]]
    assert "**Scope:** `sums.py`." in hub.pull(name, number)["body"]


def test_what_no_comment_opens_is_not_touched(town: Town) -> None:
    name, number, first = published(town)
    town.revises(name, TESTED)
    town.up.hub.review(
        name, number, "mona", "COMMENT",
        comments=[line("sums.py", 2, "/agent revise Say what it gives.")],
    )  # fmt: skip
    run = revised(town, name, first)
    assert run.state is State.HALTED and run.publication.commit == ""
    assert commits(town, name, number) == 1
    told = [c["body"] for c in town.up.hub.comments(name, number) if "ending" in c["body"]]
    assert len(told) == 1 and "before anything was pushed" in told[0]
    assert "Not done" in next(iter(replies(town, name, number).values()))


def test_a_review_that_requests_changes_means_all_of_its_inline_comments(town: Town) -> None:
    name, number, first = published(town)
    hub = town.up.hub
    hub.set_role(name, "rita", "write")
    outcomes = [
        {"thread": "t2", "outcome": "done"},
        {"thread": "t3", "outcome": "declined", "why": "two names would say less"},
        {"thread": "t1", "outcome": "done"},
    ]
    town.revises(name, FLOATS, outcomes)
    hub.review(
        name, number, "rita", "REQUEST_CHANGES", "/agent revise Please, all of these.",
        comments=[
            line("sums.py", 1, "Say what it gives."),
            line("sums.py", 1, "Call them left and right?"),
            line("sums.py", 2, "Is this on one line?"),
        ],
    )  # fmt: skip
    run = revised(town, name, first)
    assert run.state is State.COMPLETE and run.contract is not None, run.halt
    assert run.requester.login == "rita"
    revision = run.contract.revision
    assert revision is not None
    assert [one.comment > 0 for one in revision.threads] == [False, True, True, True]
    assert revision.scope.globs == ("sums.py",)
    assert len(town.up.ledger.runs(300)) and commits(town, name, number) == 2
    said = list(replies(town, name, number).values())
    assert len(said) == 3
    assert "Done in" in said[0]
    assert "Declined, in the model's words: two names would say less" in said[1]
    assert "No outcome was given" in said[2] and "Done" not in said[2].partition("No outcome")[0]
    body = hub.pull(name, number)["body"]
    assert "What the review asked" in body and "two names would say less" in body


def test_comments_during_a_run_wait_in_order_and_the_next_run_takes_them(town: Town) -> None:
    name, number, first = published(town)
    hub, model = town.up.hub, town.up.model
    assert model is not None
    hub.set_role(name, "rita", "write")
    town.revises(name, FLOATS)
    model.latency(6.0)  # the run lasts until both are noted
    hub.comment(name, number, "mona", "/agent revise Add a docstring to sums.py.")
    town.up.await_run(lambda run: run.repository.full_name == name and run.kind is Kind.REVISE, 120)
    waiting = [
        hub.comment(name, number, who, f"/agent revise Wish {one} for sums.py.")
        for who, one in (("mona", "one"), ("rita", "two"))
    ]
    town.up.await_true(lambda: "noted: 2 comments wait" in str(hub.comments(name, number)), 120)
    model.latency(0)
    second = revised(town, name, first)
    assert second.state is State.COMPLETE and second.contract is not None, second.halt
    # The next one starts by itself; the model, as scripted, has nothing for it and changes nothing.
    third = revised(town, name, first, after=second.id)
    revision = third.contract.revision if third.contract else None
    assert revision is not None
    assert revision.events == tuple(f"comment:{one}" for one in waiting)
    assert [one.text for one in revision.threads] == [
        "Wish one for sums.py.",
        "Wish two for sums.py.",
    ]
    assert third.contract is not None and third.contract.head == second.publication.commit
    texts = [one["body"] for one in hub.comments(name, number)]
    assert len([text for text in texts if "noted:" in text]) == 1
    shown = {one["id"]: one for one in hub.comments(name, number)}
    assert [shown[one]["reactions"]["eyes"] for one in waiting] == [1, 1]
    town.up.await_true(lambda: third.change not in town.up.ledger.changes_waiting(), 60)
    (ending,) = [text for text in texts if f"patchwarrant:ending:{third.id}" in text]
    assert "\n@mona @rita " in ending, "everybody whose comment it took up"


def test_a_base_that_is_changed_stops_the_revision_and_is_looked_at_next(town: Town) -> None:
    name, number, first = published(town)
    hub, model = town.up.hub, town.up.model
    assert model is not None
    hub.push(name, "mona", "release", {"r.md": "# R\n"}, start="main")
    town.revises(name, FLOATS)
    model.latency(6.0)  # it is at work until the event has come
    hub.comment(name, number, "mona", "/agent revise Add a docstring to sums.py.")
    town.up.await_run(
        lambda run: (
            run.repository.full_name == name
            and run.kind is Kind.REVISE
            and run.state not in (State.ADMIT, State.PREPARE)
        ),
        120,
    )
    hub.rebase_pull(name, number, "mona", "release")
    stopped = revised(town, name, first)
    model.latency(0)
    assert stopped.halt is not None and stopped.halt.reason is Reason.BASE_CHANGED
    assert "from `main` to `release` by mona" in stopped.halt.message
    assert commits(town, name, number) == 1
    again = town.up.await_run(
        lambda run: run.repository.full_name == name and run.kind is Kind.RECHECK and run.explained,
        120,
    )
    assert again.state is State.COMPLETE and again.contract is not None, again.halt
    assert again.contract.base_branch == "release"


def moved(town: Town, name: str, first: Run, run: Run, at: int) -> None:
    """A person pushes while the revision is about to publish; until it was judged on that head."""
    branch, note = first.publication.branch, {f"note{at}.md": f"# {at}\n"}
    town.up.hub.push(name, "rita", branch, note, f"Note {at}")
    town.up.start("desk")

    def judged() -> bool:
        notes = [e for e in town.up.ledger.journal(run.id) if "reapplied" in e.data]
        return len(notes) == at + 1

    town.up.await_true(judged, 240)


@pytest.mark.parametrize("times", [1, 4])
def test_a_head_that_moves_is_judged_again_three_times_and_never_pushed_over(
    town: Town, times: int
) -> None:
    name, number, first = published(town)
    hub = town.up.hub
    hub.set_role(name, "rita", "write")
    town.revises(name, FLOATS)
    hub.comment(name, number, "mona", "/agent revise Add a docstring to add in sums.py.")
    town.up.await_run(
        lambda run: (
            run.repository.full_name == name
            and run.kind is Kind.REVISE
            and run.state not in (State.ADMIT, State.PREPARE)
        ),
        120,
    )
    town.up.stop("desk")
    run = town.up.await_run(
        lambda one: (
            one.repository.full_name == name
            and one.kind is Kind.REVISE
            and one.state is State.PUBLISH
        ),
        240,
    )
    for at in range(min(times, 3)):
        if at:
            town.up.stop("desk")
            town.up.await_run(lambda one: one.id == run.id and one.state is State.PUBLISH, 240)
        moved(town, name, first, run, at)
    if times > 3:
        town.up.stop("desk")
        town.up.await_run(lambda one: one.id == run.id and one.state is State.PUBLISH, 240)
        hub.push(name, "rita", first.publication.branch, {"last.md": "# Last\n"}, "Last")
        town.up.start("desk")
    ended = revised(town, name, first)
    assert ended.id == run.id and len(ended.heads) == min(times, 3)
    head = hub.pull(name, number)["head"]["sha"]
    if times > 3:
        assert ended.halt is not None and ended.halt.reason is Reason.HEAD_MOVED
        assert ended.publication.commit == "" and commits(town, name, number) == 5
        told = next(c["body"] for c in hub.comments(name, number) if "ending:" in c["body"])
        assert "The sum." in told  # the patch
        return
    assert ended.state is State.COMPLETE, ended.halt
    assert head == ended.publication.commit and commits(town, name, number) == 3
    assert ended.verdict is not None and ended.verdict.result is Result.PASSED
    assert len(ended.attempts) == 2 and ended.attempts[0].tree != ended.attempts[1].tree
    assert [one.author.login for one in ended.people] == ["rita"]
    body = hub.pull(name, number)["body"]
    assert "Commits by people" in body and "Note 0" in body and "`rita`" in body
    assert "The head moved 1 time" in body


def test_a_worker_that_dies_after_the_push_makes_no_second_commit(town: Town) -> None:
    name, number, first = published(town)
    hub = town.up.hub
    town.revises(name, FLOATS)
    town.slow(name, "/git/refs/heads/agent", "PATCH")
    hub.comment(name, number, "mona", "/agent revise Add a docstring to add in sums.py.")
    run = town.up.await_run(
        lambda one: one.repository.full_name == name and one.kind is Kind.REVISE, 120
    )
    reached = intended("branch:0")
    town.up.await_true(lambda: reached(town, run), 240)
    town.up.await_true(lambda: hub.pull(name, number)["commits"] == 2, 120)
    town.up.kill("desk")
    town.up.start("desk")
    ended = revised(town, name, first)
    assert ended.state is State.COMPLETE, ended.halt
    assert commits(town, name, number) == 2
    assert hub.pull(name, number)["head"]["sha"] == ended.publication.commit
    posted = [c for c in hub.comments(name, number) if "revised in" in c["body"]]
    assert len(posted) == 1


def test_an_outsider_and_somebody_elses_pull_request_start_nothing(town: Town) -> None:
    name, number, first = published(town)
    hub = town.up.hub
    hub.set_role(name, "eve", "triage")
    hub.comment(name, number, "eve", "/agent revise Make it all mine.")
    town.up.await_true(lambda: "it needs write access" in str(hub.comments(name, number)), 120)
    hub.push(name, "mona", "topic", {"x.md": "x\n"}, start="main")
    other = hub.open_pull(name, "mona", "topic", "Mine")
    hub.comment(name, other, "mona", "/agent revise Do it.")
    town.up.await_true(lambda: "pull request of mine" in str(hub.comments(name, other)), 120)
    issue = first.issue
    hub.comment(name, issue, "mona", "/agent revise Do it.")
    town.up.await_true(lambda: f"Mine for this is #{number}" in str(hub.comments(name, issue)), 120)
    kinds = [run.kind for run in town.up.ledger.runs(50) if run.repository.full_name == name]
    assert kinds == [Kind.FIX]
