"""Every call that our client may make, as it makes it, is one that GitHub describes."""

from __future__ import annotations

import base64
import re
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import pytest

from app.domain.branch import branch_name
from app.domain.event import Person, Repository
from app.domain.permissions import CALLS, Phase
from app.domain.ports.tokens import Token
from app.domain.ports.writer import FileWrite
from app.domain.report_annotations import Annotation
from app.domain.run import Run
from app.domain.state import Kind
from tests.fakes.github import tree_id
from tests.standins.github_world import REPO, Acme
from tests.standins.openapi import Description
from tests.worker.desk.ways import access_to, app_of
from worker.desk import doctor
from worker.desk.connect import Access
from worker.desk.github import sight, survey
from worker.desk.github.deliveries import Deliveries
from worker.desk.github.http import Client
from worker.desk.pace import AlonePace

CHANGE = "abc"
CI = "acme-ci"
DEEP = {"branch", "path", "label"}
TEXT = b"# Widgets\n\nMore.\n"
BYTES = b"\x00\x01\xff"


@dataclass
class Walk:
    """One run of ours through everything that the desk can ask and say."""

    world: Acme
    access: Access
    run: Run

    def of(self, kind: Kind) -> Run:
        return replace(self.run, kind=kind)

    def asks_before(self) -> None:
        with self.access.read(self.run) as reader:
            reader.repository()
            reader.role("alice")
            reader.role("nobody-at-all")
            reader.issue(1)
            reader.comment(self.world.standin.comment(REPO, 1, "alice", "/agent fix"))
            reader.tree_of(reader.branch("main"))
            reader.file("README.md", self.world.head)

    def publishes(self) -> tuple[str, int]:
        """The branch, the draft, the evidence, the conversation; the head and the number."""
        before = {"src/widgets.py": b"def add(a, b):\n    return a - b\n"}
        before |= {".github/workflows/ci.yml": b"on: push\n"}
        files = {path: (0o100644, data) for path, data in before.items()}
        files |= {"README.md": (0o100644, TEXT), "b.bin": (0o100755, BYTES)}
        changes = [
            FileWrite("README.md", 0o100644, TEXT),
            FileWrite("b.bin", 0o100755, BYTES),
        ]
        branch = branch_name(1, CHANGE)
        with self.access.write(self.run, Phase.GIT) as writer:
            base = writer.commit_view(self.world.head).tree
            writer.tree(base, changes, tree_id(files))
            first, _ = writer.commit("Fix\n\nAgent-Run: abc", tree_id(files), self.world.head)
            writer.create_branch(branch, first)
            without = {path: one for path, one in files.items() if path != "b.bin"}
            writer.tree(tree_id(files), [FileWrite("b.bin", 0, None)], tree_id(without))
            second, _ = writer.commit("Less", tree_id(without), first)
            writer.advance_branch(branch, second, first)
        with self.access.write(self.run, Phase.PULL) as writer:
            number = writer.open_pull("Fix it", "The body", branch, "main").number
            writer.find_pull(branch)
            writer.update_pull(number, "Fixed", "Another body")
            writer.update_pull(number, None, "A third")
        return second, number

    def speaks(self, head: str, number: int) -> None:
        notes = [Annotation("README.md", n, "failure", "t", "m") for n in range(1, 53)]
        with self.access.write(self.run, Phase.EVIDENCE) as writer:
            for conclusion in ("action_required", "success", "failure", "neutral"):
                writer.check_run("patchwarrant/evidence", head, "abc", conclusion, "T", "S", "X")
            writer.check_run("patchwarrant/gate", head, "g", "failure", "T", "S", "", notes)
        with self.access.write(self.run, Phase.STATUS) as writer:
            said = writer.comment(1, "<!-- a -->\none", "<!-- a -->")
            writer.comment(1, "<!-- a -->\ntwo", "<!-- a -->", said)
            writer.add_labels(1, ["agent:running", "agent:needs-info"])
            self.world.standin.fault("status", "/issues/1/labels$", method="POST", status=422)
            writer.add_labels(1, ["agent:done"])  # is created first, where GitHub wants that
            writer.remove_label(1, "agent:running")
            writer.react(1, "eyes")
            writer.react_comment(said, "rocket")
        hub = self.world.standin
        one = {"path": "README.md", "line": 1, "body": "Why?"}
        hub.review(REPO, number, "alice", "REQUEST_CHANGES", "Hm", comments=[one])
        root = int(hub.review_comments(REPO, number)[-1]["id"])
        with self.access.write(self.run, Phase.PULL) as writer:
            writer.react_comment(root, "eyes", inline=True)
            writer.reply(number, root, "<!-- b -->\ndone", "<!-- b -->")
        assert self.access.acts(self.run, number) == ()
        with self.access.write(self.run, Phase.READY) as writer:
            assert not writer.mark_ready(number, head).draft
        assert [one.event for one in self.access.acts(self.run, number)] == ["ready_for_review"]
        with self.access.write(self.run, Phase.PULL) as writer:
            assert writer.request_review(number, ("alice",), ()).asked == ("alice",)

    def asks_after(self, head: str, number: int) -> None:
        with self.access.read(self.of(Kind.REVISE)) as reader:
            reader.pull_commits(number)
            reader.pull_files(number)
            reader.reviews(number)
            reader.inline_comments(number)
        with self.access.read(self.of(Kind.VERIFY)) as reader:
            reader.pull(number)
            reader.parting(self.world.head, head)
        with self.access.read(self.of(Kind.RECHECK)) as reader:
            reader.commits(self.world.head, head)
        hub = self.world.standin
        hub.create_app(CI, permissions={"checks": "write"})
        note = {"path": "README.md", "start_line": 1, "end_line": 1, "message": "No.",
                "annotation_level": "failure"}  # fmt: skip
        output = {"title": "Red", "summary": "One failed", "annotations": [note]}
        hub.add_check_run(REPO, CI, head, "build", "failure", output)
        hub.set_status(REPO, "alice", head, "deploy", "success")
        with self.access.weigh(self.run) as weigher:
            weigher.votes(number)
            weigher.weighed_commits(number)
            weigher.compared(self.world.head, head)
            weigher.checks(head, "patchwarrant/evidence")
            weigher.required_checks("main")
            weigher.pulls_with(head)
        with self.access.reports(self.run) as reports:
            reports.reports(head)
            (said,) = reports.failed(head, {"build"})
            assert said.notes == ("README.md:1: No.",)

    def looks_around(self) -> None:
        """The survey, the missed deliveries, and the doctor with both of its tokens."""
        app, hub = app_of(self.world), self.world.standin
        hub.add_label(REPO, 1, "alice", "agent:fix")
        assert [one.id for one in survey.installations(app)] == [self.world.installation]
        token = app.mint_survey(self.world.installation)
        assert list(survey.repositories(app, token.secret)) == [self.run.repository]
        app.revoke(token.secret)
        with self.access.client(self.run, Phase.SURVEY) as client:
            (found,) = survey.labelled(client, self.world.installation, "agent:fix")
            assert survey.act_of(client, found).by == Person(*alice(self.world), "User")
        told = Deliveries(app)
        newest = next(told.since(0))
        told.body(newest.id)
        told.again(newest.id)
        sight.app_facts(app)
        sight.hook_facts(app)
        sight.installation_facts(app, "acme", "widgets")
        assert doctor.repository_id(app, self.world.installation, "acme", "widgets")
        with self.access.client(self.run, Phase.DOCTOR) as client:
            doctor.looked(client, doctor.unseen(), admin=False)
        hub.set_role(REPO, "root", "admin")
        secret = str(hub.act("create_person_token", login="root")["token"])
        mine = Token(secret, self.run.repository, {}, 0, float("-inf"))
        pace = AlonePace(0, time.monotonic, time.sleep)
        with Client(mine, Phase.INSPECT, "", hub.url, pace) as client:
            doctor.looked(client, doctor.unseen(), admin=True)


