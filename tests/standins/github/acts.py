"""Acts on issues and pull requests, by a person or an app: the change and its webhook together."""

from __future__ import annotations

from typing import Any

from tests.standins.github.refusals import Refusal, failed, not_found
from tests.standins.github.shapes import issues as issue_shapes
from tests.standins.github.shapes import pulls as pull_shapes
from tests.standins.github.shapes.accounts import user
from tests.standins.github.state import (
    Account,
    Actor,
    Comment,
    Issue,
    Label,
    LabelAct,
    Reaction,
    Repo,
)
from tests.standins.github.webhooks import emit
from tests.standins.github.world import World

Json = dict[str, Any]
LIMIT = 65_536


def announce(
    world: World,
    repo: Repo,
    issue: Issue,
    action: str,
    actor: Actor,
    extra: Json | None = None,
) -> None:
    """`issues` or `pull_request`, whichever the thread is."""
    if issue.pull is None:
        fields: Json = {"issue": issue_shapes.issue(world, repo, issue)}
        emit(world, repo, "issues", action, actor, fields | (extra or {}))
    else:
        fields = {
            "number": issue.number,
            "pull_request": pull_shapes.whole(world, repo, issue),
        }
        emit(world, repo, "pull_request", action, actor, fields | (extra or {}))


def check_text(resource: str, name: str, text: str | None, limit: int = LIMIT) -> None:
    """GitHub counts characters; a longer text is a 422."""
    if text is not None and len(text) > limit:
        message = f"{name} is too long (maximum is {limit} characters)"
        raise failed(resource, field=name, message=message)


def next_number(repo: Repo) -> int:
    return max(repo.issues, default=0) + 1


def open_issue(
    world: World, repo: Repo, actor: Actor, title: str, body: str | None, labels: list[str]
) -> Issue:
    if not title.strip():
        raise failed("Issue", field="title", code="missing_field")
    check_text("Issue", "title", title, 256)
    check_text("Issue", "body", body)
    now = world.now()
    issue = Issue(world.next_id(), next_number(repo), title, body, actor, now, now)
    issue.labels = [repo_label(world, repo, name) for name in labels]
    repo.issues[issue.number] = issue
    announce(world, repo, issue, "opened", actor)
    for label in issue.labels:
        world.touch(issue)
        _announce_label(world, repo, issue, "labeled", actor, label)
    return issue


def edit(
    world: World,
    repo: Repo,
    issue: Issue,
    actor: Actor,
    title: str | None = None,
    body: str | None = None,
) -> None:
    """Change title or body; the event carries what they were."""
    kind = "Issue" if issue.pull is None else "PullRequest"
    check_text(kind, "title", title, 256)
    check_text(kind, "body", body)
    changes: Json = {}
    if title is not None and title != issue.title:
        changes["title"] = {"from": issue.title}
        issue.title = title
    if body is not None and body != issue.body:
        changes["body"] = {"from": issue.body or ""}
        issue.body = body
    if changes:
        world.touch(issue)
        announce(world, repo, issue, "edited", actor, {"changes": changes})


def close(
    world: World, repo: Repo, issue: Issue, actor: Actor, reason: str | None = "completed"
) -> None:
    if issue.state == "closed":
        return
    world.touch(issue)
    issue.state, issue.closed_at, issue.closed_by = "closed", issue.updated_at, actor.account
    issue.state_reason = reason if issue.pull is None else None
    announce(world, repo, issue, "closed", actor)


def reopen(world: World, repo: Repo, issue: Issue, actor: Actor) -> None:
    if issue.state == "open":
        return
    world.touch(issue)
    issue.state, issue.closed_at, issue.closed_by = "open", None, None
    issue.state_reason = "reopened" if issue.pull is None else None
    announce(world, repo, issue, "reopened", actor)


def take_away(world: World, repo: Repo, issue: Issue, actor: Actor, action: str) -> None:
    """The issue is `deleted`, or `transferred` to another repository: it is here no more."""
    announce(world, repo, issue, action, actor)
    del repo.issues[issue.number]
    repo.gone[issue.number] = 410 if action == "deleted" else 404


def lock(world: World, repo: Repo, issue: Issue, actor: Actor, locked: bool = True) -> None:
    if issue.locked != locked:
        world.touch(issue)
        issue.locked = locked
        announce(world, repo, issue, "locked" if locked else "unlocked", actor)


