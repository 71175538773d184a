"""Acts on pull requests and branches: open, draft, review, merge, and what a moved ref causes."""

from __future__ import annotations

from typing import Any

import pygit2

from tests.standins.github import rules
from tests.standins.github.acts import announce, check_text, close, next_number
from tests.standins.github.git_store import GitStore
from tests.standins.github.refusals import Refusal, failed, not_found
from tests.standins.github.shapes import pulls as pull_shapes
from tests.standins.github.shapes.accounts import user
from tests.standins.github.shapes.commits import push_commit
from tests.standins.github.shapes.repos import page_url
from tests.standins.github.state import (
    Account,
    Actor,
    Issue,
    Pull,
    PullAct,
    Repo,
    Review,
    ReviewComment,
)
from tests.standins.github.webhooks import emit
from tests.standins.github.world import World

Json = dict[str, Any]
ZERO = "0" * 40
STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def open_pull(
    world: World,
    repo: Repo,
    actor: Actor,
    *,
    title: str,
    body: str | None,
    head: str,
    base: str,
    draft: bool,
    fork: Repo | None = None,
) -> Issue:
    """A pull request between two branches, with GitHub's refusals; the head may be a fork's."""
    if not title.strip():
        raise failed("PullRequest", field="title", code="missing_field")
    check_text("PullRequest", "title", title, 256)
    check_text("PullRequest", "body", body)
    owner, _, branch = head.rpartition(":")
    home = fork or repo
    head_sha = home.store.ref(f"refs/heads/{branch}")
    base_sha = repo.store.ref(f"refs/heads/{base}")
    if head_sha is None or owner.lower() not in ("", home.owner.login.lower()):
        raise failed("PullRequest", field="head", code="invalid")
    if base_sha is None:
        raise failed("PullRequest", field="base", code="invalid")
    if fork is not None:
        repo.store.take(fork.store, head_sha)
    _refuse_twin(repo, branch, base, fork)
    if repo.store.merge_base(base_sha, head_sha) is None:
        message = f"The {branch} branch has no history in common with {base}"
        raise failed("PullRequest", message=message)
    if not repo.store.history(head_sha, [base_sha], limit=1):
        raise failed("PullRequest", message=f"No commits between {base} and {branch}")
    if draft and not repo.drafts:
        raise Refusal(422, "Draft pull requests are not supported in this repository.")
    now = world.now()
    pull = Pull(world.next_id(), branch, base, head_sha, base_sha, draft, fork=fork)
    issue = Issue(world.next_id(), next_number(repo), title, body, actor, now, now, pull=pull)
    repo.issues[issue.number] = issue
    announce(world, repo, issue, "opened", actor)
    return issue


def _refuse_twin(repo: Repo, branch: str, base: str, fork: Repo | None) -> None:
    for issue in repo.pulls():
        pull = pull_shapes.pull_of(issue)
        same = pull.fork is fork and (pull.head_ref, pull.base_ref) == (branch, base)
        if issue.state == "open" and same:
            name = f"{(fork or repo).owner.login}:{branch}"
            raise failed("PullRequest", message=f"A pull request already exists for {name}.")


def set_draft(world: World, repo: Repo, issue: Issue, actor: Actor, draft: bool) -> None:
    pull = pull_shapes.pull_of(issue)
    if draft and not repo.drafts:
        raise Refusal(422, "Draft pull requests are not supported in this repository.")
    if pull.draft != draft:
        pull.draft = draft
        world.touch(issue)
        event = "convert_to_draft" if draft else "ready_for_review"
        issue.acts.append(PullAct(world.next_id(), event, actor, None, issue.updated_at))
        action = "converted_to_draft" if draft else "ready_for_review"
        announce(world, repo, issue, action, actor)


def set_base(world: World, repo: Repo, issue: Issue, actor: Actor, base: str) -> None:
    pull = pull_shapes.pull_of(issue)
    sha = repo.store.ref(f"refs/heads/{base}")
    if sha is None:
        raise failed("PullRequest", field="base", code="invalid")
    was = {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}
    pull.base_ref, pull.base_sha = base, sha
    world.touch(issue)
    announce(world, repo, issue, "edited", actor, {"changes": {"base": was}})


def request_review(world: World, repo: Repo, issue: Issue, actor: Actor, login: str) -> None:
    pull = pull_shapes.pull_of(issue)
    account = world.accounts.get(login.lower())
    if account is not None and account is issue.by.account:
        raise Refusal(422, "Review cannot be requested from pull request author.")
    if account is None or repo.role_of(account) == "none":
        raise Refusal(
            422,
            "Reviews may only be requested from collaborators. One or more of the users or "
            f"teams you specified is not a collaborator of the {repo.full_name} repository.",
        )
    if account not in pull.reviewers:
        pull.reviewers.append(account)
        world.touch(issue)
        _asked(world, repo, issue, actor, account, "review_requested")


