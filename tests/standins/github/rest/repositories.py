"""The calls about a repository: itself, files, branches, roles, comparisons, rulesets."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import pygit2

from tests.standins.github import diffs
from tests.standins.github.git_store import Entry
from tests.standins.github.refusals import Refusal, not_found
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.shapes import accounts, commits, repos
from tests.standins.github.state import Repo

Json = dict[str, Any]
LEGACY = {"maintain": "write", "triage": "read"}
CAN = {
    "pull": ("read", "triage", "write", "maintain", "admin"),
    "triage": ("triage", "write", "maintain", "admin"),
    "push": ("write", "maintain", "admin"),
    "maintain": ("maintain", "admin"),
    "admin": ("admin",),
}
MERGE = ("allow_squash", "allow_merge", "allow_rebase", "squash_", "merge_commit_")
RAW = "application/vnd.github.raw"
DIFF = "application/vnd.github.diff"


def get_repo(call: Call) -> Answer:
    """Merge settings are shown to those who may push."""
    told = repos.detailed(call.world, call.repo) | call.repo.merge
    if call.token is not None and call.token.permissions.get("contents") != "write":
        told = {k: v for k, v in told.items() if not k.startswith(MERGE)}
    return Answer(200, told)


def get_contents(call: Call) -> Answer:
    repo = call.repo
    name = call.query.get("ref") or repo.default_branch
    commit = repo.store.resolve(name)
    if commit is None:
        raise Refusal(404, f"No commit found for the ref {name}")
    path = str(call.params.get("path", "")).strip("/")
    found = repo.store.find(commit.tree, path)
    if found is None:
        raise not_found()
    if isinstance(found, pygit2.Tree):
        below = repo.store.entries(found, f"{path}/" if path else "")
        return Answer(200, [_item(call, repo, entry, name) for entry in below])
    mode = f"{int(found.filemode):06o}"
    kind = "commit" if mode == "160000" else "blob"
    item = _item(call, repo, Entry(path, mode, kind, str(found.id)), name)
    if not isinstance(found, pygit2.Blob):
        return Answer(200, item | {"submodule_git_url": None})
    if RAW in call.headers.get("accept", ""):
        text = found.data.decode("latin-1")
        return Answer(200, text, media="application/vnd.github.raw+json; charset=utf-8")
    if item["type"] == "symlink":
        item["target"] = found.data.decode(errors="replace")
    data = found.data if len(found.data) <= 1 << 20 else b""
    encoding = "base64" if data or not found.data else "none"
    return Answer(200, item | {"content": wrapped(data), "encoding": encoding})


def wrapped(data: bytes) -> str:
    """Base64 with a line break every 60 characters, as GitHub sends it."""
    text = base64.b64encode(data).decode()
    return "".join(f"{text[at : at + 60]}\n" for at in range(0, len(text), 60))


def _item(call: Call, repo: Repo, entry: Entry, ref: str) -> Json:
    api, html = repos.api_url(call.world, repo), repos.page_url(call.world, repo)
    path = quote(entry.path)
    kind = {"tree": "dir", "commit": "submodule"}.get(entry.type, "file")
    if entry.mode == "120000":
        kind = "symlink"
    blob = repo.store.object(entry.sha)
    self_url = f"{api}/contents/{path}?ref={quote(ref, safe='')}"
    git_kind = "trees" if kind == "dir" else "blobs"
    git_url = None if kind == "submodule" else f"{api}/git/{git_kind}/{entry.sha}"
    page = f"{html}/{'tree' if kind == 'dir' else 'blob'}/{quote(ref)}/{path}"
    raw = f"{html}/raw/{quote(ref)}/{path}" if isinstance(blob, pygit2.Blob) else None
    return {
        "name": entry.path.rpartition("/")[2],
        "path": entry.path,
        "sha": entry.sha,
        "size": blob.size if isinstance(blob, pygit2.Blob) else 0,
        "url": self_url,
        "html_url": page,
        "git_url": git_url,
        "download_url": raw,
        "type": kind,
        "_links": {"self": self_url, "git": git_url, "html": page},
    }


def get_branch(call: Call) -> Answer:
    repo, name = call.repo, str(call.params["branch"])
    sha = repo.store.ref(f"refs/heads/{name}")
    commit = None if sha is None else repo.store.commit(sha)
    if commit is None:
        raise Refusal(404, "Branch not found")
    api, html = repos.api_url(call.world, repo), repos.page_url(call.world, repo)
    own = f"{api}/branches/{quote(name)}"
    return Answer(
        200,
        {
            "name": name,
            "commit": commits.commit_item(call.world, repo, commit),
            "_links": {"self": own, "html": f"{html}/tree/{quote(name)}"},
            "protected": repo.protection is not None,
            "protection": {
                "enabled": repo.protection is not None,
                "required_status_checks": {
                    "enforcement_level": "off" if repo.protection is None else "everyone",
                    "contexts": (repo.protection or {})
                    .get("required_status_checks", {})
                    .get("contexts", []),
                    "checks": [],
                },
            },
            "protection_url": f"{own}/protection",
        },
    )


def get_permission(call: Call) -> Answer:
    """`permission` is the old four-step scale, `role_name` the real role."""
    repo, login = call.repo, str(call.params["username"])
    account = call.world.accounts.get(login.lower())
    if account is None or account.type == "Organization":
        raise Refusal(404, f"{login} is not a user")
    bot = account.type == "Bot"
    role = repo.roles.get(account.login.lower(), "none") if bot else repo.role_of(account)
    shown = accounts.user(call.world, account)
    shown["role_name"] = role
    shown["permissions"] = {name: role in roles for name, roles in CAN.items()}
    body = {"permission": LEGACY.get(role, role), "role_name": role, "user": shown}
    return Answer(200, body)


def compare(call: Call) -> Answer:
    """`base...head`; a side may be a branch, a tag, an id, or owner:branch."""
    repo = call.repo
    left, dots, right = str(call.params["basehead"]).partition("...")
    base, head = (repo.store.resolve(side.rpartition(":")[2]) for side in (left, right))
    if not dots or base is None or head is None:
        raise not_found()
    fork = repo.store.merge_base(str(base.id), str(head.id))
    if fork is None:
        raise Refusal(404, "No common ancestor between the two commits.")
    if DIFF in call.headers.get("accept", ""):
        text = diffs.text(repo.store, fork, str(head.id))
        return Answer(200, text, media=f"{DIFF}; charset=utf-8")
    ahead = repo.store.history(str(head.id), [str(base.id)])[::-1]
    behind = len(repo.store.history(str(base.id), [str(head.id)]))
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind"
    files = diffs.changes(repo.store, fork, str(head.id))
    page = call.paged(ahead, lambda c: commits.commit_item(call.world, repo, c))
    html = f"{repos.page_url(call.world, repo)}/compare/{quote(left)}...{quote(right)}"
    merge_base = repo.store.git[fork].peel(pygit2.Commit)
    body = {
        "url": f"{repos.api_url(call.world, repo)}/compare/{quote(left)}...{quote(right)}",
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commits.commit_item(call.world, repo, base),
        "merge_base_commit": commits.commit_item(call.world, repo, merge_base),
        "status": "identical" if not ahead and not behind else status,
        "ahead_by": len(ahead),
        "behind_by": behind,
        "total_commits": len(ahead),
        "commits": page.body,
        "files": [commits.change(call.world, repo, str(head.id), f) for f in files[:300]],
    }
    return Answer(200, body, page.headers)


OPERATIONS = (
    Operation("GET", "/repos/{owner}/{repo}", get_repo, ("metadata:read",)),
    Operation("GET", "/repos/{owner}/{repo}/contents/", get_contents, ("contents:read",)),
    Operation(
        "GET",
        "/repos/{owner}/{repo}/contents/{path}",
        get_contents,
        ("contents:read",),
        deep=("path",),
    ),
    Operation(
        "GET",
        "/repos/{owner}/{repo}/branches/{branch}",
        get_branch,
        ("contents:read",),
        deep=("branch",),
    ),
    Operation(
        "GET",
        "/repos/{owner}/{repo}/collaborators/{username}/permission",
        get_permission,
        ("metadata:read",),
    ),
    Operation(
        "GET",
        "/repos/{owner}/{repo}/compare/{basehead}",
        compare,
        ("contents:read",),
        deep=("basehead",),
    ),
)
