"""`/agent verify` on pull requests of other people: the same evidence, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from app.domain.errors import Reason
from app.domain.evidence import Result
from app.domain.run import Run
from app.domain.state import Kind, State
from tests.e2e.conftest import FILES, FIX, Town, git
from tests.e2e.test_first_light import reading
from tests.shared_data import REPOSITORY

pytestmark = pytest.mark.docker

FIXED = FILES["sums.py"].replace("a - b", "a + b")
WEAKER = FILES["tests/test_sums.py"].replace("== 4", "!= 4")


def opened(town: Town, name: str, files: dict[str, Any], branch: str = "topic") -> int:
    """A pull request of mona's with these files."""
    town.up.hub.push(name, "mona", branch, files)
    return town.up.hub.open_pull(name, "mona", branch, "Mend add")


def asked(town: Town, name: str, number: int, user: str = "mona") -> None:
    town.up.hub.comment(name, number, user, "/agent verify")


def sticky(town: Town, name: str, number: int) -> str:
    """The text of the one comment of ours that there is, once it tells of no work: what was sent
    before the end and arrives after it is put right within seconds."""

    def text() -> str:
        comments = town.up.hub.comments(name, number)
        (only,) = [one for one in comments if "[bot]" in one["user"]["login"]]
        return str(only["body"])

    town.up.await_true(lambda: "at work" not in text(), 120)
    return text()


def evidence(town: Town, name: str, run: Run) -> dict[str, Any]:
    """The one check run on the head that was checked."""
    (check,) = town.up.hub.check_runs(name, run.publication.commit)
    return dict(check)


