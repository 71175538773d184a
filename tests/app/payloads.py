"""Real webhook payloads: as they are, as if they were for us, derived ones, and odd variants."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from app.domain.commands import Word
from tests.shared_data import shared_dir

Json = dict[str, Any]
Told = tuple[str, Json]
ODD: tuple[Any, ...] = (None, True, 0, -1, 2**63, 1.5, "", "x" * 300, "\u202e", [], {}, [None])
ALICE = {"id": 1, "login": "alice", "type": "User"}
EVE = {"id": 66, "login": "eve", "type": "User"}  # no role anywhere
REPOSITORY = {"id": 5, "name": "widgets", "full_name": "acme/widgets",
              "owner": {"id": 7, "login": "acme", "type": "Organization"}}  # fmt: skip
INSTALLATION = {"id": 1}
PULL = 2  # the pull request of our own
ISSUES = range(10, 2_010)  # issues that nobody works on yet
BODY = "add(1, 2) gives -1\n\n## Acceptance criteria\n- [ ] add(1, 2) gives 3\n"
SAYS = (
    *(f"/agent {word}" for word in Word), "/agent stop", "/agent nonsense",
    "/agent fix It adds.\n\n- [ ] add(1, 2) gives 3", "/agent revise Say why.",
    "/agent approve 0123456789ab", f"/agent publish {'a' * 40}", "Thank you.",
)  # fmt: skip


def real() -> list[Told]:
    folder = shared_dir() / "data/webhooks"
    index = json.loads((folder / "index.json").read_text())
    return [(one["event"], json.loads((folder / one["file"]).read_text())) for one in index]


def places(value: Any, path: tuple[Any, ...] = (), depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Where a change can be made, not too deep."""
    if isinstance(value, dict) and depth < 4:
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key), depth + 1)


def variant(body: Json, wheres: list[tuple[Any, ...]], chance: random.Random) -> Json:
    """The body with up to three parts removed, nulled or of another type."""
    made = copy.deepcopy(body)
    for where in chance.sample(wheres, min(len(wheres), chance.choice((1, 1, 2, 3)))):
        place = made
        for key in where[:-1]:
            place = place.get(key) if isinstance(place, dict) else None  # type: ignore[assignment]
        if not isinstance(place, dict) or where[-1] not in place:
            continue  # an earlier change took it along
        if chance.random() < 0.4:
            place.pop(where[-1])
        else:
            place[where[-1]] = chance.choice(ODD)
    return made


def ours(name: str, body: Json, says: str, branch: str, by: Json) -> Json:
    """The payload as if it were for us: installed, by a person, in our repository, about an issue
    of it or our own pull request and its branch, with our label or a command."""
    made: Json = {**body, "installation": INSTALLATION, "sender": by, "repository": REPOSITORY}
    for part in ("comment", "review"):
        if isinstance(made.get(part), dict):
            said = {"body": says, "user": by, "performed_via_github_app": None}
            made[part] = {**made[part], **said}
    if isinstance(made.get("issue"), dict):
        made["issue"] = {**made["issue"], "number": PULL, "body": BODY}
    if isinstance(made.get("pull_request"), dict):
        head = {**(made["pull_request"].get("head") or {}), "ref": branch}
        made["pull_request"] = {**made["pull_request"], "number": PULL, "head": head}
    if name == "issues" and made.get("action") in ("labeled", "opened"):
        label = {"id": 9, "name": "agent:fix"}
        made |= {"action": "labeled", "label": label}
        made["issue"] = {**made["issue"], "labels": [label]}
    if name == "issues" and made.get("action") == "unlabeled":
        made["label"] = {"id": 10, "name": "agent:running"}
    return on_branch(name, made, branch)


def fresh(body: Json, serial: int) -> Json:
    """The same act once more: of another comment, on another issue."""
    made = dict(body)
    for part in ("comment", "review"):
        if isinstance(made.get(part), dict):
            made[part] = {**made[part], "id": 10_000 + serial}
            if part == "comment" and "pull_request_review_id" in made[part]:
                made[part]["pull_request_review_id"] = 10_000_000 + serial
    issue = made.get("issue")
    if isinstance(issue, dict) and not issue.get("pull_request"):
        made["issue"] = {**issue, "number": ISSUES[serial % len(ISSUES)]}
    return made


def on_branch(name: str, body: Json, branch: str) -> Json:
    """What CI tells, about our branch."""
    if name == "status":
        return {**body, "branches": [{"name": "main"}, {"name": branch}]}
    if name in ("check_suite", "workflow_run"):
        return {**body, name: {**(body.get(name) or {}), "head_branch": branch}}
    if name == "check_run" and isinstance(body.get("check_run"), dict):
        run = body["check_run"]
        suite = {**(run.get("check_suite") or {}), "head_branch": branch}
        return {**body, "check_run": {**run, "check_suite": suite}}
    if name == "push":
        return {**body, "ref": "refs/heads/main"}
    return body


def for_us(given: list[Told], branch: str) -> list[Told]:
    """Every payload as if it were for us; what can be said and asked for in every wording, and
    once by somebody who may nothing."""
    found: list[Told] = []
    for name, body in given:
        spoken = name in ("issue_comment", "pull_request_review", "pull_request_review_comment")
        for says in SAYS if spoken else SAYS[:1]:
            for by in (ALICE, EVE):
                found.append((name, ours(name, body, says, branch, by)))
    return [*found, *derived(found, branch)]


def derived(found: list[Told], branch: str) -> list[Told]:
    """What no payload shows: a merge, reviews that approve, ask for changes or hold text, and a
    re-run that somebody asked for on each of our own checks."""
    made: list[Told] = []
    for name, body in found:
        if name == "pull_request" and body["action"] == "closed":
            merged = {**body["pull_request"], "merged": True, "merge_commit_sha": "e" * 40}
            made.append((name, {**body, "pull_request": merged}))
        if name == "pull_request_review" and body["action"] == "submitted":
            for state in ("approved", "changes_requested"):
                review = {**body["review"], "state": state, "body": "/agent revise Say why."}
                made.append((name, {**body, "review": review}))
        if name == "check_run" and body["action"] == "completed":
            for external in ("approval:run1", "gate:run1", "run1", "nobody"):
                run = {**body["check_run"], "external_id": external}
                made.append((name, {**body, "action": "rerequested", "check_run": run}))
    return made
