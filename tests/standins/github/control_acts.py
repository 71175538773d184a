"""Control acts that people do: issues, labels, comments, pushes, reviews, merges, statuses."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pygit2

from tests.standins.github import acts, check_acts, pull_acts
from tests.standins.github.refusals import Refusal
from tests.standins.github.shapes import checks, commits, issues, pulls
from tests.standins.github.state import PullAct, Repo
from tests.standins.github.world import World

Json = dict[str, Any]


def open_issue(
    world: World,
    *,
    repo: str,
    user: str,
    title: str,
    body: str | None = None,
    labels: list[str] | None = None,
) -> int:
    found, actor = world.named(repo), world.person(user)
    return acts.open_issue(world, found, actor, title, body, labels or []).number


def edit_issue(
    world: World,
    *,
    repo: str,
    number: int,
    user: str,
    title: str | None = None,
    body: str | None = None,
) -> None:
    issue = world.issue(repo, number)
    acts.edit(world, world.named(repo), issue, world.person(user), title, body)


def close_issue(
    world: World, *, repo: str, number: int, user: str, reason: str = "completed"
) -> None:
    issue = world.issue(repo, number)
    acts.close(world, world.named(repo), issue, world.person(user), reason)


def reopen_issue(world: World, *, repo: str, number: int, user: str) -> None:
    acts.reopen(world, world.named(repo), world.issue(repo, number), world.person(user))


def lock_issue(world: World, *, repo: str, number: int, user: str, locked: bool = True) -> None:
    issue = world.issue(repo, number)
    acts.lock(world, world.named(repo), issue, world.person(user), locked)


def take_away(world: World, *, repo: str, number: int, user: str, action: str = "deleted") -> None:
    """`action`: deleted or transferred."""
    issue = world.issue(repo, number)
    acts.take_away(world, world.named(repo), issue, world.person(user), action)


def add_label(world: World, *, repo: str, number: int, user: str, name: str) -> None:
    issue = world.issue(repo, number)
    acts.add_labels(world, world.named(repo), issue, world.person(user), [name])


def remove_label(world: World, *, repo: str, number: int, user: str, name: str) -> None:
    issue = world.issue(repo, number)
    acts.remove_label(world, world.named(repo), issue, world.person(user), name)


def comment(world: World, *, repo: str, number: int, user: str, body: str) -> int:
    issue = world.issue(repo, number)
    return acts.comment(world, world.named(repo), issue, world.person(user), body).id


def edit_comment(world: World, *, repo: str, comment_id: int, user: str, body: str) -> None:
    found = world.named(repo)
    issue, one = acts.find_comment(found, comment_id)
    acts.edit_comment(world, found, issue, one, world.person(user), body)


def delete_comment(world: World, *, repo: str, comment_id: int, user: str) -> None:
    found = world.named(repo)
    issue, one = acts.find_comment(found, comment_id)
    acts.delete_comment(world, found, issue, one, world.person(user))


def push(
    world: World,
    *,
    repo: str,
    user: str,
    branch: str,
    files: dict[str, Any],
    message: str = "A change",
    start: str | None = None,
) -> str:
    """One commit on a branch; a new branch starts at `start` or the default branch.

    `files`: path → text, {"base64": …, "mode": …} or None (delete). Answers the commit's id.
    """
    found, actor = world.named(repo), world.person(user)
    store, name = found.store, f"refs/heads/{branch}"
    before = store.refs()
    parent = before.get(name)
    if parent is None and not store.is_empty():
        origin = store.resolve(start or found.default_branch)
        if origin is None:
            raise Refusal(400, f"nothing to start {branch} from: {start or found.default_branch}")
        parent = str(origin.id)
    tree = _edited(found, parent, files)
    who = pull_acts.signature(world, actor)
    sha = store.add_commit(tree, [] if parent is None else [parent], message, who, who)
    store.set_ref(name, sha)
    pull_acts.refs_moved(world, found, before, actor)
    return sha


def _edited(repo: Repo, parent: str | None, files: dict[str, Any]) -> str:
    index = pygit2.Index()
    commit = None if parent is None else repo.store.commit(parent)
    if commit is not None:
        index.read_tree(commit.tree)
    for path, content in files.items():
        mode = 0o100644
        if content is None:
            index.remove(path)
            continue
        if isinstance(content, dict):
            mode = int(str(content.get("mode", "100644")), 8)
            data = base64.b64decode(content["base64"])
        else:
            data = str(content).encode()
            old = index[path].mode if path in index else mode
            mode = int(old)
        blob = pygit2.Oid(hex=repo.store.add_blob(data))
        index.add(pygit2.IndexEntry(path, blob, pygit2.enums.FileMode(mode)))
    return str(index.write_tree(repo.store.git))


def move_branch(world: World, *, repo: str, user: str, branch: str, sha: str | None) -> None:
    """A person moves (even backwards), creates or, with None, deletes a branch."""
    found, name = world.named(repo), f"refs/heads/{branch}"
    before = found.store.refs()
    if sha is None:
        found.store.drop_ref(name)
    else:
        found.store.set_ref(name, sha)
    pull_acts.refs_moved(world, found, before, world.person(user))


def open_pull(
    world: World,
    *,
    repo: str,
    user: str,
    head: str,
    title: str,
    base: str | None = None,
    body: str | None = None,
    draft: bool = False,
    fork: str | None = None,
) -> int:
    """`fork` is the repository that the head branch is in, where it is another one."""
    found = world.named(repo)
    made = pull_acts.open_pull(
        world,
        found,
        world.person(user),
        title=title,
        body=body,
        head=head,
        base=base or found.default_branch,
        draft=draft,
        fork=None if fork is None else world.named(fork),
    )
    return made.number


def set_draft(world: World, *, repo: str, number: int, user: str, draft: bool) -> None:
    issue = world.issue(repo, number)
    pull_acts.set_draft(world, world.named(repo), issue, world.person(user), draft)


def unrequest_review(world: World, *, repo: str, number: int, user: str, login: str) -> None:
    issue = world.issue(repo, number)
    pull_acts.unrequest_review(world, world.named(repo), issue, world.person(user), login)


def review(
    world: World,
    *,
    repo: str,
    number: int,
    user: str,
    event: str,
    body: str = "",
    commit_id: str | None = None,
    comments: list[Json] | None = None,
) -> int:
    """`event`: APPROVE, REQUEST_CHANGES or COMMENT; comments: path, body, line, side."""
    issue = world.issue(repo, number)
    made = pull_acts.review(
        world,
        world.named(repo),
        issue,
        world.person(user),
        event,
        body,
        commit_id,
        comments or [],
    )
    return made.id


def dismiss_review(world: World, *, repo: str, number: int, user: str, review: int) -> None:
    found, issue = world.named(repo), world.issue(repo, number)
    pull_acts.dismiss(world, found, issue, world.person(user), review)


def rebase_pull(world: World, *, repo: str, number: int, user: str, base: str) -> None:
    """Give a pull request another base branch."""
    issue = world.issue(repo, number)
    pull_acts.set_base(world, world.named(repo), issue, world.person(user), base)


def reply(world: World, *, repo: str, number: int, user: str, comment_id: int, body: str) -> int:
    """A person's reply in a review thread: a review of its own with one comment, as GitHub does."""
    found, issue, actor = world.named(repo), world.issue(repo, number), world.person(user)
    root = next((c for c in pulls.pull_of(issue).comments if c.id == comment_id), None)
    if root is None:
        raise Refusal(404, f"no review comment {comment_id}")
    told = {"body": body, "path": root.path, "line": root.line, "side": root.side}
    told["in_reply_to"] = root.in_reply_to or root.id
    made = pull_acts.review(world, found, issue, actor, "COMMENT", "", root.commit_id, [told])
    return next(c.id for c in pulls.pull_of(issue).comments if c.review_id == made.id)


