"""The GitHub stand-in's webhooks: signed, whole, in order, and told again on request."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from githubkit.webhooks import parse, verify

from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, SECRET, Acme, acme


@dataclass
class Inbox:
    """What arrived: (headers, raw body) in order; `status` is what the next ones are told."""

    url: str = ""
    status: int = 202
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def bodies(self, event: str) -> list[Any]:
        return [json.loads(b) for h, b in self.got if h["x-github-event"] == event]

    def names(self) -> list[tuple[str, str | None]]:
        return [(h["x-github-event"], json.loads(b).get("action")) for h, b in self.got]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    box = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            box.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(box.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        box.url = f"http://127.0.0.1:{server.server_port}/webhooks/github"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield box
        server.shutdown()
        thread.join()


@pytest.fixture
def heard(github: GitHubStandin, inbox: Inbox) -> Acme:
    """The world with its app's webhooks going to the inbox; what setting up said is forgotten."""
    github.reset()
    world = acme(github, inbox.url)
    github.wait_delivered()
    inbox.got.clear()
    return world


def test_a_label_is_told_signed_over_the_exact_bytes(heard: Acme, inbox: Inbox) -> None:
    number = heard.standin.open_issue(REPO, "eve", "It adds wrongly — Größe", "See.")
    heard.standin.add_label(REPO, number, "alice", "agent:fix")
    heard.standin.wait_delivered()
    assert inbox.names() == [("issues", "opened"), ("issues", "labeled")]
    headers, body = inbox.got[1]
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["x-hub-signature-256"] == f"sha256={digest}"
    assert verify(SECRET, body, headers["x-hub-signature-256"])
    assert headers["x-github-hook-installation-target-type"] == "integration"
    assert headers["x-github-hook-installation-target-id"] == str(heard.app.app_id)
    told = json.loads(body)
    assert told["label"]["name"] == "agent:fix"
    assert told["sender"]["login"] == "alice"
    assert told["installation"]["id"] == heard.installation
    assert told["repository"]["id"] == heard.repo_id
    assert told["issue"]["title"] == "It adds wrongly — Größe"


def test_two_acts_never_share_a_moment(heard: Acme, inbox: Inbox) -> None:
    number = heard.standin.open_issue(REPO, "eve", "T", labels=["agent:fix"])
    heard.standin.remove_label(REPO, number, "alice", "agent:fix")
    heard.standin.add_label(REPO, number, "alice", "agent:fix")
    heard.standin.wait_delivered()
    moments = [body["issue"]["updated_at"] for body in inbox.bodies("issues")]
    assert len(moments) == len(set(moments)) == 4


def act_out(world: Acme) -> None:
    """Something of everything, by people and by the app."""
    hub = world.standin
    number = hub.open_issue(REPO, "eve", "T", "B", ["bug"])
    hub.edit_issue(REPO, number, "eve", title="T2", body="B2")
    hub.remove_label(REPO, number, "alice", "bug")
    hub.lock_issue(REPO, number, "alice")
    hub.close_issue(REPO, number, "alice")
    hub.reopen_issue(REPO, number, "alice")
    comment = hub.comment(REPO, number, "alice", "/agent fix")
    hub.edit_comment(REPO, comment, "alice", "/agent cancel")
    hub.delete_comment(REPO, comment, "alice")
    hub.push(REPO, "alice", "topic", {"a": "1\n"})
    pull = hub.open_pull(REPO, "alice", "topic", "Fix", draft=True)
    sha = hub.push(REPO, "alice", "topic", {"a": "2\n"})
    hub.set_draft(REPO, pull, "alice", False)
    hub.set_role(REPO, "rita", "write")
    line = {"path": "a", "body": "Two?", "line": 1}
    hub.review(REPO, pull, "rita", "REQUEST_CHANGES", "No", comments=[line])
    hub.review(REPO, pull, "rita", "APPROVE")
    hub.set_status(REPO, "rita", sha, "ci", "success")
    with world.rest() as http:
        told = {"name": "evidence", "head_sha": sha, "conclusion": "success"}
        run = http.post(f"/repos/{REPO}/check-runs", json=told).json()
        http.post(f"/repos/{REPO}/issues/{pull}/comments", json={"body": "Done"})
        http.post(f"/repos/{REPO}/issues/{pull}/labels", json={"labels": ["done"]})
        reviewers = {"reviewers": ["rita"]}
        http.post(f"/repos/{REPO}/pulls/{pull}/requested_reviewers", json=reviewers)
    hub.press(REPO, run["id"], "alice")
    hub.press(REPO, run["id"], "alice", "again")
    hub.merge(REPO, pull, "rita")
    hub.move_branch(REPO, "rita", "topic", None)
    hub.configure_repo(REPO, rename="gadgets")
    hub.suspend(world.installation)
    hub.suspend(world.installation, False)
    hub.create_repo("acme/more")
    hub.change_installation(world.installation, add=["acme/more"], remove=["acme/gadgets"])
    hub.uninstall(world.installation)


