"""What every reader and writer of GitHub promises, on the fake and on the real client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import pytest

from app.domain.errors import Exists, ForbiddenCall, IntegrityError, Missing, Refused
from app.domain.event import Person, Repository
from app.domain.permissions import Phase
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import InlineView, ReviewView
from app.domain.ports.writer import FileWrite, GitHubWriter
from app.domain.run import Run
from app.domain.state import Kind
from tests.fakes.github import FakeComment, FakeGitHub, Files, object_id, tree_id
from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, acme
from tests.worker.desk.ways import access_to

BRANCH = "agent/issue-1-abc"
MARK = "<!-- patchwarrant:status:abc -->"
FILES: Files = {
    "README.md": (0o100644, b"# Widgets\n"),
    "src/a.py": (0o100644, b"a = 1\n"),
    "src/b.py": (0o100755, b"b = 1\r\n"),
}


@dataclass
class Case:
    """One repository with FILES on main and issue 1, and the outside's hands."""

    run: Run
    read: Callable[[Run], AbstractContextManager[GitHubReader]]
    write: Callable[[Run, Phase], AbstractContextManager[GitHubWriter]]
    head: str
    files: Files
    lock: Callable[[], None]
    foreign_comment: Callable[[str], None]
    comments: Callable[[], list[str]]
    labels: Callable[[], set[str]]
    archive: Callable[[], None]
    no_drafts: Callable[[], None]
    close_pull: Callable[[int], None]
    reactions: Callable[[], int]
    conclusions: Callable[[str], list[str]]
    review: Callable[[int, str, int, str], int]  # a person's inline comment: its id


def the_run(repository: Repository, installation: int) -> Run:
    return Run(
        id="abc",
        kind=Kind.FIX,
        change="abc",
        event="e",
        installation=installation,
        repository=repository,
        issue=1,
        requester=Person(1, "alice"),
        created=0,
    )


def fake_case() -> Case:
    hub = FakeGitHub(roles={"alice": "write", "bob": "triage"})
    head = hub.commit_files("main", FILES)
    hub.open_issue(1, "A bug", "It fails", "agent:fix", "bug")

    def lock() -> None:
        hub.issues[1] = replace(hub.issues[1], locked=True)

    def foreign(body: str) -> None:
        hub.comments.append(FakeComment(hub.next_id(), 1, body, ours=False))

    def close(number: int) -> None:
        hub.pulls[number] = replace(hub.pulls[number], state="closed")

    def review(number: int, path: str, line: int, body: str) -> int:
        made, alice = hub.next_id(), Person(1, "alice")
        hub.reviews.append(ReviewView(made - 1, "", alice, "COMMENTED"))
        hub.inline.append(InlineView(made, made - 1, made, body, alice, path, line, line))
        return made

    return Case(
        run=the_run(hub.repository, 1),
        read=hub.read,
        write=hub.write,
        head=head,
        files=FILES,
        lock=lock,
        foreign_comment=foreign,
        comments=lambda: [c.body for c in hub.comments],
        labels=lambda: set(hub.issues[1].labels),
        archive=lambda: setattr(hub, "archived", True),
        no_drafts=lambda: setattr(hub, "drafts", False),
        close_pull=close,
        reactions=lambda: len(hub.reactions),
        conclusions=lambda sha: [c.conclusion for c in hub.checks if c.head == sha],
        review=review,
    )


def real_case(hub: GitHubStandin) -> Case:
    hub.reset()
    world = acme(hub)
    files: dict[str, object] = {
        "README.md": "# Widgets\n",
        "src/a.py": "a = 1\n",
        "src/b.py": {"base64": "YiA9IDENCg==", "mode": "100755"},
        "src/widgets.py": None,
        ".github/workflows/ci.yml": None,
    }
    head = hub.push(REPO, "alice", "main", files, "The files")
    assert hub.open_issue(REPO, "bob", "A bug", "It fails", ["agent:fix", "bug"]) == 1
    access = access_to(world)

    def review(number: int, path: str, line: int, body: str) -> int:
        one = {"path": path, "line": line, "body": body}
        hub.review(REPO, number, "alice", "COMMENT", comments=[one])
        return int(hub.review_comments(REPO, number)[-1]["id"])

    return Case(
        run=the_run(Repository(world.repo_id, "acme", "widgets"), world.installation),
        read=access.read,
        write=access.write,
        head=head,
        files=FILES,
        lock=lambda: hub.lock_issue(REPO, 1, "alice", locked=True),
        foreign_comment=lambda body: (hub.comment(REPO, 1, "bob", body), None)[1],
        comments=lambda: [c["body"] for c in hub.comments(REPO, 1)],
        labels=lambda: {x["name"] for x in hub.issue(REPO, 1)["labels"]},
        archive=lambda: hub.configure_repo(REPO, archived=True) and None,
        no_drafts=lambda: hub.configure_repo(REPO, drafts=False) and None,
        close_pull=lambda number: hub.close_issue(REPO, number, "alice") and None,
        reactions=lambda: hub.issue(REPO, 1)["reactions"]["total_count"],
        conclusions=lambda sha: [c["conclusion"] for c in hub.check_runs(REPO, sha)],
        review=review,
    )