def alice(world: Acme) -> tuple[int, str]:
    shown = world.standin.issue(REPO, 1)
    return int(shown["user"]["id"]), str(shown["user"]["login"])


@pytest.fixture
def log(world: Acme) -> list[dict[str, Any]]:
    """What the stand-in was asked and answered while a run of ours did everything."""
    hub = world.standin
    hub.add_ruleset(REPO, {
        "name": "main", "target": "branch",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [{"type": "required_status_checks", "parameters": {
            "strict_required_status_checks_policy": False,
            "required_status_checks": [{"context": "patchwarrant/approval"}],
        }}],
    })  # fmt: skip
    protection = {"required_status_checks": {"strict": False, "contexts": ["ci"], "checks": []}}
    hub.act("set_settings", repo=REPO, protection=protection)
    hub.set_webhook("patchwarrant", "http://127.0.0.1:9/nobody", "s")
    hub.open_issue(REPO, "alice", "A bug", "It fails", ["bug"])
    hub.wait_delivered()
    hub.set_webhook("patchwarrant", None)
    hub.keep_answers()
    hub.clear_log()
    run = Run(
        id="abc", kind=Kind.FIX, change=CHANGE, event="e", installation=world.installation,
        repository=Repository(world.repo_id, "acme", "widgets"), issue=1,
        requester=Person(1, "alice"), created=0,
    )  # fmt: skip
    walk = Walk(world, access_to(world), run)
    walk.asks_before()
    head, number = walk.publishes()
    walk.speaks(head, number)
    walk.asks_after(head, number)
    walk.looks_around()
    return [one for one in hub.log() if one.get("operation") and "answer" in one]


