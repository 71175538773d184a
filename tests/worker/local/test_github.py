"""Plain reads of GitHub's REST interface against a server of canned answers on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from app.domain.report_signed import STATEMENTS
from worker.local.github import CHECK, Away, GitHub
from worker.local.repository import NotFound

R = "/repos/acme/calc"
SHA, OTHER = "a" * 40, "b" * 40


@dataclass
class Canned:
    """Answers by path (status, JSON or text); anything else is 404. Remembers what was asked."""

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def canned() -> Iterator[Canned]:
    made = Canned()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append((self.path, self.headers.get("Authorization")))
            status, body = made.answers.get(self.path, (404, {"message": "Not Found"}))
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield made
        server.shutdown()


@pytest.fixture
def hub(canned: Canned) -> Iterator[GitHub]:
    made = GitHub("https://github.com/acme/calc/pull/7/files", canned.url, "the-token")
    yield made
    made.close()


def check(number: int, lines: tuple[str, ...], name: str = CHECK) -> dict[str, Any]:
    text = f"Words\n\n## {STATEMENTS}\n\n```json\n" + "\n".join(lines) + "\n```\n"
    return {"id": number, "name": name, "output": {"text": text if lines else None}}


def test_the_pull_request_and_its_repository(canned: Canned, hub: GitHub) -> None:
    canned.answers[f"{R}/pulls/7"] = (
        200,
        {"head": {"sha": SHA}, "base": {"ref": "main"}, "body": None},
    )
    canned.answers[R] = (200, {"default_branch": "main", "clone_url": "https://x/acme/calc.git"})
    pull = hub.pull()
    assert (pull.head, pull.base_branch, pull.default_branch) == (SHA, "main", "main")
    assert pull.body == ""
    assert {who for _, who in canned.asked} == {"Bearer the-token"}


def test_a_pull_request_that_is_not_there_asks_for_a_token(hub: GitHub) -> None:
    with pytest.raises(NotFound, match="PATCHWARRANT_GITHUB_TOKEN_FILE"):
        hub.pull()


def test_the_newest_check_run_with_statements_counts(canned: Canned, hub: GitHub) -> None:
    name = CHECK.replace("/", "%2F")
    page = f"{R}/commits/{SHA}/check-runs?check_name={name}&per_page=100&page="
    canned.answers[page + "1"] = (
        200,
        {"check_runs": [check(5, ("old",)), *[check(1, ("x",), "other")] * 99]},
    )
    canned.answers[page + "2"] = (200, {"check_runs": [check(9, ()), check(8, ("one", "two"))]})
    assert hub.evidence(SHA, "main") == (("one", "two"), "")
    assert hub.evidence(OTHER, "main") == ((), "")


def claim(branch: str) -> str:
    """A line of the check run whose statement names a base branch."""
    payload = json.dumps({"predicate": {"base": {"branch": branch}}}).encode()
    return json.dumps({"payload": base64.b64encode(payload).decode()})


def test_of_two_pull_requests_with_one_head_each_has_its_own_check_run(
    canned: Canned, hub: GitHub
) -> None:
    name = CHECK.replace("/", "%2F")
    main, release = claim("main"), claim("release")
    canned.answers[f"{R}/commits/{SHA}/check-runs?check_name={name}&per_page=100&page=1"] = (
        200,
        {"check_runs": [check(7, (main,)), check(8, (main, "newer")), check(9, (release,))]},
    )
    assert hub.evidence(SHA, "main") == ((main, "newer"), "")
    assert hub.evidence(SHA, "release") == ((release,), "")
    assert hub.evidence(SHA, "topic") == ((release,), "")  # examined, and found to be another's


def test_where_a_commit_parted_is_asked_and_unknown_once_the_branch_has_it(
    canned: Canned, hub: GitHub
) -> None:
    path = f"{R}/compare/a%2Fb...{SHA}?per_page=1"
    canned.answers[path] = (200, {"merge_base_commit": {"sha": OTHER}})
    assert hub.parted(SHA, "a/b") == OTHER
    canned.answers[path] = (200, {"merge_base_commit": {"sha": SHA}})
    assert hub.parted(SHA, "a/b") == ""
    assert hub.parted(SHA, "nowhere") == ""


def test_commits_trees_and_histories(canned: Canned, hub: GitHub) -> None:
    commit = {"sha": SHA, "tree": {"sha": OTHER}, "parents": [{"sha": OTHER}]}
    canned.answers[f"{R}/git/commits/{SHA}"] = (200, commit)
    assert hub.tree_of(SHA) == OTHER and hub.parents(SHA) == (OTHER,)
    assert hub.tree_of(OTHER) == "" and hub.parents(OTHER) is None
    canned.answers[f"{R}/git/commits/{OTHER}"] = (200, commit)  # an answer about another commit
    assert hub.tree_of(OTHER) == ""
    for status, inside in (("ahead", True), ("identical", True), ("behind", False),
                           ("diverged", False), (None, False)):  # fmt: skip
        canned.answers[f"{R}/compare/{SHA}...a%2Fb"] = (200, {"status": status})
        assert hub.contains(SHA, "a/b") is inside
    assert hub.contains(SHA, "unknown") is None
    with pytest.raises(NotFound, match="no commit id"):
        hub.tree_of("../../etc")


def test_a_file_and_who_set_it(canned: Canned, hub: GitHub) -> None:
    path = f"{R}/contents/.github/agent.yml?ref={SHA}"
    file = {"type": "file", "encoding": "base64", "content": base64.b64encode(b"x\n").decode()}
    canned.answers[path] = (200, file)
    assert hub.file(".github/agent.yml", SHA) == b"x\n"
    for odd in ({"type": "symlink"}, {"encoding": "none"}, {"content": "*"}):
        canned.answers[path] = (200, file | odd)
        assert not hub.file(".github/agent.yml", SHA)
    history = f"{R}/commits?path=.github/agent.yml&sha={SHA}&per_page=1"
    author = {"name": "Mona", "date": "2026-11-30T10:00:00Z"}
    canned.answers[history] = (200, [{"sha": OTHER, "commit": {"author": author}}])
    assert hub.last_change(".github/agent.yml", SHA) == f"commit {OTHER[:12]} by Mona on 2026-11-30"
    for odd_answer in ((200, []), (200, {}), (404, {}), (500, {})):
        canned.answers[history] = odd_answer
        assert hub.last_change(".github/agent.yml", SHA) == ""


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, {}, "answers 403; a token that can read helps"),
        (429, {}, "answers 429; a token"),
        (500, {}, r"answers 500\."),
        (302, {}, r"answers 302\."),
        (200, "<html>", "no JSON"),
    ],
)
def test_a_server_that_does_not_answer_is_said(
    canned: Canned, hub: GitHub, status: int, body: Any, words: str
) -> None:
    canned.answers[f"{R}/git/commits/{SHA}"] = (status, body)
    with pytest.raises(Away, match=words):
        hub.tree_of(SHA)


@pytest.mark.parametrize(
    ("address", "api"),
    [
        ("https://github.com/a/b/pull/1", "https://api.github.com"),
        ("https://git.example.org/a/b/pull/1", "https://git.example.org/api/v3"),
        ("https://github.com.evil.org/a/b/pull/1", "https://github.com.evil.org/api/v3"),
    ],
)
def test_the_api_belongs_to_the_address_and_no_other_host_gets_the_token(
    address: str, api: str
) -> None:
    made = GitHub(address, "", "the-token")
    assert str(made._http.base_url).rstrip("/") == api
    assert ("authorization" in made._http.headers) is (api == "https://api.github.com")
    made.close()


def test_git_gets_the_token_on_the_api_s_own_host_alone() -> None:
    made = GitHub("https://github.com/a/b/pull/1", "", "the-token")
    assert made.token_for("https://github.com/a/b.git") == "the-token"
    for odd in ("https://evil.org/a.git", "http://github.com/a.git", "https://github.com.evil/a"):
        assert made.token_for(odd) == ""
    made.close()
    foreign = GitHub("https://evil.org/a/b/pull/1", "", "the-token")
    assert foreign.token_for("https://evil.org/a/b.git") == ""
    foreign.close()