@pytest.fixture(scope="module")
def hub() -> Iterator[GitHubStandin]:
    with GitHubStandin() as made:
        yield made


@pytest.fixture(params=["fake", "real"])
def case(request: pytest.FixtureRequest) -> Case:
    if request.param == "fake":
        return fake_case()
    return real_case(request.getfixturevalue("hub"))


# -- reads -----------------------------------------------------------------------------------------


def test_the_repository_is_known_by_its_id(case: Case) -> None:
    with case.read(case.run) as reader:
        assert reader.repository() == (case.run.repository, "main", False)
        case.archive()
        assert reader.repository()[2] is True


def test_roles_are_the_collaborators(case: Case) -> None:
    with case.read(case.run) as reader:
        assert reader.role("alice") == "write"
        assert reader.role("bob") == "triage"
        assert reader.role("nobody-at-all") == "none"


def test_an_issue_as_it_is(case: Case) -> None:
    with case.read(case.run) as reader:
        view = reader.issue(1)
        assert (view.title, view.body, view.state) == ("A bug", "It fails", "open")
        assert not view.locked and not view.is_pull and set(view.labels) == {"agent:fix", "bug"}
        case.lock()
        assert reader.issue(1).locked
        with pytest.raises(Missing):
            reader.issue(99)


def test_branch_tree_and_file(case: Case) -> None:
    with case.read(case.run) as reader:
        assert reader.branch("main") == case.head
        with pytest.raises(Missing):
            reader.branch("mai")
        assert reader.tree_of(case.head) == tree_id(case.files)
        data = case.files["src/b.py"][1]
        assert reader.file("src/b.py", case.head) == (data, object_id("blob", data))
        assert reader.file("nothing.yml", case.head) is None


# -- objects, ref ----------------------------------------------------------------------------------


CHANGES = [
    FileWrite("README.md", 0o100644, "# Widgets 🚀\r\n".encode()),
    FileWrite("src/a.py", 0, None),
    FileWrite("new/empty.txt", 0o100644, b""),
    FileWrite("new/nul.bin", 0o100644, b"a\0b"),
    FileWrite("new/latin.txt", 0o100644, b"caf\xe9"),
    FileWrite("new/run.sh", 0o100755, b"#!/bin/sh"),
]


def changed(files: Files) -> Files:
    made = dict(files)
    for one in CHANGES:
        if one.data is None:
            del made[one.path]
        else:
            made[one.path] = (one.mode, one.data)
    return made


def committed(case: Case, writer: GitHubWriter) -> str:
    expected = tree_id(changed(case.files))
    writer.tree(tree_id(case.files), CHANGES, expected)
    commit, verified = writer.commit("Fix\n\nAgent-Run: abc\n", expected, case.head)
    assert verified
    return commit


def test_a_tree_of_every_kind_of_file_is_the_tree_that_was_computed(case: Case) -> None:
    with case.write(case.run, Phase.GIT) as writer:
        commit = committed(case, writer)
        view = writer.commit_view(commit)
    assert view.tree == tree_id(changed(case.files)) and view.parents == (case.head,)
    assert "Agent-Run: abc" in view.message.splitlines()


def test_another_tree_than_expected_is_an_integrity_error(case: Case) -> None:
    with case.write(case.run, Phase.GIT) as writer, pytest.raises(IntegrityError):
        writer.tree(tree_id(case.files), CHANGES, "0" * 40)


def test_deleting_what_is_not_there_is_refused(case: Case) -> None:
    gone = [FileWrite("nothing", 0, None)]
    with case.write(case.run, Phase.GIT) as writer, pytest.raises(Refused):
        writer.tree(tree_id(case.files), gone, tree_id(case.files))


