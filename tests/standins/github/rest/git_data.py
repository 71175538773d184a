"""The git data calls: blobs, trees, commits. Each makes a real object in the bare repository."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

import pygit2

from tests.standins.github import trees
from tests.standins.github.pull_acts import signature
from tests.standins.github.refusals import Refusal, invalid, not_found
from tests.standins.github.rest.call import Answer, Call, Operation, unless_empty
from tests.standins.github.rest.repositories import wrapped
from tests.standins.github.shapes import commits, repos
from tests.standins.github.state import Repo

Json = dict[str, Any]


def create_blob(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    content, encoding = call.text("content"), call.text("encoding", "utf-8")
    if encoding.lower() == "base64":
        try:
            data = base64.b64decode("".join(content.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise invalid("content is not valid Base64") from error
    elif encoding.lower() == "utf-8":
        data = content.encode()
    else:
        raise invalid("encoding must be utf-8 or base64")
    sha = repo.store.add_blob(data)
    url = f"{repos.api_url(call.world, repo)}/git/blobs/{sha}"
    return Answer(201, {"sha": sha, "url": url}, {"Location": url})


def get_blob(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    blob = repo.store.object(str(call.params["file_sha"]))
    if not isinstance(blob, pygit2.Blob):
        raise not_found()
    return Answer(
        200,
        {
            "sha": str(blob.id),
            "node_id": f"B_{str(blob.id)[:20]}",
            "size": blob.size,
            "url": f"{repos.api_url(call.world, repo)}/git/blobs/{blob.id}",
            "content": wrapped(blob.data),
            "encoding": "base64",
        },
    )


def create_tree(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    sha = trees.build(repo.store, call.maybe_text("base_tree"), call.body.get("tree"))
    shown = _tree(call, repo, repo.store.git[sha].peel(pygit2.Tree), deep=False)
    return Answer(201, shown, {"Location": shown["url"]})


def get_tree(call: Call) -> Answer:
    """A tree by its id, a commit's id, or a branch; `recursive` lists what is below too."""
    repo, name = call.repo, str(call.params["tree_sha"])
    unless_empty(repo)
    found = repo.store.object(name)
    if found is None:
        found = repo.store.resolve(name)
    try:
        tree = None if found is None else found.peel(pygit2.Tree)
    except (pygit2.GitError, ValueError):
        tree = None
    if tree is None:
        raise not_found()
    return Answer(200, _tree(call, repo, tree, deep="recursive" in call.query))


def _tree(call: Call, repo: Repo, tree: pygit2.Tree, deep: bool) -> Json:
    api = repos.api_url(call.world, repo)
    listed = []
    for entry in repo.store.entries(tree, deep=deep):
        item: Json = {
            "path": entry.path,
            "mode": entry.mode,
            "type": entry.type,
            "sha": entry.sha,
        }
        if entry.type == "blob":
            item["size"] = repo.store.git[entry.sha].peel(pygit2.Blob).size
        if entry.type != "commit":
            item["url"] = f"{api}/git/{entry.type}s/{entry.sha}"
        listed.append(item)
    url = f"{api}/git/trees/{tree.id}"
    return {"sha": str(tree.id), "url": url, "tree": listed, "truncated": False}


def create_commit(call: Call) -> Answer:
    """Without an author the app's bot is both and GitHub signs; with one nobody signs."""
    repo = call.repo
    unless_empty(repo)
    message, tree = call.text("message"), call.text("tree")
    if not isinstance(repo.store.object(tree), pygit2.Tree):
        raise invalid("Tree SHA does not exist")
    parents = call.texts("parents")
    if any(repo.store.commit(parent) is None for parent in parents):
        raise invalid("Parent SHA does not exist or is not a commit object")
    bot = signature(call.world, call.actor)
    author, committer = call.record("author"), call.record("committer")
    by = bot if author is None else _person(author, bot)
    through = by if committer is None else _person(committer, bot)
    own = author is None and committer is None and call.body.get("signature") is None
    sha = repo.store.add_commit(
        tree, parents, message, by, through, call.world.signing if own else None
    )
    shown = commits.git_commit(call.world, repo, repo.store.git[sha].peel(pygit2.Commit))
    return Answer(201, shown, {"Location": shown["url"]})


def _person(told: Json, bot: pygit2.Signature) -> pygit2.Signature:
    name, email, date = told.get("name"), told.get("email"), told.get("date")
    if not isinstance(name, str) or not isinstance(email, str):
        raise invalid('Invalid request.\n\n"name", "email" weren\'t supplied.')
    at, offset = bot.time, 0
    if date is not None:
        try:
            moment = datetime.fromisoformat(str(date))
            at = int(moment.timestamp())
            offset = int((moment.utcoffset() or moment - moment).total_seconds() // 60)
        except (ValueError, OverflowError) as error:
            raise invalid("Invalid request.\n\nFor 'date', not a date-time.") from error
    try:
        return pygit2.Signature(name, email, at, offset)
    except (ValueError, pygit2.GitError) as error:
        raise invalid("Invalid request.\n\nInvalid name or email.") from error


def get_commit(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    commit = repo.store.commit(str(call.params["commit_sha"]))
    if commit is None:
        raise not_found()
    return Answer(200, commits.git_commit(call.world, repo, commit))


def get_repo_commit(call: Call) -> Answer:
    """GET commits/{ref}: a commit by branch, tag or id."""
    repo, name = call.repo, str(call.params["ref"])
    unless_empty(repo)
    commit = repo.store.resolve(name)
    if commit is None:
        raise Refusal(422, f"No commit found for SHA: {name}")
    return Answer(200, commits.commit_item(call.world, repo, commit))


GIT = "/repos/{owner}/{repo}/git"
OPERATIONS = (
    Operation("POST", f"{GIT}/blobs", create_blob, ("contents:write",)),
    Operation("GET", f"{GIT}/blobs/{{file_sha}}", get_blob, ("contents:read",)),
    Operation("POST", f"{GIT}/trees", create_tree, ("contents:write",)),
    Operation("GET", f"{GIT}/trees/{{tree_sha}}", get_tree, ("contents:read",), deep=("tree_sha",)),
    Operation("POST", f"{GIT}/commits", create_commit, ("contents:write",)),
    Operation("GET", f"{GIT}/commits/{{commit_sha}}", get_commit, ("contents:read",)),
)
LATER = (
    Operation(
        "GET",
        "/repos/{owner}/{repo}/commits/{ref}",
        get_repo_commit,
        ("contents:read",),
        deep=("ref",),
    ),
)
"""Behind the check and status calls, whose paths it would swallow."""
