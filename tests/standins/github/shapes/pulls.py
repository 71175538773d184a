"""Pull requests, reviews and review comments as GitHub shows them."""

from __future__ import annotations

from typing import Any

import pygit2

from tests.standins.github.diffs import FileChange, changes
from tests.standins.github.shapes.accounts import association, maybe_user, node, user
from tests.standins.github.shapes.issues import label, rollup
from tests.standins.github.shapes.repos import api_url, full, page_url
from tests.standins.github.state import Issue, Pull, Repo, Review, ReviewComment
from tests.standins.github.world import World, stamp

Json = dict[str, Any]


def pull_of(issue: Issue) -> Pull:
    if issue.pull is None:
        raise TypeError(f"#{issue.number} is not a pull request")
    return issue.pull


def fork_point(repo: Repo, pull: Pull) -> str | None:
    """Where head left base: the commit that the diff starts from."""
    return repo.store.merge_base(pull.base_sha, pull.head_sha)


def pull_commits(repo: Repo, pull: Pull) -> list[pygit2.Commit]:
    """The commits of the pull request, oldest first."""
    return repo.store.history(pull.head_sha, [pull.base_sha])[::-1]


def pull_changes(repo: Repo, pull: Pull) -> list[FileChange]:
    return changes(repo.store, fork_point(repo, pull), pull.head_sha)


def mergeable(repo: Repo, pull: Pull) -> bool:
    """Whether git merges head into base without a conflict."""
    ours, theirs = pygit2.Oid(hex=pull.base_sha), pygit2.Oid(hex=pull.head_sha)
    return not repo.store.git.merge_commits(ours, theirs).conflicts


def _end(world: World, repo: Repo, ref: str, sha: str) -> Json:
    return {
        "label": f"{repo.owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(world, repo.owner),
        "repo": full(world, repo),
    }


def _links(world: World, repo: Repo, issue: Issue, pull: Pull) -> dict[str, str]:
    api, number = api_url(world, repo), issue.number
    return {
        "self": f"{api}/pulls/{number}",
        "html": f"{page_url(world, repo)}/pull/{number}",
        "issue": f"{api}/issues/{number}",
        "comments": f"{api}/issues/{number}/comments",
        "review_comments": f"{api}/pulls/{number}/comments",
        "review_comment": f"{api}/pulls/comments{{/number}}",
        "commits": f"{api}/pulls/{number}/commits",
        "statuses": f"{api}/statuses/{pull.head_sha}",
    }


def simple(world: World, repo: Repo, issue: Issue) -> Json:
    """A pull request as in lists."""
    pull = pull_of(issue)
    links = _links(world, repo, issue, pull)
    return {
        "url": links["self"],
        "id": pull.id,
        "node_id": node("PR", pull.id),
        "html_url": links["html"],
        "diff_url": f"{links['html']}.diff",
        "patch_url": f"{links['html']}.patch",
        "issue_url": links["issue"],
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "number": issue.number,
        "state": issue.state,
        "locked": issue.locked,
        "active_lock_reason": None,
        "title": issue.title,
        "user": user(world, issue.by.account),
        "body": issue.body,
        "labels": [
            label(world, repo, x) | {"description": x.description or ""} for x in issue.labels
        ],
        "milestone": None,
        "created_at": stamp(issue.created_at),
        "updated_at": stamp(issue.updated_at),
        "closed_at": stamp(issue.closed_at),
        "merged_at": stamp(pull.merged_at),
        "merge_commit_sha": pull.merge_sha,
        "assignee": maybe_user(world, issue.assignees[0] if issue.assignees else None),
        "assignees": [user(world, x) for x in issue.assignees],
        "requested_reviewers": [user(world, x) for x in pull.reviewers],
        "requested_teams": [],
        "head": _end(world, pull.fork or repo, pull.head_ref, pull.head_sha),
        "base": _end(world, repo, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": href} for name, href in links.items()},
        "author_association": association(repo, issue.by.account, issue),
        "auto_merge": None,
        "draft": pull.draft,
    }


def whole(world: World, repo: Repo, issue: Issue, *, looked: bool = False) -> Json:
    """A pull request by itself. `looked` starts GitHub's background look at the merge:
    the first reading after a change still says null."""
    pull = pull_of(issue)
    files = pull_changes(repo, pull)
    key = (pull.head_sha, pull.base_sha)
    fits: bool | None = None
    if issue.state == "open" and pull.weighed == key:
        fits = mergeable(repo, pull)
    if looked:
        pull.weighed = key
    named = {None: "unknown", False: "dirty", True: "draft" if pull.draft else "clean"}
    return simple(world, repo, issue) | {
        "merged": pull.merged_at is not None,
        "mergeable": fits,
        "rebaseable": fits,
        "mergeable_state": named[fits],
        "merged_by": maybe_user(world, pull.merged_by),
        "comments": len(issue.comments),
        "review_comments": len(pull.comments),
        "maintainer_can_modify": False,
        "commits": len(pull_commits(repo, pull)),
        "additions": sum(f.additions for f in files),
        "deletions": sum(f.deletions for f in files),
        "changed_files": len(files),
    }


def review(world: World, repo: Repo, issue: Issue, one: Review) -> Json:
    api = f"{api_url(world, repo)}/pulls/{issue.number}"
    html = f"{page_url(world, repo)}/pull/{issue.number}#pullrequestreview-{one.id}"
    return {
        "id": one.id,
        "node_id": node("PRR", one.id),
        "user": user(world, one.user),
        "body": one.body,
        "state": one.state,
        "html_url": html,
        "pull_request_url": api,
        "author_association": association(repo, one.user, issue),
        "_links": {"html": {"href": html}, "pull_request": {"href": api}},
        "submitted_at": stamp(one.submitted_at),
        "commit_id": one.commit_id,
    }


def review_comment(world: World, repo: Repo, issue: Issue, one: ReviewComment) -> Json:
    api = api_url(world, repo)
    url = f"{api}/pulls/comments/{one.id}"
    html = f"{page_url(world, repo)}/pull/{issue.number}#discussion_r{one.id}"
    pull_url = f"{api}/pulls/{issue.number}"
    shown: Json = {
        "url": url,
        "pull_request_review_id": one.review_id,
        "id": one.id,
        "node_id": node("PRRC", one.id),
        "diff_hunk": one.hunk,
        "path": one.path,
        "position": one.line,
        "original_position": one.line or 1,
        "commit_id": one.commit_id,
        "original_commit_id": one.commit_id,
        "user": user(world, one.by.account),
        "body": one.body,
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.created_at),
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": association(repo, one.by.account, issue),
        "_links": {
            "self": {"href": url},
            "html": {"href": html},
            "pull_request": {"href": pull_url},
        },
        "reactions": rollup(url, one.reactions),
        "start_line": one.start_line,
        "original_start_line": one.start_line,
        "start_side": one.side if one.start_line else None,
        "line": one.line,
        "original_line": one.line or 1,
        "side": one.side,
        "subject_type": "line" if one.line else "file",
    }
    if one.in_reply_to is not None:
        shown["in_reply_to_id"] = one.in_reply_to
    return shown