def test_a_branch_is_made_once_and_never_moved(case: Case) -> None:
    with case.write(case.run, Phase.GIT) as writer:
        assert writer.find_branch(BRANCH) is None
        commit = committed(case, writer)
        writer.create_branch(BRANCH, commit)
        assert writer.find_branch(BRANCH) == commit
        with pytest.raises(Exists):
            writer.create_branch(BRANCH, case.head)
        assert writer.find_branch(BRANCH) == commit
        for other in ("main", "agent/issue-1-other"):
            with pytest.raises(ForbiddenCall):
                writer.create_branch(other, commit)
            with pytest.raises(ForbiddenCall):
                writer.find_branch(other)
        with pytest.raises(Missing):
            writer.commit_view("0" * 40)


def test_a_branch_moves_forward_only(case: Case) -> None:
    with case.write(case.run, Phase.GIT) as writer:
        first = committed(case, writer)
        writer.create_branch(BRANCH, first)
        tree = writer.commit_view(first).tree
        merge, _ = writer.commit("Merge", tree, first, case.head)
        assert writer.commit_view(merge).parents == (first, case.head)
        other, _ = writer.commit("Aside", tree, case.head)
        assert writer.advance_branch(BRANCH, merge, first) == merge
        assert writer.find_branch(BRANCH) == merge
        with pytest.raises(Refused, match="fast forward"):
            writer.advance_branch(BRANCH, other, merge)
        assert writer.find_branch(BRANCH) == merge
        with pytest.raises(ForbiddenCall):
            writer.advance_branch("main", merge, case.head)


def test_commits_of_a_branch_are_listed_oldest_first(case: Case) -> None:
    with case.write(case.run, Phase.GIT) as writer:
        first = committed(case, writer)
        tree = writer.commit_view(first).tree
        second, _ = writer.commit("More", tree, first)
        merge, _ = writer.commit("Merge", tree, second, case.head)
        writer.create_branch(BRANCH, merge)
    following = replace(case.run, kind=Kind.RECHECK)
    with case.read(following) as reader:
        found = reader.commits(case.head, merge)
        assert [(one.sha, one.parents) for one in found] == [(first, 1), (second, 1), (merge, 2)]
        assert found[0].author.kind == "Bot"
        assert reader.parting(case.head, merge) == (case.head, 0)


# -- pull request ----------------------------------------------------------------------------------


def branched(case: Case) -> str:
    with case.write(case.run, Phase.GIT) as writer:
        commit = committed(case, writer)
        writer.create_branch(BRANCH, commit)
        return commit


def test_a_draft_is_opened_once_found_and_brought_up_to_date(case: Case) -> None:
    commit = branched(case)
    with case.write(case.run, Phase.PULL) as writer:
        assert writer.find_pull(BRANCH) is None
        view = writer.open_pull("Fix it", "The body", BRANCH, "main")
        assert view.draft and view.state == "open" and view.head_sha == commit
        assert (view.head_ref, view.base_ref) == (BRANCH, "main")
        assert view.head_repository == case.run.repository.id and view.author.kind == "Bot"
        with pytest.raises(Exists):
            writer.open_pull("Fix it", "The body", BRANCH, "main")
        assert writer.find_pull(BRANCH) == writer.pull_view(view.number) == view
        updated = writer.update_pull(view.number, None, "Another body")
        assert (updated.title, updated.body) == ("Fix it", "Another body")
        case.close_pull(view.number)
        found = writer.find_pull(BRANCH)
        assert found is not None and found.state == "closed"
        with pytest.raises(Missing):
            writer.pull_view(999)


def test_where_drafts_do_not_exist_the_title_says_draft(case: Case) -> None:
    branched(case)
    case.no_drafts()
    with case.write(case.run, Phase.PULL) as writer:
        view = writer.open_pull("Fix it", "The body", BRANCH, "main")
    assert not view.draft and view.title == "[draft] Fix it"


def test_a_pull_request_needs_its_branch(case: Case) -> None:
    with case.write(case.run, Phase.PULL) as writer:
        with pytest.raises(Refused):
            writer.open_pull("Fix it", "The body", BRANCH, "main")
        with pytest.raises(ForbiddenCall):
            writer.open_pull("Fix it", "The body", "main", "main")


# -- evidence, conversation ------------------------------------------------------------------------


def test_a_check_run_is_made_once_for_its_external_id(case: Case) -> None:
    with case.write(case.run, Phase.EVIDENCE) as writer:
        first = writer.check_run("evidence", case.head, "abc", "success", "t", "s", "text")
        again = writer.check_run("evidence", case.head, "abc", "action_required", "t", "s", "")
        other = writer.check_run("evidence", case.head, "def", "success", "t", "s", "")
    assert first == again != other
    assert sorted(case.conclusions(case.head)) == ["action_required", "success"]