def get_review_comments(world: World, *, repo: str, number: int) -> list[Json]:
    found, issue = world.named(repo), world.issue(repo, number)
    shown = pulls.pull_of(issue).comments
    return [pulls.review_comment(world, found, issue, one) for one in shown]


def merge(world: World, *, repo: str, number: int, user: str, method: str = "merge") -> str:
    issue = world.issue(repo, number)
    return pull_acts.merge(world, world.named(repo), issue, world.person(user), method)


def update_branch(world: World, *, repo: str, number: int, user: str) -> str:
    """A person presses "Update branch": the base is merged in; the commit's id."""
    issue = world.issue(repo, number)
    return pull_acts.update_branch(world, world.named(repo), issue, world.person(user))


def set_status(
    world: World,
    *,
    repo: str,
    user: str,
    sha: str,
    context: str,
    state: str,
    description: str | None = None,
) -> int:
    found, actor = world.named(repo), world.person(user)
    made = check_acts.set_status(world, found, actor, sha, state, context, description, None)
    return made.id


def add_check_run(
    world: World,
    *,
    repo: str,
    app: str,
    sha: str,
    name: str,
    conclusion: str | None = None,
    output: Json | None = None,
) -> int:
    """A check run of some app, another CI say."""
    told = {"name": name, "head_sha": sha, "conclusion": conclusion, "output": output}
    found = world.named(repo)
    made = check_acts.create_run(world, found, world.app(app), check_acts.checked(told))
    return made.id


