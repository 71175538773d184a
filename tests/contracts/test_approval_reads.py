"""What every reader about approvals promises, on the fake and on the real client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import pytest

from app.domain.errors import Missing
from app.domain.event import Person, Repository
from app.domain.permissions import Phase
from app.domain.ports.approval import ApprovalReader, Vote
from app.domain.ports.ci import CiReader, FailedReport, Report
from app.domain.ports.writer import FileWrite, GitHubWriter
from app.domain.run import Run
from tests.contracts.test_github import the_run
from tests.fakes.github import FakeGitHub, Files, tree_id
from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, acme
from tests.worker.desk.ways import access_to

BRANCH = "agent/issue-1-abc"
FILES = {"README.md": "# Widgets\n", "src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}
MORE = {"src/a.py": "a = 2\n", "src/new.py": "n = 1\n"}


@dataclass
class Case:
    """FILES on main; pull request `number` from BRANCH by our App, with MORE."""

    run: Run
    weigh: Callable[[Run], AbstractContextManager[ApprovalReader]]
    reports: Callable[[Run], AbstractContextManager[CiReader]]
    write: Callable[[Run, Phase], AbstractContextManager[GitHubWriter]]
    main: str
    push: Callable[[str, str, dict[str, str]], str]
    review: Callable[[int, str, str, str], None]
    require: Callable[[str], None]
    twin: Callable[[str], int]
    fails: Callable[[str, str], None]
    number: int = 0
    head: str = ""


def as_files(files: dict[str, str]) -> Files:
    return {path: (0o100644, text.encode()) for path, text in files.items()}


def fake_case() -> Case:
    hub = FakeGitHub(roles={"alice": "write", "bob": "triage"})
    main = hub.commit_files("main", as_files(FILES))
    hub.open_issue(1, "A bug", "It fails")

    def push(branch: str, who: str, files: dict[str, str]) -> str:
        start = hub.branches.get(branch, hub.branches["main"])
        hub.branches.setdefault(branch, start)
        whole = {**hub.trees[hub.commits[start].tree], **as_files(files)}
        made = hub.commit_files(branch, whole, "Mine", Person(1, who))
        for number, view in hub.pulls.items():
            if view.head_ref == branch:
                hub.pulls[number] = replace(view, head_sha=made)
        return made

    def review(number: int, who: str, state: str, commit: str) -> None:
        listed = hub.votes.setdefault(number, [])
        listed.append(Vote(len(listed) + 1, Person(1, who), state, commit, hub.clock))

    def require(name: str) -> None:
        hub.required["main"] = frozenset({name})

    def twin(branch: str) -> int:
        number = max(hub.pulls) + 1
        view = next(iter(hub.pulls.values()))
        sha = hub.branches[branch]
        hub.pulls[number] = replace(view, number=number, head_ref=branch, head_sha=sha)
        return number

    def fails(name: str, head: str) -> None:
        hub.reported[head] = (Report(name, "failure"),)
        notes = ("src/a.py:1: E1: Wrong",)
        hub.said[name] = FailedReport(name, "failure", "One failed", "Sum\n\nLog", notes)

    return Case(
        the_run(hub.repository, 1),
        hub.weigh,
        hub.reports,
        hub.write,
        main,
        push,
        review,
        require,
        twin,
        fails,
    )


VERBS = {"APPROVED": "APPROVE", "CHANGES_REQUESTED": "REQUEST_CHANGES"}


def real_case(hub: GitHubStandin) -> Case:
    hub.reset()
    world = acme(hub)
    gone = {"src/widgets.py": None, ".github/workflows/ci.yml": None}
    main = hub.push(REPO, "alice", "main", {**FILES, **gone}, "The files")
    hub.open_issue(REPO, "bob", "A bug", "It fails")
    access = access_to(world)

    def push(branch: str, who: str, files: dict[str, str]) -> str:
        return hub.push(REPO, who, branch, dict(files), "Mine")

    def review(number: int, who: str, state: str, commit: str) -> None:
        hub.review(REPO, number, who, VERBS[state], "I looked", commit)

    def require(name: str) -> None:
        hub.add_ruleset(REPO, {
            "name": "r", "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"]}},
            "rules": [{"type": "deletion"}, {
                "type": "required_status_checks",
                "parameters": {"required_status_checks": [{"context": name}]},
            }],
        })  # fmt: skip

    def fails(name: str, head: str) -> None:
        hub.create_app("ci", permissions={"checks": "write"})
        note = {"path": "src/a.py", "start_line": 1, "end_line": 1, "title": "E1",
                "message": "Wrong", "annotation_level": "failure"}  # fmt: skip
        output = {"title": "One failed", "summary": "Sum", "text": "Log", "annotations": [note]}
        hub.add_check_run(REPO, "ci", head, name, "failure", output)

    return Case(
        the_run(Repository(world.repo_id, "acme", "widgets"), world.installation),
        access.weigh, access.reports, access.write, main, push, review, require,
        lambda branch: hub.open_pull(REPO, "alice", branch, "Twin"), fails,
    )  # fmt: skip


@pytest.fixture(scope="module")
def hub() -> Iterator[GitHubStandin]:
    with GitHubStandin() as made:
        yield made


@pytest.fixture(params=["fake", "real"])
def case(request: pytest.FixtureRequest) -> Case:
    real = request.param == "real"
    made = real_case(request.getfixturevalue("hub")) if real else fake_case()
    with made.write(made.run, Phase.GIT) as writer:
        tree = tree_id(as_files({**FILES, **MORE}))
        changes = [FileWrite(path, 0o100644, text.encode()) for path, text in MORE.items()]
        writer.tree(writer.commit_view(made.main).tree, changes, tree)
        made.head, _ = writer.commit("Fix\n\nAgent-Run: abc", tree, made.main)
        writer.create_branch(BRANCH, made.head)
    with made.write(made.run, Phase.PULL) as writer:
        made.number = writer.open_pull("Fix", "Body", BRANCH, "main").number
    return made


def test_reviews_with_their_commit_person_and_time(case: Case) -> None:
    with case.weigh(case.run) as reader:
        assert reader.votes(case.number) == ()
        case.review(case.number, "alice", "CHANGES_REQUESTED", case.head)
        case.review(case.number, "bob", "APPROVED", case.main)
        found = reader.votes(case.number)
    assert [(one.by.login, one.state, one.commit) for one in found] == [
        ("alice", "CHANGES_REQUESTED", case.head),
        ("bob", "APPROVED", case.main),
    ]
    assert all(one.at.endswith("Z") and one.by.kind == "User" for one in found)
    assert found[0].id < found[1].id


def test_commits_tell_ours_from_a_persons(case: Case) -> None:
    theirs = case.push(BRANCH, "alice", {"more.py": "m = 1\n"})
    with case.weigh(case.run) as reader:
        found = reader.weighed_commits(case.number)
    assert [one.sha for one in found] == [case.head, theirs]
    ours, mine = found
    assert ours.author is not None and ours.author.kind == "Bot" and ours.verified
    assert "Agent-Run: abc" in ours.message.splitlines()
    assert mine.author is not None and (mine.author.login, mine.author.kind) == ("alice", "User")
    assert not mine.verified


def test_what_two_commits_changed_since_they_parted(case: Case) -> None:
    tip = case.push("main", "alice", {"src/b.py": "b = 2\n"})
    with case.weigh(case.run) as reader:
        change = reader.compared(case.main, case.head)
        assert (change.parted, change.paths) == (case.main, frozenset(MORE))
        assert change.whole
        base = reader.compared(case.main, tip)
        assert (base.parted, base.paths) == (case.main, frozenset({"src/b.py"}))
        both = reader.compared(case.head, tip)
        assert (both.parted, both.paths) == (case.main, frozenset({"src/b.py"}))
        assert reader.compared(case.main, case.main).paths == frozenset()
        with pytest.raises(Missing):
            reader.compared("0" * 40, tip)


def test_our_check_runs_by_name(case: Case) -> None:
    with case.write(case.run, Phase.EVIDENCE) as writer:
        made = writer.check_run("patchwarrant/approval", case.head, "approval:abc",
                                "action_required", "T", "S <!-- x -->", "")  # fmt: skip
        writer.check_run("patchwarrant/evidence", case.head, "abc", "success", "T", "S", "")
    with case.weigh(case.run) as reader:
        (found,) = reader.checks(case.head, "patchwarrant/approval")
        assert (found.id, found.external_id) == (made, "approval:abc")
        assert (found.status, found.conclusion) == ("completed", "action_required")
        assert found.summary == "S <!-- x -->" and found.since.endswith("Z")
        assert reader.checks(case.main, "patchwarrant/approval") == ()


def test_what_the_red_reports_say(case: Case) -> None:
    with case.reports(case.run) as reader:
        assert reader.failed(case.head, {"tests", "slow"}) == ()
        case.fails("tests", case.head)
        assert reader.failed(case.head, {"slow"}) == ()
        (found,) = reader.failed(case.head, {"tests", "slow"})
    assert (found.name, found.conclusion, found.title) == ("tests", "failure", "One failed")
    assert found.text == "Sum\n\nLog" and found.notes == ("src/a.py:1: E1: Wrong",)


def test_the_checks_that_rules_ask_for(case: Case) -> None:
    with case.weigh(case.run) as reader:
        assert reader.required_checks("main") == frozenset()
        case.require("patchwarrant/approval")
        assert reader.required_checks("main") == {"patchwarrant/approval"}
        assert reader.required_checks("topic") == frozenset()


def test_the_pull_requests_that_hold_a_commit(case: Case) -> None:
    case.push("topic", "alice", {"t.py": "t = 1\n"})
    twin = case.twin("topic")
    with case.weigh(case.run) as reader:
        found = reader.pulls_with(case.head)
        assert [(one.number, one.head_sha, one.head_ref) for one in found] == [
            (case.number, case.head, BRANCH)
        ]
        assert twin not in {one.number for one in found}


def test_a_foreign_apps_check_run_of_our_name_is_not_ours(hub: GitHubStandin) -> None:
    case = real_case(hub)
    hub.create_app("other", permissions={"checks": "write"})
    hub.add_check_run(REPO, "other", case.main, "patchwarrant/approval", "success")
    with case.weigh(case.run) as reader:
        assert reader.checks(case.main, "patchwarrant/approval") == ()


def test_what_other_apps_and_statuses_say_of_a_commit(hub: GitHubStandin) -> None:
    case = real_case(hub)
    hub.create_app("other", permissions={"checks": "write"})
    hub.add_check_run(REPO, "other", case.main, "build", "failure")
    hub.add_check_run(REPO, "other", case.main, "lint")
    for state in ("failure", "success"):
        hub.set_status(REPO, "alice", case.main, "deploy", state)
    hub.set_status(REPO, "alice", case.main, "slow", "pending")
    hub.set_status(REPO, "alice", case.main, "broken", "error")
    with case.write(case.run, Phase.EVIDENCE) as writer:
        writer.check_run("patchwarrant/gate", case.main, "gate:x", "success", "T", "S", "")
    with case.reports(case.run) as reader:
        said = {one.name: one.conclusion for one in reader.reports(case.main)}
    assert said == {
        "build": "failure", "lint": "", "deploy": "success", "slow": "", "broken": "failure",
    }  # fmt: skip
