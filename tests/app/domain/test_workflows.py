"""What a push of ours would start in a repository, and with what rights."""

from __future__ import annotations

import time

import pytest
import yaml

from app.domain.workflow_filters import matches
from app.domain.workflows import Judgement, Push, Right, judge

PUSH = Push("agent/issue-12-0a1b2c", "main", ("src/calc.py", "docs/a.md"))
CI = ".github/workflows/ci.yml"


def judged(text: str, **others: str) -> Judgement:
    files = {CI: yaml.safe_load(text)}
    files |= {f".github/workflows/{name}.yml": yaml.safe_load(one) for name, one in others.items()}
    return judge(files, PUSH)


def rights(text: str, **others: str) -> set[Right]:
    return {reason.right for reason in judged(text, **others).reasons}


SAFE = """
on: [push, pull_request]
permissions: {contents: read}
jobs: {test: {runs-on: ubuntu-24.04, steps: [{run: make test}]}}
"""


def test_a_workflow_without_rights_runs_at_once() -> None:
    found = judged(SAFE)
    assert found.started == (CI,)
    assert not found.privileged


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("make test", "'echo ${{ secrets.TOKEN }}'", {Right.SEES}),
        ("make test", "'echo ${{ toJSON(secrets) }}'", {Right.SEES}),
        ("make test", "'echo ${{ secrets[''A''] }}'", {Right.SEES}),
        ("make test", "'echo ${{ secrets.GITHUB_TOKEN }}'", set()),
        ("make test", "echo secrets are nice", set()),
        ("run: make test", "if: secrets.A != '', run: x", {Right.SEES}),
        (
            "permissions: {contents: read}",
            "env: {A: '${{ secrets.A }}'}",
            {Right.SEES, Right.WRITE},
        ),
        ("contents: read", "contents: write", {Right.WRITE}),
        ("contents: read", "id-token: write", {Right.IDENTITY}),
        ("contents: read", "id-token: write, packages: write", {Right.IDENTITY, Right.WRITE}),
        ("permissions: {contents: read}", "permissions: write-all", {Right.WRITE}),
        ("permissions: {contents: read}", "permissions: read-all", set()),
        ("permissions: {contents: read}", "permissions: {}", set()),
        ("permissions: {contents: read}", "name: x", {Right.WRITE}),  # the default may write
        ("permissions: {contents: read}", "permissions: [a]", {Right.UNKNOWN}),
        ("ubuntu-24.04", "self-hosted", {Right.RUNNER}),
        ("ubuntu-24.04", "[self-hosted, linux]", {Right.RUNNER}),
        ("ubuntu-24.04", "{group: big}", {Right.RUNNER}),
        ("ubuntu-24.04", "'${{ vars.RUNNER }}'", {Right.RUNNER}),
        ("ubuntu-24.04", "'${{ matrix.os }}'", {Right.RUNNER}),
        (
            "runs-on: ubuntu-24.04",
            "runs-on: '${{ matrix.os }}', strategy: {matrix: {os: [ubuntu-24.04, macos-15]}}",
            set(),
        ),
        (
            "runs-on: ubuntu-24.04",
            "runs-on: '${{ matrix.os }}', strategy: {matrix: {os: [ubuntu-24.04, mine]}}",
            {Right.RUNNER},
        ),
        ("runs-on: ubuntu-24.04", "environment: prod, runs-on: ubuntu-24.04", {Right.ENVIRONMENT}),
        (
            "runs-on: ubuntu-24.04, steps: [{run: make test}]",
            "uses: org/repo/.github/workflows/x.yml@v1",
            {Right.UNKNOWN},
        ),
        (
            "runs-on: ubuntu-24.04, steps: [{run: make test}]",
            "uses: org/repo/.github/workflows/x.yml@v1, secrets: inherit",
            {Right.UNKNOWN, Right.SEES},
        ),
        ("jobs: {test:", "works: {test:", {Right.UNKNOWN}),
        ("[push, pull_request]", "pull_request_target", {Right.WRITE}),
        ("[push, pull_request]", "{workflow_run: {workflows: [x]}}", {Right.WRITE}),
        ("[push, pull_request]", "create", set()),
    ],
)
def test_each_right_is_seen(old: str, new: str, wanted: set[Right]) -> None:
    assert old in SAFE
    assert rights(SAFE.replace(old, new)) == wanted


