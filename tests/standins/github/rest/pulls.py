"""The pull request calls."""

from __future__ import annotations

from typing import Any

from tests.standins.github import acts, diffs, pull_acts
from tests.standins.github.refusals import Refusal, failed, invalid, not_found
from tests.standins.github.rest.call import Answer, Call, Operation
from tests.standins.github.shapes import commits, pulls
from tests.standins.github.state import Issue

Json = dict[str, Any]
DIFF = "application/vnd.github.diff"


def create_pull(call: Call) -> Answer:
    repo = call.repo
    issue = pull_acts.open_pull(
        call.world,
        repo,
        call.actor,
        title=call.text("title"),
        body=call.maybe_text("body"),
        head=call.text("head"),
        base=call.text("base"),
        draft=call.flag("draft"),
    )
    shown = pulls.whole(call.world, repo, issue, looked=True)
    return Answer(201, shown, {"Location": shown["url"]})


def list_pulls(call: Call) -> Answer:
    """Filters: state, head=owner:branch, base; sorted by creation, newest first by default."""
    repo, state = call.repo, call.query.get("state", "open")
    if state not in ("open", "closed", "all"):
        raise failed("PullRequest", field="state", code="invalid")
    owner, colon, branch = call.query.get("head", "").partition(":")
    base = call.query.get("base")
    found = []
    for issue in repo.pulls():
        pull = pulls.pull_of(issue)
        if state not in ("all", issue.state) or base not in (None, "", pull.base_ref):
            continue
        mine = owner.lower() == repo.owner.login.lower() and branch == pull.head_ref
        # GitHub ignores a head filter without an owner.
        if not colon or mine:
            found.append(issue)
    found.sort(key=lambda i: i.number, reverse=call.query.get("direction", "desc") == "desc")
    return call.paged(found, lambda one: pulls.simple(call.world, repo, one))


