"""What may be sent, what is repeated, and which of our errors each answer becomes."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import respx
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import (
    Exists,
    ForbiddenCall,
    Halt,
    IntegrityError,
    Missing,
    Reason,
    Refused,
    Unavailable,
    Uncertain,
)
from app.domain.event import Repository
from app.domain.permissions import CALLS, PHASES, Phase
from app.domain.ports.tokens import Token
from app.domain.ports.writer import FileWrite
from tests.worker.desk.clock import Clock
from worker.desk.github.http import Client
from worker.desk.github.publisher import Publisher
from worker.desk.github.reader import Reader
from worker.desk.pace import AlonePace

API = "http://api.test"
BRANCH = "agent/issue-7-abc"
SHA = "a" * 40
R = f"{API}/repos/acme/widgets"


def client(
    phase: Phase,
    clock: Clock | None = None,
    *,
    branch: str = BRANCH,
    age: float = 60,
    gap: float = 0,
    name: str = "widgets",
) -> Client:
    clock = clock or Clock()
    token = Token("ghs_secret", Repository(5, "acme", name), {}, 0, clock.seconds - age)
    return Client(token, phase, branch, API, AlonePace(gap, clock, clock.sleep))


@pytest.fixture
def net() -> Iterator[respx.Router]:
    """No request gets out; what is not routed here is an error."""
    with respx.mock(assert_all_called=False) as router:
        yield router


# -- before a socket opens -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "merge",
        "merge_pull",
        "merges",
        "enable_auto_merge",
        "merge_queue",
        "create_review",
        "submit_review",
        "approve",
        "dismiss_review",
        "graphql",
        "update_branch",
        "delete_ref",
        "update_ref",
        "dispatch",
        "",
        "GET",
    ],
)
def test_a_call_outside_the_table_is_never_sent(net: respx.Router, name: str) -> None:
    with pytest.raises(ForbiddenCall, match="not in the table"):
        client(Phase.GIT).call(name)
    assert not net.calls


@pytest.mark.parametrize("phase", list(Phase))
def test_a_phase_makes_only_its_own_calls(net: respx.Router, phase: Phase) -> None:
    for name in set(CALLS) - set(PHASES[phase]):
        with pytest.raises(ForbiddenCall, match="not a call of the phase"):
            client(phase).call(name)
    assert not net.calls


@pytest.mark.parametrize(
    ("phase", "name", "body", "path"),
    [
        (Phase.GIT, "create_ref", {"ref": "refs/heads/main", "sha": SHA}, {}),
        (Phase.GIT, "create_ref", {"ref": "refs/tags/v1", "sha": SHA}, {}),
        (Phase.GIT, "create_ref", {"ref": f"refs/heads/{BRANCH}/x", "sha": SHA}, {}),
        (
            Phase.GIT,
            "create_ref",
            {"ref": f"refs/heads/{BRANCH}", "sha": SHA, "force": True},
            {},
        ),
        (
            Phase.GIT,
            "create_commit",
            {"message": "m", "tree": SHA, "parents": [SHA], "author": {"name": "x"}},
            {},
        ),
        (Phase.PULL, "create_pull", {"head": "main", "base": "main", "title": "t"}, {}),
        (Phase.PULL, "create_pull", {"head": f"evil:{BRANCH}", "base": "main"}, {}),
        (Phase.PULL, "update_pull", {"state": "closed"}, {"number": 1}),
        (Phase.PULL, "update_pull", {"base": "other"}, {"number": 1}),
        (Phase.PULL, "pull", None, {"number": "1"}),
        (Phase.PULL, "pull", None, {"number": True}),
        (Phase.PULL, "pull", None, {"number": 0}),
        (Phase.PULL, "pull", None, {"number": -1}),
        (Phase.PULL, "pull", None, {}),
        (Phase.PULL, "pull", None, {"number": 1, "owner": "evil"}),
        (Phase.AUTHORIZE, "file", None, {"path": "../../../user"}),
        (Phase.AUTHORIZE, "file", None, {"path": "a//b"}),
        (Phase.AUTHORIZE, "file", None, {"path": "a\nb"}),
        (Phase.AUTHORIZE, "ref", None, {"branch": "a/../b"}),
        (Phase.AUTHORIZE, "role", None, {"username": "a/b"}),
        (Phase.AUTHORIZE, "role", None, {"username": ".."}),
        (Phase.AUTHORIZE, "read_commit", None, {"sha": "HEAD"}),
        (Phase.STATUS, "remove_label", None, {"number": 1, "label": ""}),
    ],
)
def test_anything_outside_the_bounds_is_refused_before_a_socket_opens(
    net: respx.Router, phase: Phase, name: str, body: dict[str, Any] | None, path: dict[str, Any]
) -> None:
    with pytest.raises(ForbiddenCall):
        client(phase).call(name, body=body, **path)
    assert not net.calls


@pytest.mark.parametrize("branch", ["main", "agent/x", "agent/issue-0-a", "agent/issue-7-a/b", "-"])
def test_a_client_is_bound_to_a_branch_of_ours_alone(branch: str) -> None:
    with pytest.raises(ForbiddenCall, match="no branch name of ours"):
        client(Phase.GIT, branch=branch)


def test_without_a_branch_no_ref_and_no_pull_request_can_be_named(net: respx.Router) -> None:
    with pytest.raises(ForbiddenCall):
        client(Phase.GIT, branch="").call("create_ref", body={"ref": "refs/heads/", "sha": SHA})
    with pytest.raises(ForbiddenCall):
        client(Phase.PULL, branch="").call("pulls", ask={"head": "acme:", "state": "all"})
    assert not net.calls


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a?b", "", "ä"])
def test_a_repository_name_that_is_none_is_refused(net: respx.Router, name: str) -> None:
    with pytest.raises(ForbiddenCall, match="no repository name"):
        client(Phase.AUTHORIZE, name=name).call("repository")
    assert not net.calls


def test_text_that_is_not_unicode_is_not_sent(net: respx.Router) -> None:
    with pytest.raises(ForbiddenCall, match="Unicode"):
        client(Phase.STATUS).call("create_comment", body={"body": "\ud800"}, number=1)
    assert not net.calls


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=string.printable + "é🚀\u202e%#?&", min_size=1, max_size=60))
def test_every_url_stays_inside_the_bound_repository(text: str) -> None:
    """Whatever text becomes part of a path, the request's path begins with the repository's."""
    with respx.mock(assert_all_called=False) as router:
        seen = router.route().respond(json={})
        for phase, name, part in (
            (Phase.AUTHORIZE, "ref", "branch"),
            (Phase.AUTHORIZE, "file", "path"),
            (Phase.AUTHORIZE, "role", "username"),
            (Phase.STATUS, "remove_label", "label"),
        ):
            more: dict[str, Any] = {"number": 1} if name == "remove_label" else {}
            try:
                client(phase).call(name, **{part: text}, **more)
            except ForbiddenCall:
                continue
        for call in seen.calls:
            raw = call.request.url.raw_path.decode()
            assert raw.startswith("/repos/acme/widgets/")
            assert "/.." not in raw and "?" not in raw and "#" not in raw


def test_a_label_is_percent_encoded(net: respx.Router) -> None:
    route = net.delete(f"{R}/issues/3/labels/agent%3Afix").respond(json=[])
    client(Phase.STATUS).call("remove_label", number=3, label="agent:fix")
    assert route.calls[0].request.url.raw_path == b"/repos/acme/widgets/issues/3/labels/agent%3Afix"


# -- what is repeated ------------------------------------------------------------------------------


def test_a_read_is_repeated_a_few_times(net: respx.Router) -> None:
    clock = Clock()
    route = net.get(R)
    route.side_effect = [
        httpx.Response(502),
        httpx.ReadTimeout("slow"),
        httpx.ConnectError("no"),
        httpx.Response(200, json={"id": 5}),
    ]
    assert client(Phase.AUTHORIZE, clock).call("repository").data == {"id": 5}
    assert clock.slept == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    "effect", [httpx.Response(500), httpx.ReadTimeout("x"), httpx.ConnectError("x")]
)
def test_a_read_that_never_succeeds_is_unavailable(net: respx.Router, effect: Any) -> None:
    route = net.get(R).mock(side_effect=[effect] * 4)
    with pytest.raises(Unavailable):
        client(Phase.AUTHORIZE).call("repository")
    assert route.call_count == 4


@pytest.mark.parametrize(
    "effect",
    [
        httpx.Response(500),
        httpx.Response(502),
        httpx.ReadTimeout("x"),
        httpx.WriteError("x"),
        httpx.RemoteProtocolError("x"),
        httpx.Response(201, text="<html>"),
    ],
)
def test_a_write_without_an_answer_is_uncertain_and_sent_once(
    net: respx.Router, effect: Any
) -> None:
    clock = Clock()
    route = net.post(f"{R}/issues/1/comments").mock(side_effect=[effect])
    with pytest.raises(Uncertain):
        client(Phase.STATUS, clock).call("create_comment", body={"body": "x"}, number=1)
    assert route.call_count == 1 and clock.slept == []


def test_a_write_that_was_surely_not_sent_is_repeated(net: respx.Router) -> None:
    route = net.post(f"{R}/issues/1/comments")
    route.side_effect = [httpx.ConnectError("no"), httpx.Response(201, json={"id": 1})]
    client(Phase.STATUS).call("create_comment", body={"body": "x"}, number=1)
    assert route.call_count == 2


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "Bad credentials"), (403, "Resource not accessible by integration")],
)
def test_a_brand_new_token_is_given_some_seconds(
    net: respx.Router, status: int, message: str
) -> None:
    clock = Clock()
    route = net.post(f"{R}/issues/1/comments")
    refusal = httpx.Response(status, json={"message": message})
    route.side_effect = [refusal, refusal, httpx.Response(201, json={"id": 1})]
    client(Phase.STATUS, clock, age=0).call("create_comment", body={"body": "x"}, number=1)
    assert clock.slept == [1.0, 2.0]


def test_a_token_that_stays_refused_is_a_real_error(net: respx.Router) -> None:
    clock = Clock()
    route = net.get(R).respond(403, json={"message": "Resource not accessible by integration"})
    with pytest.raises(Refused, match="not accessible"):
        client(Phase.AUTHORIZE, clock, age=0).call("repository")
    assert route.call_count == 4
    with pytest.raises(Refused):
        client(Phase.AUTHORIZE, Clock(), age=6).call("repository")
    assert route.call_count == 5


def test_a_fresh_suspension_is_no_fresh_token(net: respx.Router) -> None:
    route = net.get(R).respond(403, json={"message": "This installation has been suspended"})
    with pytest.raises(Halt) as stop:
        client(Phase.AUTHORIZE, age=0).call("repository")
    assert stop.value.record.reason is Reason.INSTALLATION and route.call_count == 1


def test_a_read_after_our_own_write_waits_for_the_copies(net: respx.Router) -> None:
    clock = Clock()
    route = net.get(f"{R}/pulls/4")
    route.side_effect = [httpx.Response(404, json={"message": "Not Found"})] * 2 + [
        httpx.Response(200, json={})
    ]
    client(Phase.PULL, clock).call("pull", number=4, settle=True)
    assert clock.slept == [0.5, 1.0]


def test_writes_keep_their_distance(net: respx.Router) -> None:
    clock = Clock()
    net.post(f"{R}/issues/1/comments").respond(201, json={"id": 1})
    speaking = client(Phase.STATUS, clock, gap=1)
    for _ in range(3):
        speaking.call("create_comment", body={"body": "x"}, number=1)
    assert clock.slept == [1.0, 1.0]


# -- which error -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (403, {"retry-after": "90"}, "You have exceeded a secondary rate limit", 90),
        (403, {}, "You have exceeded a secondary rate limit", 60),
        (403, {}, "You have triggered an abuse detection mechanism", 60),
        (429, {}, "slow down", 60),
        (429, {"retry-after": "0"}, "slow down", 1),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "slow down", 60),
        (
            403,
            {
                "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": "1800000600",
                "date": "Fri, 15 Jan 2027 08:00:00 GMT",
            },
            "API rate limit exceeded",
            600,
        ),
        (403, {"x-ratelimit-remaining": "0"}, "API rate limit exceeded", 60),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(
    net: respx.Router, status: int, headers: dict[str, str], message: str, seconds: float
) -> None:
    route = net.post(f"{R}/issues/1/comments")
    route.respond(status, json={"message": message}, headers=headers)
    with pytest.raises(Unavailable) as away:
        client(Phase.STATUS).call("create_comment", body={"body": "x"}, number=1)
    assert away.value.retry_after == seconds
    assert route.call_count == 1


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (404, "Not Found", Missing),
        (410, "This issue was deleted", Missing),
        (301, "Moved Permanently", Missing),
        (422, "Reference already exists", Exists),
        (422, "Validation Failed", Refused),
        (409, "Git Repository is empty.", Refused),
        (403, "Unable to create comment because issue is locked.", Refused),
        (401, "Bad credentials", Unavailable),
    ],
)
def test_an_answer_becomes_one_of_our_errors(
    net: respx.Router, status: int, message: str, error: type[Exception]
) -> None:
    net.post(f"{R}/git/refs").respond(status, json={"message": message})
    with pytest.raises(error, match=str(status)) as told:
        client(Phase.GIT).call("create_ref", body={"ref": f"refs/heads/{BRANCH}", "sha": SHA})
    assert type(told.value) is error and message in str(told.value)


def test_the_details_of_a_refusal_are_read_too(net: respx.Router) -> None:
    errors = [{"code": "custom", "message": "A pull request already exists for o:b."}, "x", 3]
    net.post(f"{R}/pulls").respond(422, json={"message": "Validation Failed", "errors": errors})
    with pytest.raises(Exists, match="already exists for o:b"):
        client(Phase.PULL).call("create_pull", body={"head": BRANCH})
    net.post(f"{R}/labels").respond(
        422, json={"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
    )
    with pytest.raises(Exists):
        client(Phase.STATUS).call("create_label", body={"name": "x"})


@pytest.mark.parametrize("data", ["[1]", "null", "oops", '{"message": 5, "errors": {}}', ""])
def test_a_refusal_without_words_is_still_a_refusal(net: respx.Router, data: str) -> None:
    net.get(R).respond(400, text=data)
    with pytest.raises(Refused, match="it gave no reason"):
        client(Phase.AUTHORIZE).call("repository")


def test_what_github_says_is_shown_as_one_short_printable_line(net: respx.Router) -> None:
    net.get(R).respond(400, json={"message": "a\nb\x1b[31m\u202e" + "x" * 1000})
    with pytest.raises(Refused) as told:
        client(Phase.AUTHORIZE).call("repository")
    assert "a b?[31m?xxx" in str(told.value) and len(str(told.value)) < 400


def test_the_secret_is_in_no_error_and_no_url(net: respx.Router) -> None:
    net.get(R).mock(side_effect=httpx.ReadTimeout("x"))
    with pytest.raises(Unavailable) as told:
        client(Phase.AUTHORIZE).call("repository")
    assert "ghs_" not in repr(told.value) and "ghs_" not in str(net.calls[0].request.url)
    assert net.calls[0].request.headers["authorization"] == "token ghs_secret"


def test_a_redirect_is_not_followed(net: respx.Router) -> None:
    other = net.get("http://evil.test/").respond(200, json={})
    net.get(R).respond(302, headers={"location": "http://evil.test/"}, json={})
    with pytest.raises(Missing):
        client(Phase.AUTHORIZE).call("repository")
    assert not other.called


# -- lists -----------------------------------------------------------------------------------------


def test_all_pages_of_a_list_are_read(net: respx.Router) -> None:
    def page(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params["page"])
        more = {"link": f'<{R}?page={number + 1}>; rel="next"'} if number < 4 else {}
        return httpx.Response(200, json=[{"id": number}, "junk"], headers=more)

    net.get(f"{R}/issues/1/comments").mock(side_effect=page)
    found = client(Phase.STATUS).pages("comments", {}, number=1)
    assert [one["id"] for one in found] == [1, 2, 3, 4]


def test_a_list_that_never_ends_does(net: respx.Router) -> None:
    route = net.get(f"{R}/issues/1/comments")
    route.respond(json=[{"id": 1}], headers={"link": '<x>; rel="next"'})
    assert len(list(client(Phase.STATUS).pages("comments", {}, number=1))) == 50


# -- answers that do not fit -----------------------------------------------------------------------


@pytest.mark.parametrize("data", [{}, [], {"id": "5"}, {"id": 6, "default_branch": "main"}])
def test_an_answer_of_the_wrong_shape_is_an_integrity_error(net: respx.Router, data: Any) -> None:
    net.get(R).respond(json=data)
    with pytest.raises(IntegrityError):
        Reader(client(Phase.AUTHORIZE)).repository()


def test_a_file_whose_bytes_and_id_differ_is_refused(net: respx.Router) -> None:
    net.get(f"{R}/contents/a.yml").respond(
        json={"type": "file", "encoding": "base64", "content": "eA==", "sha": SHA}
    )
    with pytest.raises(IntegrityError, match="not those of the blob"):
        Reader(client(Phase.AUTHORIZE)).file("a.yml", SHA)


@pytest.mark.parametrize(
    "data",
    [
        {"type": "symlink", "encoding": "base64", "content": ""},
        {"type": "file", "encoding": "none", "content": ""},
        {"type": "file", "encoding": "base64", "content": "é"},
        [{"type": "file"}],
    ],
)
def test_a_file_that_is_none_is_refused(net: respx.Router, data: Any) -> None:
    net.get(f"{R}/contents/a.yml").respond(json=data)
    with pytest.raises(IntegrityError):
        Reader(client(Phase.AUTHORIZE)).file("a.yml", SHA)


@pytest.mark.parametrize(
    ("data", "role"),
    [
        ({"role_name": "maintain", "permission": "write"}, "maintain"),
        ({"role_name": "triage", "permission": "read"}, "triage"),
        ({"role_name": "security-champion", "permission": "write"}, "write"),
        ({"role_name": "reader-plus", "permission": "read"}, "read"),
        ({"permission": "admin"}, "admin"),
        ({"permission": "owner"}, "none"),
        ({}, "none"),
    ],
)
def test_a_custom_role_counts_by_its_base(
    net: respx.Router, data: dict[str, str], role: str
) -> None:
    user = {"login": "Alice", "id": 3}
    net.get(f"{R}/collaborators/alice/permission").respond(json={"user": user, **data})
    reading = Reader(client(Phase.AUTHORIZE))
    assert reading.role("alice") == reading.role("alice", 3) == role
    assert reading.role("alice", 4) == "none"


def test_an_answer_about_somebody_else_gives_no_role(net: respx.Router) -> None:
    answer = {"user": {"login": "mallory", "id": 3}, "permission": "admin"}
    net.get(f"{R}/collaborators/alice/permission").respond(json=answer)
    assert Reader(client(Phase.AUTHORIZE)).role("alice") == "none"


def test_a_mode_that_is_none_of_ours_is_never_published(net: respx.Router) -> None:
    writing = Publisher(client(Phase.GIT), "1")
    with pytest.raises(ForbiddenCall, match="mode"):
        writing.tree(SHA, [FileWrite("sub", 0o160000, b"x")], SHA)
    with pytest.raises(ForbiddenCall, match="marker"):
        Publisher(client(Phase.STATUS), "1").comment(1, "no marker here", "<!-- m -->")
    with pytest.raises(ForbiddenCall, match="not the branch"):
        writing.create_branch("agent/issue-8-x", SHA)
    assert not net.calls


@pytest.mark.parametrize("phase", list(Phase))
def test_no_phase_can_write_a_review_or_merge(net: respx.Router, phase: Phase) -> None:
    """The call that reads reviews sends nothing, and no method but the table's is ever used."""
    with client(phase) as made, pytest.raises(ForbiddenCall):
        made.call("reviews", body={"event": "x"}, number=7)
    with client(phase) as made, pytest.raises(ForbiddenCall):
        made.call("update_pull", body={"state": "closed", "merge": True}, number=7)
    assert net.calls.call_count == 0