def repo_label(world: World, repo: Repo, name: str, color: str = "ededed") -> Label:
    """The repository's label of that name, made on first use as GitHub does."""
    check_text("Label", "name", name, 50)
    if not name.strip():
        raise failed("Label", field="name", code="missing_field")
    key = name.lower()
    if key not in repo.labels:
        repo.labels[key] = Label(world.next_id(), name, color)
    return repo.labels[key]


def add_labels(world: World, repo: Repo, issue: Issue, actor: Actor, names: list[str]) -> None:
    for name in names:
        label = repo_label(world, repo, name)
        if label not in issue.labels:
            issue.labels.append(label)
            world.touch(issue)
            _announce_label(world, repo, issue, "labeled", actor, label)


def remove_label(world: World, repo: Repo, issue: Issue, actor: Actor, name: str) -> None:
    label = repo.labels.get(name.lower())
    if label is None or label not in issue.labels:
        raise Refusal(404, "Label does not exist")
    issue.labels.remove(label)
    world.touch(issue)
    _announce_label(world, repo, issue, "unlabeled", actor, label)


def _announce_label(
    world: World, repo: Repo, issue: Issue, action: str, actor: Actor, label: Label
) -> None:
    issue.acts.append(LabelAct(world.next_id(), action, actor, label, issue.updated_at))
    announce(world, repo, issue, action, actor, {"label": issue_shapes.label(world, repo, label)})


def comment(world: World, repo: Repo, issue: Issue, actor: Actor, body: str) -> Comment:
    """A new comment. A locked conversation takes none from apps and people without a role."""
    if not body.strip():
        raise failed("IssueComment", field="body", code="missing_field")
    check_text("IssueComment", "body", body)
    trusted = actor.app is None and repo.role_of(actor.account) in ("write", "maintain", "admin")
    if issue.locked and not trusted:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    world.touch(issue)
    made = Comment(world.next_id(), body, actor, issue.updated_at, issue.updated_at)
    issue.comments.append(made)
    _announce_comment(world, repo, issue, made, "created", actor, {})
    return made


def edit_comment(
    world: World, repo: Repo, issue: Issue, one: Comment, actor: Actor, body: str
) -> None:
    check_text("IssueComment", "body", body)
    if not body.strip():
        raise failed("IssueComment", field="body", code="missing_field")
    before, one.body = one.body, body
    one.updated_at = max(world.now(), one.updated_at)
    changes = {"changes": {"body": {"from": before}}}
    _announce_comment(world, repo, issue, one, "edited", actor, changes)


def delete_comment(world: World, repo: Repo, issue: Issue, one: Comment, actor: Actor) -> None:
    issue.comments.remove(one)
    _announce_comment(world, repo, issue, one, "deleted", actor, {})


def _announce_comment(
    world: World,
    repo: Repo,
    issue: Issue,
    one: Comment,
    action: str,
    actor: Actor,
    extra: Json,
) -> None:
    fields: Json = {
        "issue": issue_shapes.issue(world, repo, issue),
        "comment": issue_shapes.comment(world, repo, issue, one),
    }
    emit(world, repo, "issue_comment", action, actor, fields | extra)


def find_comment(repo: Repo, comment_id: int) -> tuple[Issue, Comment]:
    for issue in repo.issues.values():
        for one in issue.comments:
            if one.id == comment_id:
                return issue, one
    raise not_found()


def assign(world: World, repo: Repo, issue: Issue, actor: Actor, logins: list[str]) -> None:
    """Add assignees; those who could not be assigned are left out silently, as GitHub does."""
    for login in logins:
        account = world.accounts.get(login.lower())
        if account is None or account in issue.assignees:
            continue
        if repo.role_of(account) in ("none", "read") or len(issue.assignees) >= 10:
            continue
        issue.assignees.append(account)
        world.touch(issue)
        announce(world, repo, issue, "assigned", actor, {"assignee": user(world, account)})


def react(
    world: World, reactions: list[Reaction], account: Account, content: str
) -> tuple[Reaction, bool]:
    """The reaction and whether it is new."""
    if content not in issue_shapes.CONTENTS:
        raise failed("Reaction", field="content", code="invalid")
    for one in reactions:
        if one.user is account and one.content == content:
            return one, False
    made = Reaction(world.next_id(), account, content, world.now())
    reactions.append(made)
    return made, True