@pytest.mark.parametrize(
    ("on", "starts"),
    [
        ("push", True),
        ("schedule", False),
        ("[issues, issue_comment, workflow_dispatch]", False),
        ("{push: {branches: [main]}}", False),
        ("{push: {branches: [main, 'agent/**']}}", True),
        ("{push: {branches: ['**']}}", True),
        ("{push: {branches: ['*']}}", False),  # a star stops at a slash
        ("{push: {branches: ['**', '!agent/**']}}", False),
        ("{push: {branches: ['!agent/**', '**']}}", True),
        ("{push: {branches-ignore: ['agent/**']}}", False),
        ("{push: {branches-ignore: [main]}}", True),
        ("{push: {tags: ['v*']}}", False),
        ("{push: {tags: ['v*'], branches: ['agent/*']}}", True),
        ("{push: {paths: ['src/**']}}", True),
        ("{push: {paths: ['lib/**', '**.rs']}}", False),
        ("{push: {paths: ['**.py']}}", True),
        ("{push: {paths-ignore: ['docs/**']}}", True),
        ("{push: {paths-ignore: ['docs/**', 'src/*.py']}}", False),
        ("pull_request", True),
        ("{pull_request: {branches: [main]}}", True),
        ("{pull_request: {branches: ['release/*']}}", False),
        ("{pull_request: {types: [labeled]}}", False),
        ("{pull_request: {types: [ready_for_review]}}", True),
        ("{push: {branches: ['[a']}}", True),  # not understood
        ("{push: {branches: ['agent/issue-+12-[x-z]?0a1b2c']}}", True),
        ("{push: {branches: ['agent/issue-[0-9]+-*']}}", True),
    ],
)
def test_filters_say_what_starts(on: str, starts: bool) -> None:
    assert bool(judged(SAFE.replace("[push, pull_request]", on)).started) is starts


def test_a_workflow_that_is_called_is_judged_as_its_caller_runs_it() -> None:
    caller = """
on: push
permissions: {contents: read}
jobs: {all: {uses: ./.github/workflows/deep.yml}}
"""
    quiet = "{on: workflow_call, jobs: {a: {runs-on: ubuntu-24.04, steps: []}}}"
    loud = "{on: workflow_call, jobs: {a: {runs-on: box, env: {A: '${{ secrets.A }}'}}}}"
    assert rights(caller, deep=quiet) == set()
    assert rights(caller, deep=loud) == {Right.RUNNER, Right.SEES}
    assert rights(caller) == {Right.UNKNOWN}
    assert judged(caller, deep=loud).started == (CI,)


def test_workflows_that_call_each_other_end() -> None:
    loop = """
on: push
permissions: {}
jobs: {all: {uses: ./.github/workflows/ci.yml}}
"""
    assert rights(loop) == {Right.UNKNOWN}


@pytest.mark.parametrize("text", ["[]", "{}", "{on: push, jobs: []}", "{on: push, jobs: {a: 1}}"])
def test_what_is_no_workflow_ends_in_no_error(text: str) -> None:
    judge({CI: yaml.safe_load(text) or {}}, PUSH)


def test_a_file_that_cannot_be_read_is_held_back() -> None:
    found = judge({CI: None}, PUSH)
    assert [reason.right for reason in found.reasons] == [Right.UNKNOWN]


def test_what_no_trailer_can_hold_back_is_told_apart() -> None:
    target = judged(SAFE.replace("[push, pull_request]", "pull_request_target"))
    assert not any(reason.holdable for reason in target.reasons)
    push = judged(SAFE.replace("contents: read", "contents: write"))
    assert push.reasons and all(reason.holdable for reason in push.reasons)


def test_hostile_patterns_are_answered_at_once() -> None:
    before = time.process_time()
    assert matches(["**a" * 100], "a" * 5_000)  # not understood: taken
    assert not matches(["*a" * 8], "b" * 5_000)
    assert matches(["x" * 10_000], "y")
    assert time.process_time() - before < 5