def get_pull(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    if DIFF in call.headers.get("accept", ""):
        pull = pulls.pull_of(issue)
        text = diffs.text(repo.store, pulls.fork_point(repo, pull), pull.head_sha)
        return Answer(200, text, media=f"{DIFF}; charset=utf-8")
    return Answer(200, pulls.whole(call.world, repo, issue, looked=True))


def update_pull(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    title, body, state = (call.maybe_text(name) for name in ("title", "body", "state"))
    if state not in (None, "open", "closed"):
        raise failed("PullRequest", field="state", code="invalid")
    if title is not None and not title.strip():
        raise failed("PullRequest", field="title", code="missing_field")
    acts.edit(call.world, repo, issue, call.actor, title, body)
    if state == "closed":
        acts.close(call.world, repo, issue, call.actor)
    elif state == "open" and issue.state == "closed":
        _reopen(call, issue)
    return Answer(200, pulls.whole(call.world, repo, issue, looked=True))


def _reopen(call: Call, issue: Issue) -> None:
    repo, pull = call.repo, pulls.pull_of(issue)
    sha = repo.store.ref(f"refs/heads/{pull.head_ref}")
    if pull.merged_at is not None or sha is None:
        raise failed("PullRequest", field="state", code="invalid", message="cannot be reopened")
    pull.head_sha = sha
    acts.reopen(call.world, repo, issue, call.actor)


def list_files(call: Call) -> Answer:
    repo, pull = call.repo, pulls.pull_of(call.pull())
    files = pulls.pull_changes(repo, pull)
    return call.paged(files, lambda f: commits.change(call.world, repo, pull.head_sha, f))


def list_commits(call: Call) -> Answer:
    repo, pull = call.repo, pulls.pull_of(call.pull())
    found = pulls.pull_commits(repo, pull)
    return call.paged(found, lambda c: commits.commit_item(call.world, repo, c))


def list_reviews(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    shown = pulls.pull_of(issue).reviews
    return call.paged(shown, lambda one: pulls.review(call.world, repo, issue, one))


def create_review(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    told = call.body.get("comments") or []
    if not isinstance(told, list) or not all(_is_comment(one) for one in told):
        raise invalid("Invalid request.\n\nFor 'properties/comments', not a list of comments.")
    made = pull_acts.review(
        call.world,
        repo,
        issue,
        call.actor,
        event=call.text("event"),
        body=call.text("body", ""),
        commit_id=call.maybe_text("commit_id"),
        comments=told,
    )
    return Answer(200, pulls.review(call.world, repo, issue, made))


def _is_comment(one: object) -> bool:
    if not isinstance(one, dict):
        return False
    texts = isinstance(one.get("path"), str) and isinstance(one.get("body"), str)
    line = one.get("line")
    return texts and (line is None or (isinstance(line, int) and not isinstance(line, bool)))


def dismiss_review(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    call.text("message")
    wanted = int(call.params["review_id"])
    review = pull_acts.dismiss(call.world, repo, issue, call.actor, wanted)
    return Answer(200, pulls.review(call.world, repo, issue, review))


def pulls_with_commit(call: Call) -> Answer:
    """Open pull requests that hold a commit, and merged ones; 422 for a commit that is not here."""
    repo, sha = call.repo, str(call.params["commit_sha"])
    if repo.store.commit(sha) is None:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    found = [
        issue
        for issue in repo.pulls()
        if sha in {str(one.id) for one in pulls.pull_commits(repo, pulls.pull_of(issue))}
        and (issue.state == "open" or pulls.pull_of(issue).merged_at is not None)
    ]
    return call.paged(found, lambda one: pulls.simple(call.world, repo, one))


def list_review_comments(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    shown = pulls.pull_of(issue).comments
    return call.paged(shown, lambda one: pulls.review_comment(call.world, repo, issue, one))


def reply(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    body, wanted = call.text("body"), int(call.params["comment_id"])
    parent = next((c for c in pulls.pull_of(issue).comments if c.id == wanted), None)
    if parent is None:
        raise not_found()
    if not body.strip():
        raise failed("PullRequestReviewComment", field="body", code="missing_field")
    if parent.in_reply_to is not None:  # "Replies to replies are not supported"
        raise failed("PullRequestReviewComment", field="in_reply_to", code="invalid")
    told = {
        "body": body,
        "path": parent.path,
        "line": parent.line,
        "side": parent.side,
        "in_reply_to": parent.id,
    }
    made = pull_acts.add_review_comment(
        call.world, repo, issue, call.actor, parent.review_id, parent.commit_id, told
    )
    shown = pulls.review_comment(call.world, repo, issue, made)
    return Answer(201, shown, {"Location": shown["url"]})


def request_reviewers(call: Call) -> Answer:
    repo, issue = call.repo, call.pull()
    if call.texts("team_reviewers"):  # there are no teams here, so none can be resolved
        raise Refusal(422, "Could not resolve to a node with the global id of 'T_unknown'.")
    for login in call.texts("reviewers"):
        pull_acts.request_review(call.world, repo, issue, call.actor, login)
    return Answer(201, pulls.simple(call.world, repo, issue))


REPO = "/repos/{owner}/{repo}"
PULL = f"{REPO}/pulls/{{pull_number}}"
READ, WRITE = ("pull_requests:read",), ("pull_requests:write",)
OPERATIONS = (
    Operation("POST", f"{REPO}/pulls", create_pull, WRITE),
    Operation("GET", f"{REPO}/pulls", list_pulls, READ),
    Operation("GET", PULL, get_pull, READ),
    Operation("PATCH", PULL, update_pull, WRITE),
    Operation("GET", f"{PULL}/files", list_files, READ),
    Operation("GET", f"{PULL}/commits", list_commits, READ),
    Operation("GET", f"{PULL}/reviews", list_reviews, READ),
    Operation("POST", f"{PULL}/reviews", create_review, WRITE),
    Operation("PUT", f"{PULL}/reviews/{{review_id}}/dismissals", dismiss_review, WRITE),
    Operation("GET", f"{REPO}/commits/{{commit_sha}}/pulls", pulls_with_commit, READ),
    Operation("GET", f"{PULL}/comments", list_review_comments, READ),
    Operation("POST", f"{PULL}/comments/{{comment_id}}/replies", reply, WRITE),
    Operation("POST", f"{PULL}/requested_reviewers", request_reviewers, WRITE),
)
