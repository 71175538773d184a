"""The GitHub stand-in by hand: the command, the control API's manners, pages, and odd bytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.standins.github import GitHubStandin, StandinRefused
from tests.standins.github.client import Control
from tests.standins.github.process import REPOSITORY
from tests.standins.github.rest.operations import ALL
from tests.standins.github_world import REPO, Acme, acme

EVIL = '<script>alert(1)</script><img src="https://example.com/x">'


def page(world: Acme, path: str) -> str:
    answer = httpx.get(f"{world.standin.url}/{REPO}{path}", trust_env=False)
    assert answer.status_code == 200, answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert "<img" not in answer.text
    return answer.text


def test_the_command_writes_one_ready_line(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "tests.standins.github", "--root", str(tmp_path / "r")]
    process = subprocess.Popen(
        [*command, "--ready", str(ready)],
        cwd=REPOSITORY,
        env={"PATH": os.defpath},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        line = json.loads(process.stdout.readline())
        assert set(line) == {"url", "git_url"}
        hub = Control(line["url"])
        assert hub.create_repo("a/b")["default_branch"] == "main"
        hub.close()
        assert json.loads(ready.read_text()) == line
        process.terminate()
        process.wait(timeout=60)


def test_a_wrong_act_says_what_is_wrong(world: Acme) -> None:
    with pytest.raises(StandinRefused, match="no act 'fly'"):
        world.standin.act("fly")
    with pytest.raises(StandinRefused, match="missing a required argument: 'title'"):
        world.standin.act("open_issue", repo=REPO, user="eve")
    with pytest.raises(StandinRefused, match="404"):
        world.standin.open_issue("acme/none", "eve", "T")
    with pytest.raises(StandinRefused, match="400"):
        world.standin.push(REPO, "alice", "main", {"not-there": None})
    with pytest.raises(StandinRefused, match="cannot clone"):
        world.standin.create_repo("acme/copy", source=Path("/nonexistent"))
    for name in ("../../x", "a/..", "no-slash"):
        with pytest.raises(StandinRefused, match="is not owner/name"):
            world.standin.create_repo(name)


def test_pages_show_everything_and_run_nothing(world: Acme) -> None:
    hub = world.standin
    body = f"**Bold** {EVIL}\n\n<details><summary>More</summary>\n\n`x`\n\n</details>\n<!-- m -->"
    number = hub.open_issue(REPO, "eve", f"Broken {EVIL}", body, ["agent:fix"])
    hub.comment(REPO, number, "alice", f"Indeed {EVIL} ![i](https://example.com/i.png)")
    text = page(world, f"/issues/{number}")
    assert "<strong>Bold</strong>" in text
    assert "<details><summary>More</summary>" in text.replace("\n", "")
    assert "agent:fix" in text
    assert "Indeed" in text
    assert "&lt;script&gt;" in text
    assert "<!-- m -->" not in text
    hub.push(REPO, "alice", "topic", {"src/widgets.py": f"x = 1  # {EVIL}\n"})
    pull = hub.open_pull(REPO, "alice", "topic", "Fix", body="Why", draft=True)
    head = hub.pull(REPO, pull)["head"]["sha"]
    run = hub.add_check_run(REPO, "patchwarrant", head, "patchwarrant/evidence", "success")
    hub.review(REPO, pull, "bob", "COMMENT", "Looks odd")
    text = page(world, f"/pull/{pull}")
    for shown in ("Why", ">draft<", "patchwarrant/evidence", "A change", "Looks odd", head[:10]):
        assert shown in text
    assert "+x = 1" in page(world, f"/pull/{pull}/files")
    assert "evidence" in page(world, f"/runs/{run}")
    assert "Broken" in page(world, "")
    assert "return a - b" in page(world, "/blob/main/src/widgets.py")
    assert httpx.get(f"{hub.url}/{REPO}/issues/99", trust_env=False).status_code == 404


def test_the_addresses_in_answers_are_these_pages(world: Acme) -> None:
    hub = world.standin
    number = hub.open_issue(REPO, "eve", "T")
    comment = hub.comment(REPO, number, "eve", "x")
    for url in (hub.issue(REPO, number)["html_url"], hub.comments(REPO, number)[0]["html_url"]):
        assert f"issuecomment-{comment}" in httpx.get(url, trust_env=False).text


def test_reset_forgets_everything(github: GitHubStandin) -> None:
    github.reset()
    made = Path(github.create_repo("acme/widgets")["path"])
    assert made.is_dir()
    github.reset()
    assert not made.exists()
    assert github.tokens() == github.deliveries() == github.faults() == github.log() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
# Names that the calls read, in one text: the list is only there to draw from.
FIELDS = re.findall(
    r"\w+",
    "assignees base base_tree body color content description encoding event force head head_sha "
    "labels message name output parents path permissions query ref reviewers sha state status "
    "title tree variables author committer date annotations context conclusion draft started_at "
    "repository_ids comments",
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=len(FIELDS))
FILLED = {
    "owner": "acme",
    "repo": "widgets",
    "path": "README.md",
    "branch": "main",
    "username": "alice",
    "basehead": "main...main",
    "ref": "main",
    "name": "bug",
    "code": "x",
}


@pytest.fixture(scope="module")
def busy(github: GitHubStandin) -> Acme:
    """A world with an issue (1), a pull request (2) and a comment, for odd requests."""
    github.reset()
    world = acme(github)
    github.open_issue(REPO, "eve", "T", labels=["bug"])
    github.push(REPO, "alice", "topic", {"a": "1\n"})
    github.open_pull(REPO, "alice", "topic", "Fix")
    return world


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=BODIES, number=st.integers(1, 2))
def test_no_body_makes_it_fail_by_itself(busy: Acme, body: dict[str, Any], number: int) -> None:
    token = busy.mint()
    comment = busy.standin.comment(REPO, 1, "eve", "x")
    filled = FILLED | {"comment_id": str(comment)}
    told = json.dumps(body).encode()
    with busy.with_token(token) as http, busy.app_client() as app:
        for operation in ALL:
            if operation.path in ("/installation/token", "/graphql"):
                continue
            names = {"tree_sha": busy.head, "commit_sha": busy.head, "sha": busy.head}
            default = dict.fromkeys(
                ("issue_number", "pull_number", "installation_id", "delivery_id", "file_sha"),
                str(number),
            ) | {"check_run_id": "1", "review_id": "1", "ruleset_id": "1"}
            default["installation_id"] = str(busy.installation)
            path = operation.path.format(**(default | names | filled))
            asking = app if operation.actor == "app" else http
            answer = asking.request(operation.method, path, content=told)
            assert answer.status_code < 500, f"{operation.method} {path}: {answer.text}"
        assert http.post("/graphql", content=told).status_code < 500


@pytest.mark.parametrize("raw", [b"{", b"[]", b'"x"', b"\xff", b'{"body": "\\ud800"}', b"[" * 9999])
def test_odd_bytes_are_told_so(busy: Acme, raw: bytes) -> None:
    with busy.rest() as http:
        answer = http.post(f"/repos/{REPO}/issues/1/comments", content=raw)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "query",
    ["", "{", "mutation {", "mutation { x(", "query { viewer { login } }", "}", "mutation($a:"],
)
def test_odd_queries_are_told_so(busy: Acme, query: str) -> None:
    with busy.rest() as http:
        answer = http.post("/graphql", json={"query": query})
    assert answer.status_code == 200
    assert answer.json()["errors"]
