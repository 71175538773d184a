"""The publisher's odd answers, one at a time: lost ones, missing labels, refs that are prefixes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
import respx

from app.domain.errors import IntegrityError, Missing, Refused, Uncertain
from app.domain.event import Repository
from app.domain.permissions import Phase
from app.domain.ports.tokens import Token
from app.domain.report_annotations import Annotation
from tests.worker.desk.clock import Clock
from worker.desk.github import answers
from worker.desk.github.http import Client
from worker.desk.github.publisher import Publisher
from worker.desk.github.reader import Reader
from worker.desk.pace import AlonePace

API = "http://api.test"
BRANCH = "agent/issue-7-abc"
SHA = "a" * 40
R = f"{API}/repos/acme/widgets"
MARK = "<!-- m -->"


@pytest.fixture
def net() -> Iterator[respx.Router]:
    with respx.mock(assert_all_called=False) as router:
        yield router


def client(phase: Phase) -> Client:
    clock = Clock()
    token = Token("ghs_secret", Repository(5, "acme", "widgets"), {}, 0, clock.seconds - 60)
    return Client(token, phase, BRANCH, API, AlonePace(0, clock, clock.sleep))


def comment(number: int, body: str, app: int | None = 1) -> dict[str, object]:
    return {"id": number, "body": body, "performed_via_github_app": app and {"id": app}}


def test_a_label_that_the_repository_does_not_know_is_made_first(net: respx.Router) -> None:
    adding = net.post(f"{R}/issues/3/labels")
    adding.side_effect = [httpx.Response(422, json={}), httpx.Response(200, json=[])]
    making = net.post(f"{R}/labels").respond(
        422, json={"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
    )
    Publisher(client(Phase.STATUS), "1").add_labels(3, ["agent:done"])
    assert adding.call_count == 2 and b'"agent:done"' in making.calls[0].request.content


def test_a_label_that_is_refused_for_another_reason_is_not_tried_again(net: respx.Router) -> None:
    adding = net.post(f"{R}/issues/3/labels").respond(403, json={"message": "locked"})
    with pytest.raises(Refused):
        Publisher(client(Phase.STATUS), "1").add_labels(3, ["agent:done"])
    assert adding.call_count == 1


def test_a_comment_whose_answer_was_lost_is_found_by_its_marker(net: respx.Router) -> None:
    listing = net.get(f"{R}/issues/3/comments")
    listing.side_effect = [
        httpx.Response(200, json=[]),
        httpx.Response(200, json=[]),
        httpx.Response(200, json=[comment(9, f"{MARK} x")]),
    ]
    posting = net.post(f"{R}/issues/3/comments").mock(side_effect=httpx.ReadTimeout("x"))
    assert Publisher(client(Phase.STATUS), "1").comment(3, f"{MARK} x", MARK) == 9
    assert posting.call_count == 1


def test_a_comment_that_cannot_be_found_stays_uncertain_and_is_not_sent_again(
    net: respx.Router,
) -> None:
    net.get(f"{R}/issues/3/comments").respond(json=[comment(8, MARK, 2), comment(9, MARK, None)])
    posting = net.post(f"{R}/issues/3/comments").respond(502)
    with pytest.raises(Uncertain):
        Publisher(client(Phase.STATUS), "1").comment(3, f"{MARK} x", MARK)
    assert posting.call_count == 1


def test_an_edit_whose_answer_was_lost_is_sent_once_more(net: respx.Router) -> None:
    editing = net.patch(f"{R}/issues/comments/9")
    editing.side_effect = [httpx.Response(502), httpx.Response(200, json={"id": 9})]
    assert Publisher(client(Phase.STATUS), "1").comment(3, f"{MARK} x", MARK, known=9) == 9
    assert editing.call_count == 2


def test_a_check_run_of_another_app_is_not_ours(net: respx.Router) -> None:
    foreign = {"id": 4, "name": "e", "external_id": "abc", "app": {"id": 2}, "head_sha": SHA}
    ours = {**foreign, "id": 5, "app": {"id": 7, "client_id": "Iv1.us"}, "conclusion": "success"}
    net.get(f"{R}/commits/{SHA}/check-runs").respond(json={"check_runs": [foreign, ours]})
    patching = net.patch(f"{R}/check-runs/5").respond(json=ours)
    made = Publisher(client(Phase.EVIDENCE), "Iv1.us")
    assert made.check_run("e", SHA, "abc", "success", "t", "s", "") == 5
    assert patching.called


def test_a_check_run_whose_answer_was_lost_is_adopted(net: respx.Router) -> None:
    ours = {
        "id": 5, "name": "e", "external_id": "abc", "app": {"id": 1}, "head_sha": SHA,
        "conclusion": "success",
    }  # fmt: skip
    listing = net.get(f"{R}/commits/{SHA}/check-runs")
    listing.side_effect = [
        httpx.Response(200, json={"check_runs": []}),
        httpx.Response(200, json={"check_runs": [ours]}),
    ]
    net.post(f"{R}/check-runs").respond(500)
    net.patch(f"{R}/check-runs/5").respond(json=ours)
    made = Publisher(client(Phase.EVIDENCE), "1")
    assert made.check_run("e", SHA, "abc", "success", "t", "s", "text") == 5


def notes(count: int) -> list[Annotation]:
    return [Annotation("a.py", n + 1, "failure", f"t{n}", "m") for n in range(count)]


def shows(count: int) -> dict[str, object]:
    return {
        "id": 5, "name": "e", "external_id": "abc", "app": {"id": 1}, "head_sha": SHA,
        "conclusion": "success", "output": {"annotations_count": count},
    }  # fmt: skip


def test_annotations_go_in_pieces_of_fifty_and_none_is_sent_twice(net: respx.Router) -> None:
    """GitHub only ever adds annotations: an earlier attempt's 50 are there already."""
    net.get(f"{R}/commits/{SHA}/check-runs").respond(json={"check_runs": [shows(50)]})
    patching = net.patch(f"{R}/check-runs/5")
    patching.side_effect = [httpx.Response(200, json=shows(count)) for count in (50, 100, 120)]
    made = Publisher(client(Phase.EVIDENCE), "1")
    assert made.check_run("e", SHA, "abc", "success", "t", "s", "text", notes(120)) == 5
    sent = [json.loads(call.request.content)["output"] for call in patching.calls]
    assert "annotations" not in sent[0]
    assert [len(one["annotations"]) for one in sent[1:]] == [50, 20]
    assert sent[1]["annotations"][0] == {
        "path": "a.py", "start_line": 51, "end_line": 51, "annotation_level": "failure",
        "title": "t50", "message": "m",
    }  # fmt: skip
    assert "text" not in sent[1] and sent[1]["title"] == "t"


