"""The ref calls: where GitHub really refuses (exists, not fast-forward, workflows)."""

from __future__ import annotations

from urllib.parse import quote

import pygit2

from tests.standins.github.auth import allows
from tests.standins.github.pull_acts import refs_moved
from tests.standins.github.refusals import Refusal, invalid, not_found
from tests.standins.github.rest.call import Answer, Call, Operation, unless_empty
from tests.standins.github.shapes import commits, repos
from tests.standins.github.state import Repo


def get_ref(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    name = f"refs/{call.params['ref']}"
    sha = repo.store.refs().get(name)
    if sha is None:
        raise not_found()
    return Answer(200, commits.ref(call.world, repo, name, sha))


def matching_refs(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    prefix = f"refs/{call.params['ref']}"
    found = [(n, s) for n, s in repo.store.refs().items() if n.startswith(prefix)]
    return call.paged(found, lambda pair: commits.ref(call.world, repo, *pair))


def create_ref(call: Call) -> Answer:
    repo = call.repo
    unless_empty(repo)
    name, sha = call.text("ref"), call.text("sha")
    if not name.startswith("refs/") or name.count("/") < 2:
        raise invalid("Reference name must start with 'refs/' and have at least two slashes.")
    if not pygit2.reference_is_valid_name(name):
        raise invalid(f"{name} is not a valid ref name.")
    _target(repo, name, sha)
    before = repo.store.refs()
    if name in before:
        raise invalid("Reference already exists")
    if any(n.startswith(f"{name}/") or name.startswith(f"{n}/") for n in before):
        raise invalid("Reference update failed")
    _refuse_workflows(call, repo, sha)
    repo.store.set_ref(name, sha)
    refs_moved(call.world, repo, before, call.actor)
    url = f"{repos.api_url(call.world, repo)}/git/{quote(name)}"
    return Answer(201, commits.ref(call.world, repo, name, sha), {"Location": url})


def update_ref(call: Call) -> Answer:
    repo, name = call.repo, f"refs/{call.params['ref']}"
    unless_empty(repo)
    sha, force = call.text("sha"), call.flag("force")
    before = repo.store.refs()
    if name not in before:
        raise invalid("Reference does not exist")
    _target(repo, name, sha)
    branches = all(repo.store.commit(one) is not None for one in (sha, before[name]))
    if not force and not (branches and repo.store.descends(sha, before[name])):
        raise invalid("Update is not a fast forward")
    _refuse_workflows(call, repo, sha, before[name])
    repo.store.set_ref(name, sha)
    refs_moved(call.world, repo, before, call.actor)
    return Answer(200, commits.ref(call.world, repo, name, sha))


def delete_ref(call: Call) -> Answer:
    repo, name = call.repo, f"refs/{call.params['ref']}"
    unless_empty(repo)
    before = repo.store.refs()
    if name not in before:
        raise invalid("Reference does not exist")
    if name == f"refs/heads/{repo.default_branch}":
        raise invalid("Cannot delete the default branch")
    repo.store.drop_ref(name)
    refs_moved(call.world, repo, before, call.actor)
    return Answer(204)


def _target(repo: Repo, name: str, sha: str) -> None:
    found = repo.store.object(sha)
    if found is None:
        raise invalid("Object does not exist")
    if name.startswith("refs/heads/") and not isinstance(found, pygit2.Commit):
        raise invalid("Reference target must be a commit")


def _refuse_workflows(call: Call, repo: Repo, sha: str, old: str = "") -> None:
    """A ref that moves may also not carry other workflow files than it had, even where another
    branch has them already: so it is with a base that is merged in."""
    if allows(call.caller, ("workflows:write",)) or repo.store.commit(sha) is None:
        return
    path = repo.store.new_workflow(sha) or repo.store.other_workflow(sha, old)
    if path is not None:
        raise Refusal(
            403,
            f"refusing to allow a GitHub App to create or update workflow `{path}` without "
            "`workflows` permission",
        )


GIT = "/repos/{owner}/{repo}/git"
REF = ("ref",)
OPERATIONS = (
    Operation("GET", f"{GIT}/ref/{{ref}}", get_ref, ("contents:read",), deep=REF),
    Operation("GET", f"{GIT}/matching-refs/{{ref}}", matching_refs, ("contents:read",), deep=REF),
    Operation("POST", f"{GIT}/refs", create_ref, ("contents:write",)),
    Operation("PATCH", f"{GIT}/refs/{{ref}}", update_ref, ("contents:write",), deep=REF),
    Operation("DELETE", f"{GIT}/refs/{{ref}}", delete_ref, ("contents:write",), deep=REF),
)
