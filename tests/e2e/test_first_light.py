"""From a signed webhook to a draft pull request, with nothing of ours replaced."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.domain.evidence import Result
from app.domain.report import statements_in
from app.domain.run import Run
from app.domain.state import State
from tests.e2e.conftest import FILES, FIX, WRONG, Town
from tests.shared_data import REPOSITORY
from worker.attest.statement import PREDICATE_TYPE
from worker.attest.testresult import TEST_RESULT_TYPE
from worker.attest.verify import public_key, verify
from worker.desk.github.auth import App, load_key

pytestmark = pytest.mark.docker


def head(town: Town, name: str, branch: str) -> tuple[str, str]:
    """(commit, tree) of a branch by plain git in the stand-in's bare repository."""
    owner, _, short = name.partition("/")
    place = town.up.hub.root / owner / f"{short}.git"
    words = ["git", "--git-dir", str(place), "rev-parse", branch, f"{branch}^{{tree}}"]
    commit, tree = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return commit, tree


def test_a_labelled_issue_becomes_a_draft_whose_tree_is_the_checked_tree(town: Town) -> None:
    name = town.repository()
    town.patches(name, WRONG, FIX)
    number = town.ask(name)
    run = town.end(name, number)

    assert run.state is State.COMPLETE
    assert run.verdict is not None
    assert run.verdict.result is Result.PASSED
    pulls = town.up.hub.pulls(name)
    assert len(pulls) == 1
    pull = pulls[0]
    hub, made = town.up.hub, pull["number"]
    town.up.await_true(lambda: bool(hub.pull(name, made)["requested_reviewers"]), 120)
    shown = hub.pull(name, made)
    assert [one["login"] for one in shown["requested_reviewers"]] == ["mona"]
    assert shown["draft"] is False, "the gate passed, and then it was made ready"
    branch = pull["head"]["ref"]
    assert branch == f"agent/issue-{number}-{run.change}"
    commit, tree = head(town, name, branch)
    assert commit == run.publication.commit == pull["head"]["sha"]
    assert tree == run.verdict.tree
    assert tree in pull["body"]
    # The first screen: baseline failure, passing end; the failing first attempt is told below.
    assert "tests/test_sums.py::test_add" in pull["body"]
    assert "attempt 1" in pull["body"]
    assert "tests/test_sums.py::test_nothing" in pull["body"]
    assert "1 planned but not changed" not in pull["body"]
    assert "`sums.py`" in pull["body"]


def test_the_signed_statement_names_exactly_that_commit_and_tree(town: Town) -> None:
    name = town.repository()
    town.patches(name, FIX)
    run = town.end(name, town.ask(name))
    checks = town.up.hub.check_runs(name, run.publication.commit)
    ours = [check for check in checks if check["name"] == "patchwarrant/evidence"]
    assert [check["conclusion"] for check in ours] == ["success"]
    lines = statements_in(ours[0]["output"]["text"])
    envelopes = [json.loads(line) for line in lines]
    commit, tree = head(town, name, f"agent/issue-{run.issue}-{run.change}")
    for envelope, kind in zip(envelopes, (PREDICATE_TYPE, TEST_RESULT_TYPE), strict=True):
        statement = verify(envelope, public_key(town.up.public_key), kind)
        assert statement["subject"][0]["digest"] == {"gitTree": tree, "gitCommit": commit}
        assert json.loads(base64.b64decode(envelope["payload"])) == statement
        assert statement["predicate"]["result"] == "PASSED"


def test_a_stranger_verifies_the_pull_request_with_the_operator_s_public_key(
    town: Town, tmp_path: Path
) -> None:
    """By the command, in a process of its own, with a token that can only read."""
    name = town.repository()
    town.patches(name, FIX)
    run = town.end(name, town.ask(name))
    key, token, kept = (tmp_path / part for part in ("key.pem", "token", "bundle.json"))
    key.write_text(town.up.public_key)
    token.write_text(reading(town, run))
    address = f"{town.up.hub.url}/{name}/pull/{run.publication.pull}"
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
        "GITHUB_API_URL": town.up.hub.url,
        "PATCHWARRANT_GITHUB_TOKEN_FILE": str(token),
        "PATCHWARRANT_REDIS_URL": town.up.redis.url,
        "PATCHWARRANT_SANDBOX": town.up.environment("sandbox")["PATCHWARRANT_SANDBOX"],
    }

    def command(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "app.cli", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=400,
        )
        return done.returncode, " ".join(f"{done.stdout} {done.stderr}".split())

    code, said = command("evidence", run.id, str(kept))
    assert code == 0, said
    code, said = command("verify", address, "--key", str(key), "--bundle", str(kept), "--rerun")
    assert code == 0, said
    assert "✔ The journal is complete and in order" in said
    assert "✔ The checks, run again here, say the same" in said
    town.up.hub.push(name, "mona", run.publication.branch, {"README.md": "more"}, "More")
    code, said = command("verify", address, "--key", str(key))
    assert code == 1 and "Stale" in said


def reading(town: Town, run: Run) -> str:
    """A token for one repository that can read what a stranger to a public one could."""
    app = App(
        str(town.up.app.app_id),
        load_key(town.up.app.private_key),
        town.up.hub.url,
        now=time.time,
        clock=time.monotonic,
        sleep=time.sleep,
    )
    wanted = {"contents": "read", "checks": "read", "pull_requests": "read", "metadata": "read"}
    return app.mint(run.installation, run.repository.id, wanted).secret


def test_unrelated_files_keep_their_bytes_and_modes(town: Town) -> None:
    files = {**FILES, "odd name.txt": "a\r\nb\rc", "empty": "", "deep/er/x.md": "no end"}
    name = town.repository(files)
    town.patches(name, FIX)
    run = town.end(name, town.ask(name))
    owner, _, short = name.partition("/")
    place = town.up.hub.root / owner / f"{short}.git"
    branch = f"agent/issue-{run.issue}-{run.change}"
    words = ["git", "--git-dir", str(place), "diff-tree", "-r", "--name-only", "-z", "main", branch]
    changed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert changed.split("\0")[:-1] == ["sums.py"]


def test_labels_and_the_sticky_comment_say_how_it_ended(town: Town) -> None:
    name = town.repository()
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    issue = town.up.hub.issue(name, number)
    assert {label["name"] for label in issue["labels"]} == {"agent:done"}
    comments = [c for c in town.up.hub.comments(name, number) if "patchwarrant:status" in c["body"]]
    assert len(comments) == 1
    assert comments[0]["id"] == run.status_comment


def test_a_second_label_is_told_of_the_pull_request_and_starts_nothing(town: Town) -> None:
    name = town.repository()
    town.patches(name, FIX)
    number = town.ask(name)
    run = town.end(name, number)
    last = max(c["id"] for c in town.up.hub.comments(name, number))
    town.up.hub.add_label(name, number, "mona", "agent:fix")
    town.up.hub.wait_delivered()

    def answered() -> bool:
        words = f"#{run.publication.pull}"
        told = [c["body"] for c in town.up.hub.comments(name, number) if c["id"] > last]
        return any(words in body for body in told)

    town.up.await_true(answered, 120)
    runs = [r for r in town.up.ledger.runs(50) if r.repository.full_name == name]
    assert [r.id for r in runs] == [run.id]
    assert len(town.up.hub.pulls(name)) == 1