def test_annotations_that_github_does_not_count_are_not_sent_without_end(
    net: respx.Router,
) -> None:
    net.get(f"{R}/commits/{SHA}/check-runs").respond(json={"check_runs": []})
    net.post(f"{R}/check-runs").respond(201, json=shows(0))
    patching = net.patch(f"{R}/check-runs/5").respond(json=shows(0))
    made = Publisher(client(Phase.EVIDENCE), "1")
    assert made.check_run("e", SHA, "abc", "success", "t", "s", "text", notes(3)) == 5
    assert patching.call_count == 1


@pytest.mark.parametrize("part", [{"head_sha": "b" * 40}, {"conclusion": "neutral"}, {"id": "5"}])
def test_a_check_run_that_came_out_otherwise_is_an_integrity_error(
    net: respx.Router, part: dict[str, object]
) -> None:
    net.get(f"{R}/commits/{SHA}/check-runs").respond(json={"check_runs": []})
    made = {"id": 5, "head_sha": SHA, "conclusion": "success"}
    net.post(f"{R}/check-runs").respond(201, json=made | part)
    with pytest.raises(IntegrityError):
        Publisher(client(Phase.EVIDENCE), "1").check_run("e", SHA, "abc", "success", "t", "s", "")


def test_a_ref_that_only_begins_alike_is_not_the_branch(net: respx.Router) -> None:
    longer = {"ref": f"refs/heads/{BRANCH}-2", "object": {"sha": SHA, "type": "commit"}}
    net.get(f"{R}/git/ref/heads/{BRANCH}").respond(json=longer)
    assert Publisher(client(Phase.GIT), "1").find_branch(BRANCH) is None
    with pytest.raises(Missing):
        Reader(client(Phase.AUTHORIZE)).branch(BRANCH)


def test_a_branch_that_points_to_a_tag_is_refused(net: respx.Router) -> None:
    odd = {"ref": "refs/heads/main", "object": {"sha": SHA, "type": "tag"}}
    net.get(f"{R}/git/ref/heads/main").respond(json=odd)
    with pytest.raises(Refused, match="no commit"):
        Reader(client(Phase.AUTHORIZE)).branch("main")


def test_a_new_ref_that_points_elsewhere_is_an_integrity_error(net: respx.Router) -> None:
    good = {"ref": f"refs/heads/{BRANCH}", "object": {"sha": SHA, "type": "commit"}}
    net.post(f"{R}/git/refs").respond(201, json=good)
    net.get(f"{R}/git/ref/heads/{BRANCH}").respond(
        json={**good, "object": {"sha": "b" * 40, "type": "commit"}}
    )
    with pytest.raises(IntegrityError, match="ref's commit"):
        Publisher(client(Phase.GIT), "1").create_branch(BRANCH, SHA)


def test_an_answer_about_another_thing_is_an_integrity_error(net: respx.Router) -> None:
    other = {"number": 4, "title": "t", "state": "open", "updated_at": "now"}
    net.get(f"{R}/issues/3").respond(json=other)
    with pytest.raises(IntegrityError, match="issue 4"):
        Reader(client(Phase.AUTHORIZE)).issue(3)
    commit = {"sha": "b" * 40, "tree": {"sha": SHA}, "parents": [], "message": "m"}
    net.get(f"{R}/git/commits/{SHA}").respond(json=commit)
    with pytest.raises(IntegrityError):
        Reader(client(Phase.AUTHORIZE)).tree_of(SHA)
    with pytest.raises(IntegrityError):
        Publisher(client(Phase.GIT), "1").commit_view(SHA)


def test_ghosts_and_plain_labels_are_read() -> None:
    view = answers.issue_view(
        {
            "number": 3,
            "title": "t",
            "body": None,
            "state": "open",
            "user": None,
            "labels": ["plain", {"name": "bug"}, {"name": None}, 5],
            "updated_at": "now",
        }
    )
    assert view.author.login == "ghost" and view.labels == ("plain", "bug") and view.body == ""


def test_a_pull_request_whose_head_repository_is_gone_is_nobody_s() -> None:
    view = answers.pull_view(
        {
            "number": 3,
            "html_url": "u",
            "state": "open",
            "title": "t",
            "body": None,
            "head": {"ref": "b", "sha": SHA, "repo": None},
            "base": {"ref": "main"},
            "user": {"id": 1, "login": "x"},
        }
    )
    assert view.head_repository == 0 and not view.draft
    with pytest.raises(IntegrityError, match=r"head\.ref"):
        answers.pull_view({"number": 1, "html_url": "u", "state": "s", "title": "t", "head": 5})
