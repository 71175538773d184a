"""POST /graphql: the two mutations that REST cannot do, with GitHub's way to say errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tests.standins.github import pull_acts
from tests.standins.github.auth import allows, reaches
from tests.standins.github.refusals import Refusal
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.rest.endpoint import Endpoint, identify, note, packed, parsed
from tests.standins.github.shapes.accounts import node
from tests.standins.github.shapes.issues import issue_page
from tests.standins.github.state import Issue, Repo
from tests.standins.github.world import World

Json = dict[str, Any]
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\$?\w+|[{}()\[\]:!,.@=]|\.\.\.')
MUTATIONS = {"markPullRequestReadyForReview": False, "convertPullRequestToDraft": True}


class Unclear(Exception):
    """A query that this small parser does not understand."""


def selection(tokens: Iterator[str]) -> Json:
    """A selection set as {alias: {"name", "args", "fields"}}; the opening brace is consumed."""
    fields: Json = {}
    token = next(tokens, "}")
    while token != "}":
        if token == ",":
            token = next(tokens, "}")
            continue
        name = alias = token
        token = next(tokens, "}")
        if token == ":":
            name = next(tokens, "")
            token = next(tokens, "}")
        args: list[str] = []
        if token == "(":
            args = _arguments(tokens)
            token = next(tokens, "}")
        inner: Json = {}
        if token == "{":
            inner = selection(tokens)
            token = next(tokens, "}")
        fields[alias] = {"name": name, "args": args, "fields": inner}
    return fields


def _arguments(tokens: Iterator[str]) -> list[str]:
    depth = 1
    found: list[str] = []
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return found
        found.append(token)
    raise Unclear("unclosed argument list")


def field_id(args: list[str], variables: Json) -> str | None:
    """The value of pullRequestId, written out or through variables."""
    if "pullRequestId" in args:
        value = args[args.index("pullRequestId") + 2]
        if value.startswith("$"):
            found = variables.get(value[1:])
            return found if isinstance(found, str) else None
        return str(json.loads(value)) if value.startswith('"') else None
    whole = variables.get(args[2][1:]) if len(args) > 2 and args[2].startswith("$") else None
    found = whole.get("pullRequestId") if isinstance(whole, dict) else None
    return found if isinstance(found, str) else None


def find_pull(call: Call, node_id: str | None) -> tuple[Repo, Issue] | None:
    for number in call.caller.repositories:
        repo = call.world.repos.get(number)
        for issue in [] if repo is None else repo.pulls():
            if issue.pull is not None and node("PR", issue.pull.id) == node_id:
                return (repo, issue) if repo and reaches(call.caller, repo.id) else None
    return None


def pick(whole: Json, fields: Json) -> Json:
    """Only what was selected."""
    shown: Json = {}
    for alias, field in fields.items():
        value = whole.get(field["name"])
        shown[alias] = pick(value, field["fields"]) if isinstance(value, dict) else value
    return shown


def run(call: Call) -> Answer:
    query, variables = call.text("query"), call.record("variables") or {}
    tokens = iter(TOKEN.findall(query))
    try:
        for token in tokens:
            if token == "(":
                _arguments(tokens)
            elif token == "{":
                return _mutate(call, selection(tokens), variables)
    except (Unclear, IndexError, ValueError) as error:
        return _failed("PARSE_ERROR", [], f"cannot read the query: {error}", None)
    return _failed("PARSE_ERROR", [], "A query attribute must be specified", None)


def _mutate(call: Call, fields: Json, variables: Json) -> Answer:
    data: Json = {}
    if not fields:
        return _failed("PARSE_ERROR", [], "Expected a selection", None)
    for alias, field in fields.items():
        if field["name"] not in MUTATIONS:
            said = f"Field '{field['name']}' doesn't exist on type 'Mutation'"
            return _failed("undefinedField", [alias], said, None)
        wanted = field_id(field["args"], variables)
        found = find_pull(call, wanted)
        if found is None:
            said = f"Could not resolve to a node with the global id of '{wanted}'."
            return _failed("NOT_FOUND", [alias], said, {alias: None})
        both = ("contents:write",), ("pull_requests:write",)
        if not all(allows(call.caller, needs) for needs in both):
            said = "Resource not accessible by integration"
            return _failed("FORBIDDEN", [alias], said, {alias: None})
        repo, issue = found
        if issue.state != "open":
            return _failed("UNPROCESSABLE", [alias], "Pull request is closed.", {alias: None})
        try:
            pull_acts.set_draft(call.world, repo, issue, call.actor, MUTATIONS[field["name"]])
        except Refusal as refusal:
            return _failed("UNPROCESSABLE", [alias], refusal.message, {alias: None})
        whole = {"pullRequest": _shown(call.world, repo, issue), "clientMutationId": None}
        data[alias] = pick(whole, field["fields"])
    return Answer(200, {"data": data})


def _shown(world: World, repo: Repo, issue: Issue) -> Json:
    pull = issue.pull
    assert pull is not None
    return {
        "id": node("PR", pull.id),
        "number": issue.number,
        "isDraft": pull.draft,
        "state": "MERGED" if pull.merged_at else issue.state.upper(),
        "url": issue_page(world, repo, issue),
        "title": issue.title,
        "headRefOid": pull.head_sha,
        "headRefName": pull.head_ref,
        "baseRefName": pull.base_ref,
        "__typename": "PullRequest",
    }


def _failed(kind: str, path: list[str], message: str, data: Json | None) -> Answer:
    error = {
        "type": kind,
        "path": path,
        "locations": [{"line": 1, "column": 1}],
        "message": message,
    }
    return Answer(200, {"data": data, "errors": [error]})


OPERATION = Operation("POST", "/graphql", run)


def endpoint(world: World) -> Endpoint:
    async def handle(request: Request) -> Response:
        raw = await request.body()
        call = Call(world, OPERATION, "/graphql", {}, request.query_params, request.headers, {})
        try:
            identify(call)
            call.body = parsed(raw)
            answer = run(call)
        except Refusal as refusal:
            answer = Answer(refusal.status, refusal.body(), refusal.headers)
        note(call, request, answer)
        return packed(call, answer)

    return handle
