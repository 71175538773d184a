"""Which of a repository's own workflows a push of ours starts, and with what rights.

Follows GitHub's documented workflow syntax. What cannot be told counts as a right: a workflow that
is not understood is held back, never waved through. Two events cannot be held back by a commit
trailer (`skip-checks: true` stops only `push` and `pull_request`), and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.domain.workflow_filters import matches

FOLDER = ".github/workflows/"
TRAILER = "skip-checks: true"
HOLDABLE = frozenset({"push", "pull_request"})
# What a pull request of ours does by itself; `ready_for_review` follows when the gate passes.
_TYPES = frozenset({"opened", "synchronize", "reopened", "ready_for_review"})
_SECRET = re.compile(r"\bsecrets\b(?!\s*\.\s*github_token\b)", re.IGNORECASE)
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_HOSTED = re.compile(r"(?:ubuntu|windows|macos)-[A-Za-z0-9.-]+")
_MATRIX = re.compile(r"\$\{\{\s*matrix\.([A-Za-z_][\w-]*)\s*\}\}")
_DEEP = 10  # reusable workflows that call each other


class Right(StrEnum):
    """Why a workflow should not run code that nobody has looked at."""

    SEES = "secret"
    IDENTITY = "id-token"
    WRITE = "write"
    RUNNER = "runner"
    ENVIRONMENT = "environment"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Push:
    """What is pushed and proposed: our branch, the pull request's base branch, changed paths."""

    branch: str
    base: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Reason:
    """One right of one job: `workflow` is its path, `event` what starts it."""

    workflow: str
    job: str
    event: str
    right: Right
    words: str

    @property
    def holdable(self) -> bool:
        return self.event in HOLDABLE


@dataclass(frozen=True)
class Judgement:
    """`started`: the paths of workflows that run; `reasons`: rights that speak for holding back."""

    started: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def privileged(self) -> bool:
        return bool(self.reasons)


def judge(files: Mapping[str, Mapping[Any, Any] | None], push: Push) -> Judgement:
    """`files`: path below `.github/workflows/` at base → its parsed YAML, None where it is none."""
    started: list[str] = []
    reasons: list[Reason] = []
    for path, workflow in sorted(files.items()):
        if workflow is None:
            reasons.append(
                Reason(path, "", "push", Right.UNKNOWN, "it cannot be read as a workflow")
            )
            continue
        for event in _events(workflow, push):
            if path not in started:
                started.append(path)
            reasons += _jobs(path, workflow, event, files, None, 0)
    return Judgement(tuple(started), tuple(dict.fromkeys(reasons)))


def _events(workflow: Mapping[Any, Any], push: Push) -> Iterator[str]:
    """The events of ours that start it. YAML 1.1 reads the key `on` as true."""
    on = workflow.get("on", workflow.get(True))
    named = _named(on)
    if "push" in named and _pushed(named["push"], push):
        yield "push"
    if "create" in named:
        yield "create"
    for event in ("pull_request", "pull_request_target"):
        if event in named and _proposed(named[event], push):
            yield event
    if "workflow_run" in named:
        yield "workflow_run"


def _named(on: Any) -> dict[str, Any]:
    if isinstance(on, str):
        return {on: None}
    if isinstance(on, Mapping):
        return {str(name): value for name, value in on.items()}
    if isinstance(on, Sequence):
        return {str(name): None for name in on}
    return {}


def _pushed(said: Any, push: Push) -> bool:
    if not isinstance(said, Mapping):
        return True
    branches = {"branches", "branches-ignore"} & said.keys()
    if not branches and {"tags", "tags-ignore"} & said.keys():
        return False
    return _branch(said, push.branch) and _paths(said, push.paths)


def _proposed(said: Any, push: Push) -> bool:
    if not isinstance(said, Mapping):
        return True
    types = _texts(said.get("types", ("opened", "synchronize", "reopened")))
    if not _TYPES & set(types):
        return False
    return _branch(said, push.base) and _paths(said, push.paths)


def _branch(said: Mapping[Any, Any], name: str) -> bool:
    if "branches" in said:
        return matches(_texts(said["branches"]), name)
    if "branches-ignore" in said:
        return not matches(_texts(said["branches-ignore"]), name)
    return True


def _paths(said: Mapping[Any, Any], paths: Sequence[str]) -> bool:
    if "paths" in said:
        return any(matches(_texts(said["paths"]), path) for path in paths)
    if "paths-ignore" in said:
        ignored = _texts(said["paths-ignore"])
        return not paths or any(not matches(ignored, path) for path in paths)
    return True


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()