def unrequest_review(world: World, repo: Repo, issue: Issue, actor: Actor, login: str) -> None:
    """A person takes a request for a review back; nothing where nobody was asked."""
    pull = pull_shapes.pull_of(issue)
    account = world.accounts.get(login.lower())
    if account is not None and account in pull.reviewers:
        pull.reviewers.remove(account)
        world.touch(issue)
        _asked(world, repo, issue, actor, account, "review_request_removed")


def _asked(
    world: World, repo: Repo, issue: Issue, actor: Actor, account: Account, event: str
) -> None:
    issue.acts.append(PullAct(world.next_id(), event, actor, account, issue.updated_at))
    announce(world, repo, issue, event, actor, {"requested_reviewer": user(world, account)})


def review(
    world: World,
    repo: Repo,
    issue: Issue,
    actor: Actor,
    event: str,
    body: str,
    commit_id: str | None,
    comments: list[Json],
) -> Review:
    """A submitted review with its line comments; first the review's event, then theirs."""
    pull = pull_shapes.pull_of(issue)
    if event not in STATES:
        raise failed("PullRequestReview", field="event", code="invalid")
    if actor.app is None and repo.role_of(actor.account) == "none":
        raise not_found()  # who cannot see a repository cannot review in it
    if issue.by.account is actor.account and event != "COMMENT":
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise Refusal(422, f"Can not {verb} your own pull request")
    if event != "APPROVE" and not body and not comments:
        raise failed("PullRequestReview", field="body", code="missing_field")
    check_text("PullRequestReview", "body", body)
    at = commit_id or pull.head_sha
    if repo.store.commit(at) is None:
        raise failed("PullRequestReview", field="commit_id", code="invalid")
    world.touch(issue)
    made = Review(world.next_id(), actor.account, body, STATES[event], at, issue.updated_at)
    pull.reviews.append(made)
    if actor.account in pull.reviewers:
        pull.reviewers.remove(actor.account)
    announce_review(world, repo, issue, made, "submitted", actor)
    for comment in comments:
        add_review_comment(world, repo, issue, actor, made.id, at, comment)
    return made


def dismiss(world: World, repo: Repo, issue: Issue, actor: Actor, review_id: int) -> Review:
    """Take a review back; only who can write may, and only where it said yes or no."""
    pull = pull_shapes.pull_of(issue)
    found = next((one for one in pull.reviews if one.id == review_id), None)
    if found is None:
        raise not_found()
    if actor.app is None and repo.role_of(actor.account) not in ("write", "maintain", "admin"):
        raise Refusal(403, "Must have write access to dismiss a review")
    if found.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise failed("PullRequestReview", message="Can not dismiss this review")
    found.state = "DISMISSED"
    announce_review(world, repo, issue, found, "dismissed", actor)
    return found


def announce_review(
    world: World, repo: Repo, issue: Issue, made: Review, action: str, actor: Actor
) -> None:
    shown = pull_shapes.review(world, repo, issue, made)
    shown["state"] = shown["state"].lower()
    fields = {"review": shown, "pull_request": pull_shapes.simple(world, repo, issue)}
    emit(world, repo, "pull_request_review", action, actor, fields)


def add_review_comment(
    world: World,
    repo: Repo,
    issue: Issue,
    actor: Actor,
    review_id: int,
    commit_id: str,
    told: Json,
) -> ReviewComment:
    """`told`: body, path, line (or None for the file), side, in_reply_to."""
    pull = pull_shapes.pull_of(issue)
    path = str(told.get("path", ""))
    patches = {f.path: f.patch or "" for f in pull_shapes.pull_changes(repo, pull)}
    if path not in patches and told.get("in_reply_to") is None:
        raise failed("PullRequestReviewComment", field="path", code="invalid")
    check_text("PullRequestReviewComment", "body", str(told["body"]))
    made = ReviewComment(
        id=world.next_id(),
        review_id=review_id,
        by=actor,
        body=str(told["body"]),
        path=path,
        line=told.get("line"),
        side=str(told.get("side", "RIGHT")),
        commit_id=commit_id,
        hunk=patches.get(path, "")[:2000],
        created_at=world.now(),
        in_reply_to=told.get("in_reply_to"),
        start_line=told.get("start_line"),
    )
    pull.comments.append(made)
    fields = {
        "comment": pull_shapes.review_comment(world, repo, issue, made),
        "pull_request": pull_shapes.simple(world, repo, issue),
    }
    emit(world, repo, "pull_request_review_comment", "created", actor, fields)
    return made


def merge(world: World, repo: Repo, issue: Issue, actor: Actor, method: str) -> str:
    """Merge as a person does it; the new commit's id. 405 when it cannot be merged."""
    pull = pull_shapes.pull_of(issue)
    if issue.state != "open" or pull.draft or not pull_shapes.mergeable(repo, pull):
        raise Refusal(405, "Pull Request is not mergeable")
    rules.require_checks(repo, pull.base_ref, pull.head_sha)
    sha = _merge_commit(world, repo.store, issue, pull, actor, method)
    before = repo.store.refs()
    repo.store.set_ref(f"refs/heads/{pull.base_ref}", sha)
    pull.merged_at, pull.merged_by, pull.merge_sha = world.now(), actor.account, sha
    close(world, repo, issue, actor)
    refs_moved(world, repo, before, actor)
    return sha


