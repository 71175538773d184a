"""The one thing that is said in GraphQL, as it goes over the wire, and a review asked for."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import respx

from app.domain.errors import ForbiddenCall, Missing, Refused, Unavailable, Uncertain
from app.domain.event import Repository
from app.domain.permissions import CALLS, MARK_READY, Phase
from app.domain.ports.tokens import Token
from app.domain.ports.views import PullAct
from tests.worker.desk.clock import Clock
from tests.worker.desk.github.test_http import API, BRANCH, SHA, R, client, net
from worker.desk.github.history import acts_of
from worker.desk.github.http import Client
from worker.desk.github.publisher import Publisher
from worker.desk.pace import AlonePace

__all__ = ["net"]
NODE = "PR_kwDOA1-_x=="
DONE = {"data": {"markPullRequestReadyForReview": {"pullRequest": {"id": NODE, "isDraft": False}}}}


def shown(draft: bool = True, **change: Any) -> dict[str, Any]:
    return {
        "number": 2, "html_url": "u", "state": "open", "draft": draft, "title": "t", "body": "b",
        "node_id": NODE, "head": {"ref": BRANCH, "sha": SHA, "repo": {"id": 5}},
        "base": {"ref": "main"}, "user": {"id": 9, "login": "us[bot]", "type": "Bot"},
        "merged": False, "requested_reviewers": [], "requested_teams": [], **change,
    }  # fmt: skip


def writer(phase: Phase = Phase.READY) -> Publisher:
    return Publisher(client(phase), "1")


def looks(net: respx.Router, *answers: dict[str, Any]) -> respx.Route:
    route = net.get(f"{R}/pulls/2")
    route.side_effect = [httpx.Response(200, json=one) for one in answers]
    return route


def test_it_is_sent_once_with_the_id_alone_and_read_back(net: respx.Router) -> None:
    looks(net, shown(), shown(), shown(draft=False))
    sending = net.post(f"{API}/graphql").respond(json=DONE)
    assert writer().mark_ready(2, SHA).draft is False
    (call,) = sending.calls
    assert json.loads(call.request.content) == {"query": MARK_READY, "variables": {"id": NODE}}


@pytest.mark.parametrize(
    "there",
    [
        shown(draft=False),
        shown(state="closed"),
        shown(head={"ref": BRANCH, "sha": "b" * 40, "repo": {"id": 5}}),
    ],
)
def test_what_is_no_open_draft_on_that_head_is_left(
    net: respx.Router, there: dict[str, Any]
) -> None:
    looks(net, there)
    sending = net.post(f"{API}/graphql").respond(json=DONE)
    writer().mark_ready(2, SHA)
    assert not sending.called


@pytest.mark.parametrize(
    "head",
    [
        {"ref": "agent/issue-7-other", "sha": SHA, "repo": {"id": 5}},
        {"ref": BRANCH, "sha": SHA, "repo": {"id": 6}},
        {"ref": BRANCH, "sha": SHA, "repo": None},
    ],
)
def test_another_branchs_pull_request_is_never_made_ready(
    net: respx.Router, head: dict[str, Any]
) -> None:
    looks(net, shown(head=head))
    with pytest.raises(ForbiddenCall):
        writer().mark_ready(2, SHA)


@pytest.mark.parametrize("lost", [httpx.ReadTimeout("x"), httpx.Response(502)])
def test_a_lost_answer_is_looked_for_and_nothing_is_sent_twice(
    net: respx.Router, lost: Exception | httpx.Response
) -> None:
    looks(net, shown(), shown(draft=False))
    sending = net.post(f"{API}/graphql")
    sending.side_effect = [lost]
    assert writer().mark_ready(2, SHA).draft is False and sending.call_count == 1
    looks(net, *[shown()] * 4)
    sending.side_effect = [lost]
    with pytest.raises(Uncertain):
        writer().mark_ready(2, SHA)
    assert sending.call_count == 2


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        ({"type": "FORBIDDEN", "message": "Resource not accessible by integration"}, Refused),
        ({"type": "UNPROCESSABLE", "message": "Pull request is closed."}, Refused),
        ({"type": "NOT_FOUND", "message": "Could not resolve"}, Missing),
        ({"type": "RATE_LIMITED", "message": "slow down"}, Unavailable),
        ({"message": "Something went wrong while executing your query."}, Uncertain),
    ],
)
def test_graphql_says_no_with_a_200(
    net: respx.Router, error: dict[str, str], raised: type[Exception]
) -> None:
    net.get(f"{R}/pulls/2").respond(json=shown())
    net.post(f"{API}/graphql").respond(json={"data": None, "errors": [error]})
    with pytest.raises(raised):
        writer().mark_ready(2, SHA)


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"query": MARK_READY},
        {"query": MARK_READY, "variables": {}},
        {"query": MARK_READY, "variables": {"id": ""}},
        {"query": MARK_READY, "variables": {"id": 'a"}) { x }'}},
        {"query": MARK_READY, "variables": {"id": ["PR_1"]}},
        {"query": MARK_READY, "variables": {"id": "PR_1", "more": 1}},
        {"query": MARK_READY + " ", "variables": {"id": "PR_1"}},
        {"query": "mutation { convertPullRequestToDraft }", "variables": {"id": "PR_1"}},
        {"query": MARK_READY, "variables": {"id": "PR_1"}, "operationName": "x"},
    ],
)
def test_nothing_else_goes_to_graphql(net: respx.Router, body: dict[str, Any] | None) -> None:
    with pytest.raises(ForbiddenCall):
        client(Phase.READY).call("mark_ready", body=body)
    assert not net.calls


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.READY}))
def test_no_other_phase_can_send_it(net: respx.Router, phase: Phase) -> None:
    body = {"query": MARK_READY, "variables": {"id": "PR_1"}}
    with pytest.raises(ForbiddenCall, match="not a call of the phase"):
        client(phase).call("mark_ready", body=body)
    assert not net.calls


@pytest.mark.parametrize("end", ["", "/"])
def test_an_enterprise_server_has_it_beside_its_rest(net: respx.Router, end: str) -> None:
    clock = Clock()
    token = Token("ghs_x", Repository(5, "acme", "widgets"), {}, 0, clock.seconds - 60)
    pace = AlonePace(0, clock, clock.sleep)
    sending = net.post("http://ghe.test/api/graphql").respond(json=DONE)
    made = Client(token, Phase.READY, BRANCH, f"http://ghe.test/api/v3{end}", pace)
    made.call("mark_ready", body={"query": MARK_READY, "variables": {"id": "PR_1"}})
    assert sending.called and CALLS["mark_ready"].path == "/graphql"


def test_a_review_is_asked_of_people_or_of_teams(net: respx.Router) -> None:
    route = net.post(f"{R}/pulls/2/requested_reviewers")
    route.respond(201, json=shown(requested_reviewers=[{"login": "mona"}]))
    assert writer(Phase.PULL).request_review(2, ["mona"], []).asked == ("mona",)
    assert json.loads(route.calls[0].request.content) == {"reviewers": ["mona"]}
    route.respond(201, json=shown(requested_teams=[{"slug": "core"}]))
    assert writer(Phase.PULL).request_review(2, [], ["core"]).asked_teams == ("core",)
    assert json.loads(route.calls[1].request.content) == {"team_reviewers": ["core"]}
    route.respond(422, json={"message": "Reviews may only be requested from collaborators."})
    with pytest.raises(Refused, match="collaborators"):
        writer(Phase.PULL).request_review(2, ["eve"], [])


def test_what_github_remembers_of_a_pull_request(net: respx.Router) -> None:
    asked = {"event": "review_requested", "actor": {"login": "us[bot]"}}
    net.get(f"{R}/issues/2/events").respond(
        json=[
            {"event": "labeled", "actor": None, "label": {"name": "x"}},
            {"event": "ready_for_review", "actor": {"login": "us[bot]"}},
            {**asked, "requested_reviewer": {"login": "alice"}},
            {**asked, "requested_team": {"slug": "core"}},
            {"event": "convert_to_draft", "actor": {"login": "carol"}},
            {"actor": {"login": "nobody"}},
        ]
    )
    assert acts_of(client(Phase.HISTORY), 2) == (
        PullAct("labeled", ""),
        PullAct("ready_for_review", "us[bot]"),
        PullAct("review_requested", "us[bot]", "alice"),
        PullAct("review_requested", "us[bot]", "core", team=True),
        PullAct("convert_to_draft", "carol"),
    )