def test_every_event_is_one_that_githubs_own_models_take(heard: Acme, inbox: Inbox) -> None:
    act_out(heard)
    heard.standin.wait_delivered()
    told = inbox.names()
    assert {("pull_request", "synchronize"), ("pull_request", "closed"), ("delete", None)} <= {
        *told
    }
    assert {("check_run", "rerequested"), ("check_run", "requested_action")} <= {*told}
    assert {("installation", "suspend"), ("installation", "deleted")} <= {*told}
    wrong = []
    for headers, body in inbox.got:
        try:
            parse(headers["x-github-event"], body)
        except ValueError as error:
            name = (headers["x-github-event"], json.loads(body).get("action"))
            wrong.append((name, str(error)[:1500]))
    assert wrong == []
    merged = [b for b in inbox.bodies("pull_request") if b["action"] == "closed"]
    assert [b["pull_request"]["merged"] for b in merged] == [True]
    states = [b["review"]["state"] for b in inbox.bodies("pull_request_review")]
    assert states == ["changes_requested", "approved"]
    assert "sender" in inbox.bodies("installation")[0]


def test_the_apps_own_acts_are_told_too(heard: Acme, inbox: Inbox) -> None:
    number = heard.standin.open_issue(REPO, "eve", "T")
    with heard.rest(issues="write") as http:
        http.post(f"/repos/{REPO}/issues/{number}/comments", json={"body": "Working"})
    heard.standin.wait_delivered()
    (told,) = inbox.bodies("issue_comment")
    assert told["sender"] == told["comment"]["user"]
    assert (told["sender"]["login"], told["sender"]["type"]) == ("patchwarrant[bot]", "Bot")


def test_what_is_not_subscribed_is_not_told(github: GitHubStandin, inbox: Inbox) -> None:
    github.reset()
    github.create_repo("acme/quiet")
    github.create_app("quiet", permissions={}, webhook_url=inbox.url, events=["issues"])
    github.install("quiet", "acme", ["acme/quiet"])
    number = github.open_issue("acme/quiet", "eve", "T")
    github.comment("acme/quiet", number, "eve", "x")
    github.wait_delivered()
    assert inbox.names() == [("installation", "created"), ("issues", "opened")]
    assert "x-hub-signature-256" not in inbox.got[0][0]


def test_a_failed_delivery_stays_in_the_history_and_goes_again(heard: Acme, inbox: Inbox) -> None:
    inbox.status = 503
    heard.standin.open_issue(REPO, "eve", "T")
    heard.standin.wait_delivered()
    app = heard.as_app()
    failed = app.rest.apps.list_webhook_deliveries(per_page=1).parsed_data[0]
    assert (failed.status_code, failed.redelivery, failed.event) == (503, False, "issues")
    inbox.status = 202
    app.rest.apps.redeliver_webhook_delivery(failed.id)
    heard.standin.wait_delivered()
    first, second = inbox.got
    assert first[1] == second[1]
    assert first[0]["x-github-delivery"] == second[0]["x-github-delivery"] == failed.guid
    latest = app.rest.apps.list_webhook_deliveries(per_page=1).parsed_data[0]
    assert (latest.status_code, latest.redelivery, latest.guid) == (202, True, failed.guid)


def test_the_history_comes_in_pages(heard: Acme) -> None:
    for at in range(3):
        heard.standin.open_issue(REPO, "eve", f"T{at}")
    heard.standin.wait_delivered()
    app = heard.as_app()
    seen: list[int] = []
    path = "/app/hook/deliveries?per_page=2"
    while path:
        answer = app.request("GET", path)
        seen += [one["id"] for one in answer.json()]
        links = answer.raw_response.links
        path = links["next"]["url"] if "next" in links else ""
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == len(set(seen)) >= 3