def test_a_comment_is_found_by_id_or_marker_and_never_made_twice(case: Case) -> None:
    case.foreign_comment(f"{MARK} I copied this")
    with case.write(case.run, Phase.STATUS) as writer:
        first = writer.comment(1, f"{MARK}\none", MARK)
        assert writer.comment(1, f"{MARK}\ntwo", MARK) == first
        assert writer.comment(1, f"{MARK}\nthree", MARK, first) == first
        assert writer.comment(1, f"{MARK}\nthree", MARK, 999_999) == first
    assert case.comments() == [f"{MARK} I copied this", f"{MARK}\nthree"]


def test_a_locked_issue_refuses_a_new_comment(case: Case) -> None:
    case.lock()
    with case.write(case.run, Phase.STATUS) as writer:
        with pytest.raises(Refused) as refusal:
            writer.comment(1, f"{MARK}\none", MARK)
        assert refusal.value.status == 403
        with pytest.raises(Missing):
            writer.comment(77, f"{MARK}\none", MARK)


def test_labels_come_and_go_without_complaint(case: Case) -> None:
    with case.write(case.run, Phase.STATUS) as writer:
        writer.add_labels(1, ["agent:running"])
        writer.add_labels(1, ["agent:running"])
        writer.remove_label(1, "agent:fix")
        writer.remove_label(1, "agent:fix")
        writer.react(1, "eyes")
        writer.react(1, "eyes")
        with pytest.raises(Missing):
            writer.react(77, "eyes")
    assert case.labels() == {"agent:running", "bug"}
    assert case.reactions() == 1


# -- a revision ------------------------------------------------------------------------------------


def test_a_branch_is_moved_forward_and_never_over_somebody_s_work(case: Case) -> None:
    first = branched(case)
    tree = tree_id(changed(case.files))
    with case.write(case.run, Phase.GIT) as writer:
        second, _ = writer.commit("More", tree, first)
        other, _ = writer.commit("Elsewhere", tree, case.head)
        assert writer.advance_branch(BRANCH, second, first) == second
        assert writer.find_branch(BRANCH) == second
        for sideways in (other, first):
            with pytest.raises(Refused) as refusal:
                writer.advance_branch(BRANCH, sideways, second)
            assert "fast forward" in str(refusal.value)
        assert writer.find_branch(BRANCH) == second
        for foreign in ("main", "agent/issue-1-other"):
            with pytest.raises(ForbiddenCall):
                writer.advance_branch(foreign, second, first)


def test_a_pull_request_follows_its_branch_and_lists_its_commits_and_files(case: Case) -> None:
    first = branched(case)
    with case.write(case.run, Phase.PULL) as writer:
        number = writer.open_pull("Fix it", "The body", BRANCH, "main").number
    tree = tree_id(changed(case.files))
    with case.write(case.run, Phase.GIT) as writer:
        second, _ = writer.commit("More\n\nwords", tree, first)
        writer.advance_branch(BRANCH, second, first)
    with case.write(case.run, Phase.PULL) as writer:
        assert writer.pull_at(number, second).head_sha == second
    with case.read(replace(case.run, kind=Kind.REVISE)) as reader:
        commits = reader.pull_commits(number)
        assert [one.sha for one in commits] == [first, second]
        assert commits[1].subject == "More" and commits[1].author.kind == "Bot"
        assert set(reader.pull_files(number)) == {one.path for one in CHANGES}


def test_a_reply_is_made_once_in_its_thread(case: Case) -> None:
    branched(case)
    with case.write(case.run, Phase.PULL) as writer:
        number = writer.open_pull("Fix it", "The body", BRANCH, "main").number
    root = case.review(number, "README.md", 1, "Say more.")
    reading = replace(case.run, kind=Kind.REVISE)
    with case.read(reading) as reader:
        (one,) = reader.inline_comments(number)
        assert (one.id, one.root, one.path, one.line, one.body) == (
            root, root, "README.md", 1, "Say more.",
        )  # fmt: skip
        assert one.author.login == "alice"
        (whole,) = [each for each in reader.reviews(number) if each.id == one.review]
        assert whole.author.login == "alice" and whole.state == "COMMENTED"
    with case.write(case.run, Phase.PULL) as writer:
        first = writer.reply(number, root, f"{MARK}\ndone", MARK)
        assert writer.reply(number, root, f"{MARK}\ndone", MARK) == first
        with pytest.raises(Missing):
            writer.reply(number, 999_999, "<!-- x -->", "<!-- x -->")
    with case.read(reading) as reader:
        (_, ours) = reader.inline_comments(number)
        assert (ours.id, ours.root, ours.author.kind) == (first, root, "Bot")