def press(world: World, *, repo: str, check_run: int, user: str, action: str | None = None) -> None:
    """Re-run, or one of the check run's buttons by its identifier."""
    found = world.named(repo)
    for suite in found.suites:
        for run in suite.runs:
            if run.id == check_run:
                check_acts.ask_again(world, found, run, world.person(user), action)
                return
    raise Refusal(404, f"no check run {check_run}")


def get_issue(world: World, *, repo: str, number: int) -> Json:
    return issues.issue(world, world.named(repo), world.issue(repo, number))


def get_pull(world: World, *, repo: str, number: int) -> Json:
    return pulls.whole(world, world.named(repo), world.issue(repo, number))


def get_comments(world: World, *, repo: str, number: int) -> list[Json]:
    found, issue = world.named(repo), world.issue(repo, number)
    return [issues.comment(world, found, issue, one) for one in issue.comments]


def get_pulls(world: World, *, repo: str) -> list[Json]:
    """All of them, open and closed, oldest first."""
    found = world.named(repo)
    return [pulls.simple(world, found, one) for one in found.pulls()]


def get_refs(world: World, *, repo: str) -> dict[str, str]:
    return world.named(repo).store.refs()


def get_commit(world: World, *, repo: str, sha: str) -> Json:
    found = world.named(repo)
    commit = found.store.commit(sha)
    if commit is None:
        raise Refusal(404, f"no commit {sha}")
    return commits.git_commit(world, found, commit)


def get_check_runs(world: World, *, repo: str, sha: str) -> list[Json]:
    found = world.named(repo)
    runs = [run for suite in found.suites for run in suite.runs if run.head_sha == sha]
    return [checks.check_run(world, found, run) for run in runs]


def pull_history(world: World, *, repo: str, number: int) -> list[Json]:
    """What was done to its draft and whom a review was asked of, oldest first."""
    return [
        {"event": one.event, "by": one.by.account.login, "whom": one.whom and one.whom.login}
        for one in world.issue(repo, number).acts
        if isinstance(one, PullAct)
    ]


ACTS: dict[str, Callable[..., Any]] = {
    act.__name__: act
    for act in (
        add_check_run,
        add_label,
        close_issue,
        comment,
        delete_comment,
        dismiss_review,
        edit_comment,
        edit_issue,
        get_check_runs,
        get_comments,
        get_commit,
        get_issue,
        get_pull,
        get_pulls,
        get_refs,
        get_review_comments,
        lock_issue,
        merge,
        move_branch,
        open_issue,
        open_pull,
        press,
        pull_history,
        push,
        rebase_pull,
        remove_label,
        reopen_issue,
        reply,
        review,
        set_draft,
        set_status,
        take_away,
        unrequest_review,
        update_branch,
    )
}