def _jobs(
    path: str,
    workflow: Mapping[Any, Any],
    event: str,
    files: Mapping[str, Mapping[Any, Any] | None],
    granted: Any,
    depth: int,
) -> Iterator[Reason]:
    """The rights of each job; `granted` is what a calling job's `permissions` leave."""
    jobs = workflow.get("jobs")
    if not isinstance(jobs, Mapping):
        yield Reason(path, "", event, Right.UNKNOWN, "it names no jobs")
        return
    outside = {key: value for key, value in workflow.items() if key not in ("jobs", "on", True)}
    if _secrets(outside):
        yield Reason(path, "", event, Right.SEES, "every job sees a secret")
    for name, job in jobs.items():
        if not isinstance(job, Mapping):
            yield Reason(path, str(name), event, Right.UNKNOWN, "the job cannot be read")
            continue
        inherited = workflow.get("permissions", granted)
        for right, words in _rights(job, inherited, files, event):
            yield Reason(path, str(name), event, right, words)
        yield from _called(path, job, event, files, job.get("permissions", inherited), depth)


def _rights(
    job: Mapping[Any, Any],
    inherited: Any,
    files: Mapping[str, Mapping[Any, Any] | None],
    event: str,
) -> Iterator[tuple[Right, str]]:
    if _secrets(job) or job.get("secrets") == "inherit":
        yield Right.SEES, "it sees a secret"
    if "environment" in job:
        yield Right.ENVIRONMENT, "it runs in an environment, which may hold secrets"
    permissions = job.get("permissions", inherited)
    yield from _permitted(permissions)
    called = job.get("uses")
    if called is None:
        yield from _runner(job)
    elif not (isinstance(called, str) and called.startswith("./") and called[2:] in files):
        yield Right.UNKNOWN, "it calls a workflow of another repository, which was not read"
    if event == "pull_request_target":
        yield Right.WRITE, "`pull_request_target` runs with the base's secrets and token"
    if event == "workflow_run":
        yield Right.WRITE, "`workflow_run` follows another workflow with the base's rights"


def _permitted(permissions: Any) -> Iterator[tuple[Right, str]]:
    if permissions is None:
        yield Right.WRITE, "it names no `permissions`, so the repository's default counts"
    elif isinstance(permissions, str):
        if permissions not in ("read-all", "{}", ""):
            yield Right.WRITE, "its token may write"
    elif isinstance(permissions, Mapping):
        given = sorted(str(name) for name, level in permissions.items() if level == "write")
        if "id-token" in given:
            yield Right.IDENTITY, "it may ask for an identity token"
        if [name for name in given if name != "id-token"]:
            yield Right.WRITE, "its token may write"
    else:
        yield Right.UNKNOWN, "its `permissions` cannot be read"


def _runner(job: Mapping[Any, Any]) -> Iterator[tuple[Right, str]]:
    wanted = job.get("runs-on")
    if isinstance(wanted, Mapping):
        yield Right.RUNNER, "it runs on a group of runners, which may be self-hosted"
        return
    for label in _texts(wanted) or ("",):
        for one in _resolved(label, job):
            if not _HOSTED.fullmatch(one):
                yield Right.RUNNER, "it may run on a self-hosted runner"
                return


def _resolved(label: str, job: Mapping[Any, Any]) -> tuple[str, ...]:
    """A label, or the values of the matrix that it names; what stays an expression is unknown."""
    named = _MATRIX.fullmatch(label.strip())
    strategy = job.get("strategy")
    matrix = strategy.get("matrix") if isinstance(strategy, Mapping) else None
    if named is None or not isinstance(matrix, Mapping) or "include" in matrix:
        return (label,)
    values = matrix.get(named[1])
    return _texts(values) if isinstance(values, Sequence) and values else (label,)


def _called(
    path: str,
    job: Mapping[Any, Any],
    event: str,
    files: Mapping[str, Mapping[Any, Any] | None],
    granted: Any,
    depth: int,
) -> Iterator[Reason]:
    called = job.get("uses")
    if not (isinstance(called, str) and called.startswith("./")):
        return
    workflow = files.get(called[2:])
    if workflow is None or depth >= _DEEP:
        yield Reason(path, "", event, Right.UNKNOWN, "it calls a workflow that was not read")
        return
    yield from _jobs(called[2:], workflow, event, files, granted, depth + 1)


def _secrets(value: Any) -> bool:
    """Whether any expression in it names a secret other than the job's own token."""
    if isinstance(value, str):
        inside = _EXPRESSION.findall(value)
        return any(_SECRET.search(one) for one in inside)
    if isinstance(value, Mapping):
        bare = value.get("if")
        if isinstance(bare, str) and _SECRET.search(bare):
            return True
        return any(_secrets(one) for one in value.values())
    if isinstance(value, Sequence):
        return any(_secrets(one) for one in value)
    return False
