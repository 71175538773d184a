"""Commits, trees, refs and changed files as GitHub shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pygit2

from tests.standins.github.diffs import FileChange
from tests.standins.github.shapes.accounts import user
from tests.standins.github.shapes.repos import api_url, page_url
from tests.standins.github.state import Account, Repo
from tests.standins.github.world import World, stamp

Json = dict[str, Any]


def message(commit: pygit2.Commit) -> str:
    return commit.raw_message.decode(errors="replace")


def moment(signature: pygit2.Signature) -> str | None:
    return stamp(datetime.fromtimestamp(signature.time, UTC))


def person(signature: pygit2.Signature) -> Json:
    return {"name": signature.name, "email": signature.email, "date": moment(signature)}


def who(world: World, signature: pygit2.Signature) -> Account | None:
    """The account behind a noreply address, as GitHub links commits to people."""
    local, _, host = signature.email.partition("@")
    if host != "users.noreply.github.com":
        return None
    return world.accounts.get(local.rpartition("+")[2].lower())


def verification(world: World, repo: Repo, commit: pygit2.Commit) -> Json:
    seal = repo.store.signed(commit, world.signing)
    if seal is None:
        return {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        }
    return {
        "verified": True,
        "reason": "valid",
        "signature": seal[0],
        "payload": seal[1],
        "verified_at": moment(commit.committer),
    }


def git_commit(world: World, repo: Repo, commit: pygit2.Commit) -> Json:
    """The answer of the git data calls."""
    api, html = api_url(world, repo), page_url(world, repo)
    return {
        "sha": str(commit.id),
        "node_id": f"C_{str(commit.id)[:20]}",
        "url": f"{api}/git/commits/{commit.id}",
        "html_url": f"{html}/commit/{commit.id}",
        "author": person(commit.author),
        "committer": person(commit.committer),
        "tree": {"sha": str(commit.tree_id), "url": f"{api}/git/trees/{commit.tree_id}"},
        "message": message(commit),
        "parents": [
            {
                "sha": str(parent),
                "url": f"{api}/git/commits/{parent}",
                "html_url": f"{html}/commit/{parent}",
            }
            for parent in commit.parent_ids
        ],
        "verification": verification(world, repo, commit),
    }


def commit_item(world: World, repo: Repo, commit: pygit2.Commit) -> Json:
    """A commit as in lists, branches and comparisons."""
    api, html = api_url(world, repo), page_url(world, repo)
    author, committer = who(world, commit.author), who(world, commit.committer)
    whole = git_commit(world, repo, commit)
    inner = {key: whole[key] for key in ("author", "committer", "message", "tree", "verification")}
    return {
        "sha": str(commit.id),
        "node_id": f"C_{str(commit.id)[:20]}",
        "commit": inner | {"url": whole["url"], "comment_count": 0},
        "url": f"{api}/commits/{commit.id}",
        "html_url": f"{html}/commit/{commit.id}",
        "comments_url": f"{api}/commits/{commit.id}/comments",
        "author": None if author is None else user(world, author),
        "committer": None if committer is None else user(world, committer),
        "parents": [
            {
                "sha": str(parent),
                "url": f"{api}/commits/{parent}",
                "html_url": f"{html}/commit/{parent}",
            }
            for parent in commit.parent_ids
        ],
    }


def push_commit(world: World, repo: Repo, commit: pygit2.Commit) -> Json:
    """A commit as in push events and check suites."""
    people = {}
    for role, signature in (("author", commit.author), ("committer", commit.committer)):
        account = who(world, signature)
        people[role] = {"name": signature.name, "email": signature.email} | (
            {} if account is None else {"username": account.login}
        )
    return {
        "id": str(commit.id),
        "tree_id": str(commit.tree_id),
        "distinct": True,
        "message": message(commit),
        "timestamp": moment(commit.committer),
        "url": f"{page_url(world, repo)}/commit/{commit.id}",
        "added": [],
        "removed": [],
        "modified": [],
    } | people


def simple_commit(world: World, repo: Repo, commit: pygit2.Commit) -> Json:
    whole = push_commit(world, repo, commit)
    kept = ("id", "tree_id", "message", "timestamp", "author", "committer")
    return {key: whole[key] for key in kept}


def ref(world: World, repo: Repo, name: str, sha: str) -> Json:
    target = repo.store.git[sha]
    kind = {pygit2.Commit: "commit", pygit2.Tag: "tag", pygit2.Tree: "tree"}.get(
        type(target), "blob"
    )
    api = api_url(world, repo)
    return {
        "ref": name,
        "node_id": f"REF_{sha[:20]}",
        "url": f"{api}/git/{quote(name)}",
        "object": {"type": kind, "sha": sha, "url": f"{api}/git/{kind}s/{sha}"},
    }


def change(world: World, repo: Repo, sha: str, file: FileChange) -> Json:
    """One changed file of a pull request or a comparison."""
    path = quote(file.path)
    entry: Json = {
        "sha": file.sha,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{page_url(world, repo)}/blob/{sha}/{path}",
        "raw_url": f"{page_url(world, repo)}/raw/{sha}/{path}",
        "contents_url": f"{api_url(world, repo)}/contents/{path}?ref={sha}",
    }
    if file.patch is not None:
        entry["patch"] = file.patch
    if file.before is not None:
        entry["previous_filename"] = file.before
    return entry
