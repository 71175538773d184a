"""After the draft: people push, the base goes on, and the evidence follows without a model."""

from __future__ import annotations

import pytest

from app.domain import record
from app.domain.errors import Reason
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.e2e.conftest import FILES, FIX, Town
from tests.e2e.test_commands import quiet, said
from tests.e2e.test_verify_command import examined

pytestmark = pytest.mark.docker
MORE = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n"
CI = "on: push\njobs: {}\n"


def drafted(town: Town, files: dict[str, str] | None = None) -> tuple[str, int, Run]:
    """A repository whose issue became a draft: its name, the issue's number, the run."""
    name = town.repository(files)
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    assert run.state is State.COMPLETE and run.publication.pull, run.halt
    quiet(town)
    assert town.up.model is not None
    town.up.model.reset()  # whatever asks it from now on fails, and is seen
    return name, number, run


def followed(town: Town, name: str, number: int, after: Run, kind: Kind) -> Run:
    """The next run of the Change once it has ended and said so."""
    run = town.up.await_run(
        lambda one: (
            one.repository.full_name == name
            and one.issue == number
            and one.created > after.created
            and one.explained
        ),
        240,
    )
    assert run.kind is kind, run
    assert town.up.model is not None and town.up.model.requests() == []
    return run


def conclusion(town: Town, name: str, commit: str) -> str:
    """Of the one check run of ours with evidence on a commit; the approval is another."""
    found = [
        one
        for one in town.up.hub.check_runs(name, commit)
        if one["name"] == "patchwarrant/evidence"
    ]
    (check,) = found
    return str(check["conclusion"])


def body(town: Town, name: str, run: Run) -> str:
    return str(town.up.hub.pull(name, run.publication.pull)["body"])


def test_a_persons_push_is_checked_again_then_the_base_is_merged(town: Town) -> None:
    name, number, first = drafted(town)
    hub, branch, pull = town.up.hub, first.publication.branch, first.publication.pull
    head = hub.push(name, "mona", branch, {"sums.py": MORE})
    run = followed(town, name, number, first, Kind.RECHECK)
    assert run.state is State.COMPLETE and run.verdict is not None, run.halt
    assert run.verdict.result is Result.PASSED and run.publication.commit == head
    assert run.requester.login == "mona"
    assert conclusion(town, name, head) == "success"
    text = body(town, name, run)
    assert head in text and "not made by the agent" in text and "`mona`" in text
    assert "Since the evidence before" in text and "`sums.py`" in text
    assert hub.pull(name, pull)["head"]["sha"] == head, "no commit of ours"
    done = examined(town, name, pull, run)
    assert done.returncode == 0, done.stdout + done.stderr

    hub.comment(name, pull, "mona", "/agent update")
    same = followed(town, name, number, run, Kind.UPDATE)
    assert same.halt is not None and same.halt.reason is Reason.NO_CHANGE
    assert "nothing to merge" in said(town, name, pull, f"patchwarrant:ending:{same.id}")

    base = hub.push(name, "mona", "main", {"news.md": "news\n"})
    hub.comment(name, pull, "mona", "/agent update")
    updated = followed(town, name, number, same, Kind.UPDATE)
    assert updated.state is State.COMPLETE and updated.verdict is not None, updated.halt
    assert updated.verdict.result is Result.PASSED and updated.verdict.base_commit == base
    shown = hub.pull(name, pull)["head"]["sha"]
    assert shown == updated.publication.commit
    parents = town.up.hub.commit(name, shown)["parents"]
    assert [one["sha"] for one in parents] == [head, base]
    assert "is merged in as" in said(town, name, pull, f"patchwarrant:ending:{updated.id}")
    assert head in body(town, name, updated), "people's commits stay named"
    done = examined(town, name, pull, updated)
    assert done.returncode == 0, done.stdout + done.stderr
    quiet(town)
    newest = town.up.ledger.runs(1)[0]
    assert newest.id == updated.id, "our own push starts nothing"


def test_a_conflict_names_the_files_and_a_persons_merge_is_checked_by_itself(town: Town) -> None:
    name, number, first = drafted(town)
    hub, branch, pull = town.up.hub, first.publication.branch, first.publication.pull
    theirs = FILES["sums.py"].replace("a - b", "b + a")
    hub.push(name, "mona", "main", {"sums.py": theirs})
    hub.comment(name, number, "mona", "/agent update")
    run = followed(town, name, number, first, Kind.UPDATE)
    assert run.halt is not None and run.halt.reason is Reason.MERGE_CONFLICT
    note = said(town, name, pull, f"patchwarrant:ending:{run.id}")
    assert "sums.py" in note and "resolve them" in note
    assert hub.pull(name, pull)["head"]["sha"] == first.publication.commit
    assert "Not certified" not in body(town, name, first)

    wrong = {"sums.py": FILES["sums.py"].replace("a - b", "4")}
    hub.push(name, "mona", branch, wrong)
    again = followed(town, name, number, run, Kind.RECHECK)
    assert again.verdict is not None and again.verdict.result is not Result.PASSED
    assert conclusion(town, name, again.publication.commit) == "action_required"
    assert "passed → failed" in body(town, name, again)
    assert hub.pull(name, pull)["title"].startswith("[incomplete] ")


