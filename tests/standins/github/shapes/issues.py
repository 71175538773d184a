"""Issues, comments, labels and reactions as GitHub shows them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.standins.github.shapes.accounts import app, association, maybe_user, node, user
from tests.standins.github.shapes.repos import api_url, page_url
from tests.standins.github.state import (
    Actor,
    Comment,
    Issue,
    Label,
    LabelAct,
    PullAct,
    Reaction,
    Repo,
)
from tests.standins.github.world import World, stamp

Json = dict[str, Any]
CONTENTS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def label(world: World, repo: Repo, one: Label) -> Json:
    return {
        "id": one.id,
        "node_id": node("LA", one.id),
        "url": f"{api_url(world, repo)}/labels/{quote(one.name, safe='')}",
        "name": one.name,
        "color": one.color,
        "default": one.default,
        "description": one.description,
        "archived_at": None,
        "archived_by": None,
    }


def act(world: World, repo: Repo, one: LabelAct | PullAct) -> Json:
    told: Json = {
        "id": one.id,
        "node_id": node("LE", one.id),
        "url": f"{api_url(world, repo)}/issues/events/{one.id}",
        "actor": user(world, one.by.account),
        "event": one.event,
        "commit_id": None,
        "commit_url": None,
        "created_at": stamp(one.created_at),
        "performed_via_github_app": through(world, one.by),
    }
    if isinstance(one, LabelAct):
        return {**told, "label": {"name": one.label.name, "color": one.label.color}}
    if one.whom is None:
        return told
    asker = {"review_requester": user(world, one.by.account)}
    return {**told, **asker, "requested_reviewer": user(world, one.whom)}


def rollup(url: str, reactions: list[Reaction]) -> Json:
    counts: Json = {"url": f"{url}/reactions", "total_count": len(reactions)}
    for content in CONTENTS:
        counts[content] = sum(r.content == content for r in reactions)
    return counts


def reaction(world: World, one: Reaction) -> Json:
    return {
        "id": one.id,
        "node_id": node("REA", one.id),
        "user": user(world, one.user),
        "content": one.content,
        "created_at": stamp(one.created_at),
    }


def through(world: World, by: Actor) -> Json | None:
    return None if by.app is None else app(world, by.app)


def issue_page(world: World, repo: Repo, one: Issue) -> str:
    kind = "issues" if one.pull is None else "pull"
    return f"{page_url(world, repo)}/{kind}/{one.number}"


def issue(world: World, repo: Repo, one: Issue) -> Json:
    """An issue; a pull request seen as one has `pull_request` and `draft` too."""
    api = f"{api_url(world, repo)}/issues/{one.number}"
    html = issue_page(world, repo, one)
    shown: Json = {
        "url": api,
        "repository_url": api_url(world, repo),
        "labels_url": f"{api}/labels{{/name}}",
        "comments_url": f"{api}/comments",
        "events_url": f"{api}/events",
        "timeline_url": f"{api}/timeline",
        "html_url": html,
        "id": one.id,
        "node_id": node("I", one.id),
        "number": one.number,
        "title": one.title,
        "user": user(world, one.by.account),
        "labels": [label(world, repo, x) for x in one.labels],
        "state": one.state,
        "state_reason": one.state_reason,
        "locked": one.locked,
        "active_lock_reason": None,
        "assignee": maybe_user(world, one.assignees[0] if one.assignees else None),
        "assignees": [user(world, x) for x in one.assignees],
        "milestone": None,
        "comments": len(one.comments),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.updated_at),
        "closed_at": stamp(one.closed_at),
        "closed_by": maybe_user(world, one.closed_by),
        "author_association": association(repo, one.by.account, one),
        "body": one.body,
        "reactions": rollup(api, one.reactions),
        "performed_via_github_app": through(world, one.by),
    }
    if one.pull is not None:
        shown["draft"] = one.pull.draft
        shown["pull_request"] = {
            "url": f"{api_url(world, repo)}/pulls/{one.number}",
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "merged_at": stamp(one.pull.merged_at),
        }
    return shown


def comment(world: World, repo: Repo, thread: Issue, one: Comment) -> Json:
    api = f"{api_url(world, repo)}/issues/comments/{one.id}"
    return {
        "url": api,
        "html_url": f"{issue_page(world, repo, thread)}#issuecomment-{one.id}",
        "issue_url": f"{api_url(world, repo)}/issues/{thread.number}",
        "id": one.id,
        "node_id": node("IC", one.id),
        "user": user(world, one.by.account),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.updated_at),
        "author_association": association(repo, one.by.account, thread),
        "body": one.body,
        "reactions": rollup(api, one.reactions),
        "performed_via_github_app": through(world, one.by),
    }