def _merge_commit(
    world: World, store: GitStore, issue: Issue, pull: Pull, actor: Actor, method: str
) -> str:
    base, head = pygit2.Oid(hex=pull.base_sha), pygit2.Oid(hex=pull.head_sha)
    tree = str(store.git.merge_commits(base, head).write_tree(store.git))
    who = signature(world, actor)
    if method == "squash":
        parents, message = [pull.base_sha], f"{issue.title} (#{issue.number})"
    else:
        parents = [pull.base_sha, pull.head_sha]
        message = f"Merge pull request #{issue.number} from {pull.head_ref}\n\n{issue.title}"
    return store.add_commit(tree, parents, message, who, who, world.signing)


def update_branch(world: World, repo: Repo, issue: Issue, actor: Actor) -> str:
    """The base merged into the head's branch as a person's commit with two parents; its id. 422
    where there is a conflict or nothing to merge."""
    pull, store = pull_shapes.pull_of(issue), repo.store
    if store.descends(pull.head_sha, pull.base_sha):
        raise Refusal(422, "There are no new commits on the base branch.")
    head, base = pygit2.Oid(hex=pull.head_sha), pygit2.Oid(hex=pull.base_sha)
    index = store.git.merge_commits(head, base)
    if index.conflicts is not None:
        raise Refusal(422, "merge conflict between base and head")
    who, message = signature(world, actor), f"Merge branch '{pull.base_ref}' into {pull.head_ref}"
    tree, parents = str(index.write_tree(store.git)), [pull.head_sha, pull.base_sha]
    sha = store.add_commit(tree, parents, message, who, who, world.signing)
    before = store.refs()
    store.set_ref(f"refs/heads/{pull.head_ref}", sha)
    refs_moved(world, repo, before, actor)
    return sha


def signature(world: World, actor: Actor) -> pygit2.Signature:
    """Name and noreply address of an account, at this moment."""
    account = actor.account
    email = f"{account.id}+{account.login}@users.noreply.github.com"
    return pygit2.Signature(account.login, email, int(world.now().timestamp()), 0)


def refs_moved(world: World, repo: Repo, before: dict[str, str], actor: Actor) -> None:
    """After refs changed by whatever way: push, create and delete events; pulls follow."""
    after = repo.store.refs()
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ZERO), after.get(name, ZERO)
        if old == new:
            continue
        repo.pushed_at = max(world.now(), repo.pushed_at)
        _announce_push(world, repo, actor, name, old, new)
        if name.startswith("refs/heads/"):
            _pulls_follow(world, repo, actor, name.removeprefix("refs/heads/"), old, new)


def _announce_push(world: World, repo: Repo, actor: Actor, name: str, old: str, new: str) -> None:
    short = name.removeprefix("refs/heads/").removeprefix("refs/tags/")
    kind = "tag" if name.startswith("refs/tags/") else "branch"
    about = {"ref": short, "ref_type": kind, "pusher_type": "user"}
    if old == ZERO:
        more = {"master_branch": repo.default_branch, "description": None}
        emit(world, repo, "create", None, actor, about | more)
    head = None if new == ZERO else repo.store.resolve(new)
    known = [s for n, s in repo.store.refs().items() if n != name and repo.store.commit(s)]
    hidden = known if old == ZERO else [old]
    if old != ZERO and repo.store.commit(old) is None:
        hidden = known
    commits = [] if head is None else repo.store.history(str(head.id), hidden, limit=20)[::-1]
    html = page_url(world, repo)
    fields: Json = {
        "ref": name,
        "before": old,
        "after": new,
        "base_ref": None,
        "created": old == ZERO,
        "deleted": new == ZERO,
        "forced": ZERO not in (old, new) and not repo.store.descends(new, old),
        "compare": f"{html}/compare/{old[:12]}...{new[:12]}",
        "commits": [push_commit(world, repo, commit) for commit in commits],
        "head_commit": None if head is None else push_commit(world, repo, head),
        "pusher": {"name": actor.account.login, "email": "noreply@example.com"},
    }
    emit(world, repo, "push", None, actor, fields)
    if new == ZERO:
        emit(world, repo, "delete", None, actor, about)


def _pulls_follow(world: World, repo: Repo, actor: Actor, branch: str, old: str, new: str) -> None:
    """Open pull requests see their head or base move; one whose branch is gone closes."""
    for issue in repo.pulls():
        pull = pull_shapes.pull_of(issue)
        if issue.state != "open":
            continue
        if branch == pull.base_ref and new != ZERO:
            pull.base_sha = new
        if branch != pull.head_ref or pull.fork is not None:
            continue
        if new == ZERO:
            close(world, repo, issue, actor)
        else:
            pull.head_sha = new
            world.touch(issue)
            extra = {"before": old, "after": new}
            announce(world, repo, issue, "synchronize", actor, extra)