def test_changed_workflow_files_are_left_to_githubs_own_button(town: Town) -> None:
    name, number, first = drafted(town, {**FILES, ".github/workflows/ci.yml": CI})
    hub, pull = town.up.hub, first.publication.pull
    hub.push(name, "mona", "main", {".github/workflows/ci.yml": CI + "# more\n"})
    hub.comment(name, pull, "mona", "/agent update")
    run = followed(town, name, number, first, Kind.UPDATE)
    assert run.halt is not None and run.halt.reason is Reason.WORKFLOW_FILES, run.halt
    assert "Update branch" in said(town, name, pull, f"patchwarrant:ending:{run.id}")
    assert hub.pull(name, pull)["head"]["sha"] == first.publication.commit

    merge = hub.update_branch(name, pull, "mona")
    again = followed(town, name, number, run, Kind.RECHECK)
    assert again.verdict is not None and again.verdict.result is Result.PASSED, again.halt
    assert again.publication.commit == merge and merge in body(town, name, again)


def test_a_push_during_a_look_drops_it_and_the_next_look_is_at_the_newest(town: Town) -> None:
    name, number, first = drafted(town)
    hub, branch = town.up.hub, first.publication.branch
    town.up.stop("runner")
    hub.push(name, "mona", branch, {"one.py": "x = 1\n"})
    town.up.await_run(
        lambda run: (
            run.repository.full_name == name
            and run.kind is Kind.RECHECK
            and run.contract is not None
        ),
        120,
    )
    hub.push(name, "mona", branch, {"two.py": "x = 2\n"})
    newest = hub.push(name, "mona", branch, {"three.py": "x = 3\n"})
    quiet_but(town)
    town.up.start("runner")
    dropped = followed(town, name, number, first, Kind.RECHECK)
    assert dropped.halt is not None and dropped.halt.reason is Reason.HEAD_MOVED
    run = followed(town, name, number, dropped, Kind.RECHECK)
    assert run.state is State.COMPLETE and run.publication.commit == newest
    quiet(town)
    runs = [one for one in town.up.ledger.runs(20) if one.repository.full_name == name]
    assert len(runs) == 3, "three pushes, two looks"


def quiet_but(town: Town) -> None:
    """Until what was pushed was delivered and only one event waits for its turn."""
    town.up.hub.wait_delivered()
    town.up.await_true(lambda: len(town.up.ledger.unhandled_events(10)) == 1, 120)


@pytest.mark.parametrize("at", ["/git/commits$", "/git/refs/heads/"])
def test_kill_9_in_an_update_leaves_one_merge_commit(town: Town, at: str) -> None:
    name, number, first = drafted(town)
    hub, pull = town.up.hub, first.publication.pull
    base = hub.push(name, "mona", "main", {"news.md": "news\n"})
    key = "commit" if "commits" in at else "branch"
    town.slow(name, at, "POST" if key == "commit" else "PATCH")
    hub.comment(name, pull, "mona", "/agent update")
    run = town.up.await_run(
        lambda one: one.kind is Kind.UPDATE and one.repository.full_name == name, 120
    )

    def sent() -> bool:
        with town.up.redis.client() as client:
            return bool(client.hexists(record.intents_key(run.id), key))

    town.up.await_true(sent, 240)
    town.up.kill("desk")
    town.up.start("desk")
    ended = followed(town, name, number, first, Kind.UPDATE)
    assert ended.state is State.COMPLETE, ended.halt
    head = hub.pull(name, pull)["head"]["sha"]
    assert head == ended.publication.commit
    parents = [one["sha"] for one in hub.commit(name, head)["parents"]]
    assert parents == [first.publication.commit, base]
    checks = [one for one in hub.check_runs(name, head) if one["name"] == "patchwarrant/evidence"]
    assert len(checks) == 1
    assert len([ref for ref in hub.refs(name) if "agent/" in ref]) == 1


WITH_SECRET = (
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n"
    "    steps: [{run: make, env: {T: '${{ secrets.T }}'}}]\n"
)


def test_a_held_head_is_let_run_by_a_word_even_where_the_desk_is_killed(town: Town) -> None:
    name, number, first = drafted(town, {**FILES, ".github/workflows/ci.yml": WITH_SECRET})
    hub, held, pull = town.up.hub, first.publication.commit, first.publication.pull
    assert "skip-checks: true" in hub.commit(name, held)["message"]
    assert "/agent ci" in body(town, name, first)
    town.slow(name, "/git/refs/heads/", "PATCH")
    hub.comment(name, pull, "mona", "/agent ci")
    run = town.up.await_run(
        lambda one: one.kind is Kind.UNHOLD and one.repository.full_name == name, 120
    )

    def sent() -> bool:
        with town.up.redis.client() as client:
            return bool(client.hexists(record.intents_key(run.id), "branch"))

    town.up.await_true(sent, 240)
    town.up.kill("desk")
    town.up.start("desk")
    run = followed(town, name, number, first, Kind.UNHOLD)
    assert run.state is State.COMPLETE, run.halt
    head = hub.pull(name, pull)["head"]["sha"]
    made = hub.commit(name, head)
    assert head == run.publication.commit and "skip-checks" not in made["message"]
    assert [one["sha"] for one in made["parents"]] == [held]
    assert made["tree"]["sha"] == hub.commit(name, held)["tree"]["sha"]
    assert conclusion(town, name, head) == "success" and head in body(town, name, run)
    done = examined(town, name, pull, run)
    assert done.returncode == 0, done.stdout + done.stderr

    def gate(title: str) -> bool:
        found = [one for one in hub.check_runs(name, head) if one["name"] == "patchwarrant/gate"]
        return [one["output"]["title"] for one in found] == [title]

    town.up.await_true(lambda: gate("Waits for the repository's own CI"), 120)
    hub.set_status(name, "mona", head, "build", "failure")
    town.up.await_true(lambda: gate("The repository's own CI failed"), 120)
    hub.set_status(name, "mona", head, "build", "success")
    town.up.await_true(lambda: gate("Ready for review"), 120)
