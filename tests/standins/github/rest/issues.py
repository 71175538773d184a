"""The issue calls: reading, comments, labels, reactions, assignees; pull requests too."""

from __future__ import annotations

from typing import Any

from tests.standins.github import acts
from tests.standins.github.refusals import failed, invalid, not_accessible, not_found
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.shapes import issues
from tests.standins.github.state import Comment, Issue, Reaction, Repo

Json = dict[str, Any]


def get_issue(call: Call) -> Answer:
    return Answer(200, issues.issue(call.world, call.repo, call.issue()))


def list_issues(call: Call) -> Answer:
    """Open ones unless `state` says otherwise; `labels` is a comma-separated "all of"."""
    repo, state = call.repo, call.query.get("state", "open")
    wanted = {name.lower() for name in call.query.get("labels", "").split(",") if name}
    found = [
        one
        for one in sorted(repo.issues.values(), key=lambda i: -i.number)
        if state in ("all", one.state) and wanted <= {label.name.lower() for label in one.labels}
    ]
    return call.paged(found, lambda one: issues.issue(call.world, repo, one))


def list_events(call: Call) -> Answer:
    """What happened to an issue or a pull request, oldest first: labels, drafts, reviews asked."""
    repo, issue = call.repo, call.issue()
    return call.paged(issue.acts, lambda one: issues.act(call.world, repo, one))


def list_comments(call: Call) -> Answer:
    repo, issue = call.repo, call.issue()
    return call.paged(issue.comments, lambda c: issues.comment(call.world, repo, issue, c))


def create_comment(call: Call) -> Answer:
    repo, issue = call.repo, call.issue()
    made = acts.comment(call.world, repo, issue, call.actor, call.text("body"))
    shown = issues.comment(call.world, repo, issue, made)
    return Answer(201, shown, {"Location": shown["url"]})


def _comment(call: Call) -> tuple[Repo, Issue, Comment]:
    repo = call.repo
    issue, comment = acts.find_comment(repo, int(call.params["comment_id"]))
    call.check_thread(issue)
    return repo, issue, comment


def get_comment(call: Call) -> Answer:
    repo, issue, comment = _comment(call)
    return Answer(200, issues.comment(call.world, repo, issue, comment))


def update_comment(call: Call) -> Answer:
    """GitHub lets an app edit people's comments too when it has write; we allow only its own."""
    repo, issue, comment = _comment(call)
    body = call.text("body")
    if comment.by.account is not call.actor.account:
        raise not_accessible(call.operation.needs)
    acts.edit_comment(call.world, repo, issue, comment, call.actor, body)
    return Answer(200, issues.comment(call.world, repo, issue, comment))


def delete_comment(call: Call) -> Answer:
    repo, issue, comment = _comment(call)
    if comment.by.account is not call.actor.account:
        raise not_accessible(call.operation.needs)
    acts.delete_comment(call.world, repo, issue, comment, call.actor)
    return Answer(204)


def _labels(call: Call, repo: Repo, issue: Issue) -> Answer:
    return Answer(200, [issues.label(call.world, repo, one) for one in issue.labels])


def list_labels(call: Call) -> Answer:
    repo, issue = call.repo, call.issue()
    return call.paged(issue.labels, lambda one: issues.label(call.world, repo, one))


def add_labels(call: Call) -> Answer:
    """`{"labels": [names or {"name": …}]}`."""
    repo, issue = call.repo, call.issue()
    told = call.body.get("labels", [])
    if not isinstance(told, list):
        raise invalid("Invalid request.\n\nFor 'properties/labels', not an array.")
    names = [one.get("name") if isinstance(one, dict) else one for one in told]
    if not all(isinstance(name, str) for name in names):
        raise invalid("Invalid request.\n\nFor 'properties/labels', not strings.")
    acts.add_labels(call.world, repo, issue, call.actor, [str(name) for name in names])
    return _labels(call, repo, issue)


def remove_label(call: Call) -> Answer:
    repo, issue = call.repo, call.issue()
    acts.remove_label(call.world, repo, issue, call.actor, str(call.params["name"]))
    return _labels(call, repo, issue)


def create_label(call: Call) -> Answer:
    repo, name = call.repo, call.text("name")
    color = call.text("color", "ededed").lower()
    if name.lower() in repo.labels:
        raise failed("Label", field="name", code="already_exists")
    if len(color) != 6 or any(c not in "0123456789abcdef" for c in color):
        raise failed("Label", field="color", code="invalid")
    label = acts.repo_label(call.world, repo, name, color)
    label.description = call.maybe_text("description")
    shown = issues.label(call.world, repo, label)
    return Answer(201, shown, {"Location": shown["url"]})


def get_label(call: Call) -> Answer:
    repo = call.repo
    label = repo.labels.get(str(call.params["name"]).lower())
    if label is None:
        raise not_found()
    return Answer(200, issues.label(call.world, repo, label))


def _react(call: Call, reactions: list[Reaction]) -> Answer:
    content = call.text("content")
    made, new = acts.react(call.world, reactions, call.actor.account, content)
    return Answer(201 if new else 200, issues.reaction(call.world, made))


def react_to_issue(call: Call) -> Answer:
    return _react(call, call.issue().reactions)


def react_to_comment(call: Call) -> Answer:
    return _react(call, _comment(call)[2].reactions)


def react_to_review_comment(call: Call) -> Answer:
    wanted = int(call.params["comment_id"])
    for issue in call.repo.pulls():
        for comment in [] if issue.pull is None else issue.pull.comments:
            if comment.id == wanted:
                return _react(call, comment.reactions)
    raise not_found()


def add_assignees(call: Call) -> Answer:
    repo, issue = call.repo, call.issue()
    acts.assign(call.world, repo, issue, call.actor, call.texts("assignees"))
    return Answer(201, issues.issue(call.world, repo, issue))


REPO = "/repos/{owner}/{repo}"
READ = ("issues:read", "pull_requests:read")
WRITE = ("issues:write", "pull_requests:write")
ISSUE = f"{REPO}/issues/{{issue_number}}"
COMMENT = f"{REPO}/issues/comments/{{comment_id}}"
OPERATIONS = (
    Operation("GET", f"{REPO}/issues", list_issues, READ),
    Operation("GET", COMMENT, get_comment, READ),
    Operation("PATCH", COMMENT, update_comment, WRITE),
    Operation("DELETE", COMMENT, delete_comment, WRITE),
    Operation("POST", f"{COMMENT}/reactions", react_to_comment, WRITE),
    Operation("GET", ISSUE, get_issue, READ),
    Operation("GET", f"{ISSUE}/events", list_events, READ),
    Operation("GET", f"{ISSUE}/comments", list_comments, READ),
    Operation("POST", f"{ISSUE}/comments", create_comment, WRITE),
    Operation("GET", f"{ISSUE}/labels", list_labels, READ),
    Operation("POST", f"{ISSUE}/labels", add_labels, WRITE),
    Operation("DELETE", f"{ISSUE}/labels/{{name}}", remove_label, WRITE, deep=("name",)),
    Operation("POST", f"{ISSUE}/reactions", react_to_issue, WRITE),
    Operation("POST", f"{ISSUE}/assignees", add_assignees, WRITE),
    Operation("POST", f"{REPO}/labels", create_label, WRITE),
    Operation("GET", f"{REPO}/labels/{{name}}", get_label, READ, deep=("name",)),
    Operation(
        "POST",
        f"{REPO}/pulls/comments/{{comment_id}}/reactions",
        react_to_review_comment,
        ("pull_requests:write",),
    ),
)