def names_of(method: str, path: str) -> set[str]:
    """The calls of our table that a request can be."""
    found = set()
    for name, call in CALLS.items():
        parts = re.split(r"{(\w+)}", call.path)
        shape = "".join(
            (".+" if part in DEEP else "[^/]+") if place % 2 else re.escape(part)
            for place, part in enumerate(parts)
        )
        if call.method == method and re.fullmatch(shape, path):
            found.add(name)
    return found


def compared(log: list[dict[str, Any]], described: list[Description]) -> set[str]:
    """The calls of our table that were seen to be, and to be answered, as one of them says."""
    found: set[str] = set()
    for one in log:
        method, path, query = one["method"], one["operation"], one["query"]
        asked = dict(parse_qsl(query))
        for description in described:
            if not description.known(method, path):
                continue
            description.check_request(method, path, one["body"] or None, asked)
            description.check_answer(method, path, one["status"], one["answer"])
            if one["status"] < 300:
                found |= names_of(method, one["path"])
    return found


# The description is of the REST API; the one mutation is compared word by word in
# tests/worker/desk/github/test_ready.py.
MUTATIONS = {"mark_ready"}


def test_every_call_of_ours_is_as_github_describes_it(
    log: list[dict[str, Any]], subset: Description, whole: Description
) -> None:
    assert set(CALLS) - compared(log, [subset, whole]) == MUTATIONS
    outside = {
        (one["method"], one["operation"])
        for one in log
        if not subset.known(one["method"], one["operation"])
        and not whole.known(one["method"], one["operation"])
    }
    assert outside == {("POST", "/graphql")}


def test_most_of_our_calls_are_in_the_subset(
    log: list[dict[str, Any]], subset: Description
) -> None:
    """Also where no package can be fetched, what writes is compared with GitHub's description."""
    found = compared(log, [subset])
    assert {name for name, call in CALLS.items() if call.writes} - found == MUTATIONS


def test_what_a_call_may_send_and_ask_is_what_github_knows(whole: Description) -> None:
    """The table's keys, also those that no test sends."""
    for name, call in CALLS.items():
        if name in MUTATIONS:
            continue
        path = call.path.replace("heads/{branch}", "{ref}")
        assert whole.known(call.method, path), name
        assert call.sends <= whole.sendable(call.method, path), name
        assert call.asks <= set(whole.askable(call.method, path)), name


def test_the_walk_sends_bytes_text_and_a_deletion(log: list[dict[str, Any]]) -> None:
    """What is compared is worth it: the tree's three kinds of entries went over the wire."""
    trees = [one["body"]["tree"] for one in log if one["operation"].endswith("/git/trees")]
    entries = [entry for tree in trees for entry in tree]
    assert any("content" in entry for entry in entries)
    assert any(entry.get("sha", "") is None for entry in entries)
    blobs = [one["body"]["content"] for one in log if one["operation"].endswith("/git/blobs")]
    assert blobs == [base64.b64encode(BYTES).decode()]