def examined(town: Town, name: str, number: int, run: Run) -> subprocess.CompletedProcess[str]:
    """What `patchwarrant verify` says of the pull request, in a process of its own."""
    key = town.folder / "public.pem"
    key.write_text(town.up.public_key, encoding="utf-8")
    token = town.folder / "token"
    token.write_text(reading(town, run), encoding="utf-8")
    words = ["verify", f"{town.up.hub.url}/{name}/pull/{number}", "--key", str(key)]
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *words],
        env={
            "PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY), "LANG": "C.UTF-8",
            "GITHUB_API_URL": town.up.hub.url,
            "PATCHWARRANT_GITHUB_TOKEN_FILE": str(token),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def only_evidence_was_written(town: Town, name: str, since: int) -> None:
    """No branch, commit or label of ours, no token that could push, no call of the model."""
    assert town.up.model is not None
    assert town.up.model.requests() == []
    assert not [ref for ref in town.up.hub.refs(name) if "agent/" in ref]
    written = [
        one for one in town.up.hub.log()[since:]
        if one["method"] != "GET" and f"/repos/{name}/" in one["path"]
    ]  # fmt: skip
    assert written
    for one in written:
        kinds = ("/comments", "/reactions", "/check-runs")
        assert any(kind in one["path"] for kind in kinds), one["path"]
    minted = [one for one in town.up.hub.log()[since:] if one["path"].endswith("/access_tokens")]
    assert minted
    for one in minted:
        assert one["body"]["permissions"].get("contents", "read") == "read"


def test_a_persons_pull_request_gets_signed_evidence_and_nothing_else(town: Town) -> None:
    name = town.repository()
    number = opened(town, name, FIX)
    since = len(town.up.hub.log())
    asked(town, name, number)
    run = town.end(name, number)
    assert run.kind is Kind.VERIFY and run.state is State.COMPLETE, run.halt
    assert run.verdict is not None
    assert run.verdict.result is Result.PASSED, run.verdict.wall
    assert run.publication.commit == town.up.hub.pull(name, number)["head"]["sha"]
    assert run.publication.pull == 0 and run.spend.calls == 0
    check = evidence(town, name, run)
    assert check["name"] == "patchwarrant/evidence" and check["conclusion"] == "success"
    body = sticky(town, name, number)
    assert "Evidence of" in body and "✅" in body and "`tests`" in body
    only_evidence_was_written(town, name, since)
    done = examined(town, name, number, run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert town.up.hub.issue(name, number)["labels"] == []


def test_a_weakened_test_is_named_first_and_the_next_look_is_about_the_next_head(
    town: Town,
) -> None:
    name = town.repository()
    number = opened(town, name, {"tests/test_sums.py": WEAKER})
    asked(town, name, number)
    run = town.end(name, number)
    assert run.verdict is not None and run.verdict.result is not Result.PASSED
    check = evidence(town, name, run)
    assert check["conclusion"] == "action_required"
    assert "Touched the referee" in check["output"]["summary"]
    body = sticky(town, name, number)
    assert "Touched the referee" in body
    assert body.index("Touched the referee") < body.index("| check")
    assert examined(town, name, number, run).returncode == 1

    town.up.hub.push(
        name, "mona", "topic", {**FIX, "tests/test_sums.py": FILES["tests/test_sums.py"]}
    )
    town.up.hub.press(name, check["id"], "mona")  # as good as another comment
    second = town.end(name, number, after=run.id)
    assert second.verdict is not None and second.verdict.result is Result.PASSED
    assert second.publication.commit != run.publication.commit
    assert "✅" in sticky(town, name, number)


def test_a_forks_pull_request_is_fetched_from_the_repository_that_it_is_in(town: Town) -> None:
    name = town.repository()
    hub = town.up.hub
    fork = f"eve/{name.partition('/')[2]}"
    place = town.folder / "fork"
    subprocess.run(["git", "clone", "-q", str(town.source(name)), str(place)], check=True)
    git(place, "checkout", "-q", "-b", "theirs")
    (place / "sums.py").write_text(FIXED, encoding="utf-8")
    git(place, "commit", "-q", "-a", "-m", "Add")
    git(place, "checkout", "-q", "main")
    hub.create_user("eve")
    hub.create_repo(fork, source=place)
    number = hub.open_pull(name, "eve", "eve:theirs", "Mend add", fork=fork)
    since = len(hub.log())
    hub.comment(name, number, "eve", "/agent verify")
    town.up.await_true(lambda: "was not done" in str(hub.comments(name, number)), 120)
    assert not [run for run in town.up.ledger.runs(50) if run.repository.full_name == name]
    assert hub.check_runs(name, hub.pull(name, number)["head"]["sha"]) == []
    asked(town, name, number)
    run = town.end(name, number)
    assert run.verdict is not None and run.verdict.result is Result.PASSED, run.halt
    assert run.requester.login == "mona"
    assert evidence(town, name, run)["conclusion"] == "success"
    only_evidence_was_written(town, name, since)


def test_a_head_that_moved_meanwhile_makes_the_evidence_stale(town: Town) -> None:
    name = town.repository()
    number = opened(town, name, FIX)
    town.up.stop("runner")
    asked(town, name, number)
    town.up.await_run(
        lambda run: run.repository.full_name == name and run.contract is not None, 120
    )
    town.up.hub.push(name, "mona", "topic", {"more.py": "x = 1\n"})
    town.up.start("runner")
    run = town.end(name, number)
    assert run.publication.overtaken == town.up.hub.pull(name, number)["head"]["sha"]
    assert run.publication.commit != run.publication.overtaken
    assert "Stale" in sticky(town, name, number)
    assert evidence(town, name, run)["conclusion"] == "success"
    assert town.up.hub.check_runs(name, run.publication.overtaken) == []


def test_older_rules_cannot_be_chosen_by_an_older_base(town: Town) -> None:
    name = town.repository()
    number = opened(town, name, FIX)
    stricter = FILES[".github/agent.yml"] + "    timeout: 60\n"
    town.up.hub.push(name, "mona", "main", {".github/agent.yml": stricter})
    asked(town, name, number)
    run = town.end(name, number)
    assert run.halt is not None and run.halt.reason is Reason.CONFIG_ERROR
    body = sticky(town, name, number)
    assert "outdated rules" in body and "`agent:fix`" not in body
