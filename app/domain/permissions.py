"""The one table of calls to GitHub: name -> method, path, permission; and which a phase may make.

Nothing outside this table can be called: there is no merge, no dispatch, no deletion of a ref, no
moving of one but fast-forward, no author override. A phase's token holds exactly what its calls
need, and `manifests/github-app.json` asks for exactly what all phases need together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What a token is minted for; each is minted, used and revoked on its own."""

    AUTHORIZE = "authorize"  # live reads: repository, issue, role, base, configuration
    EXAMINE = "examine"  # live reads about somebody else's pull request and where it parted
    REVIEW = "review"  # live reads about our own pull request: reviews, their comments, commits
    FOLLOW = "follow"  # live reads about a Change's own pull request: its head, base and commits
    LOOK = "look"  # live reads for a command or a nudge: pull requests too
    STATUS = "status"  # reaction, labels, comments on the issue
    SURVEY = "survey"  # live listing of labelled issues that nobody told us of
    FETCH = "fetch"  # the runner's one read-only token, for git over HTTPS
    GIT = "git"  # blobs, tree, commit, the one ref
    PULL = "pull"  # the draft pull request
    READY = "ready"  # that draft made ready for review, once
    HISTORY = "history"  # live reads of what was done to our pull request before
    EVIDENCE = "evidence"  # the check run
    DOCTOR = "doctor"  # live reads of what fences the App and what runs on its branches
    INSPECT = "inspect"  # the same with a person's own token; never minted for the App
    WEIGH = "weigh"  # live reads about an approval
    REPORTS = "reports"  # live reads about what CI says of a commit


READ = "read"
WRITE = "write"
METADATA = "metadata"  # GitHub adds `metadata: read` to every token


@dataclass(frozen=True)
class Call:
    """One call. `path` is a template whose `{owner}` and `{repo}` are always the bound repository;
    `sends` are the only keys of its JSON body, `asks` the only query parameters."""

    method: str
    path: str
    permission: str
    level: str
    sends: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        return self.method != "GET"


# The one thing that is said in GraphQL, since REST has no word for it: a fixed text, and the pull
# request's node id as its only variable. The client sends nothing else to that address.
MARK_READY = (
    "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) "
    "{ pullRequest { id isDraft } } }"
)
_REPO = "/repos/{owner}/{repo}"
_PAGES = frozenset({"per_page", "page"})


def _get(path: str, permission: str, *asks: str) -> Call:
    return Call("GET", _REPO + path, permission, READ, asks=frozenset(asks))


def _send(method: str, path: str, permission: str, *sends: str) -> Call:
    return Call(method, _REPO + path, permission, WRITE, sends=frozenset(sends))


CALLS: dict[str, Call] = {
    "repository": _get("", METADATA),
    "role": _get("/collaborators/{username}/permission", METADATA),
    "labelled": _get("/issues", "issues", "labels", "state", *_PAGES),
    "issue_events": _get("/issues/{number}/events", "issues", *_PAGES),
    "issue": _get("/issues/{number}", "issues"),
    "comment": _get("/issues/comments/{comment}", "issues"),
    "ref": _get("/git/ref/heads/{branch}", "contents"),
    "file": _get("/contents/{path}", "contents", "ref"),
    "branch": _get("/branches/{branch}", "contents"),
    "branch_rules": _get("/rules/branches/{branch}", METADATA, *_PAGES),
    "rulesets": _get("/rulesets", METADATA, "includes_parents", *_PAGES),
    "ruleset": _get("/rulesets/{ruleset}", METADATA, "includes_parents"),
    "protection": _get("/branches/{branch}/protection", "administration"),
    "actions": _get("/actions/permissions", "administration"),
    "actions_token": _get("/actions/permissions/workflow", "administration"),
    "read_commit": _get("/git/commits/{sha}", "contents"),
    "compare": _get("/compare/{base}...{head}", "contents", *_PAGES),
    "create_blob": _send("POST", "/git/blobs", "contents", "content", "encoding"),
    "create_tree": _send("POST", "/git/trees", "contents", "base_tree", "tree"),
    "create_commit": _send("POST", "/git/commits", "contents", "message", "tree", "parents"),
    "create_ref": _send("POST", "/git/refs", "contents", "ref", "sha"),
    "move_ref": _send("PATCH", "/git/refs/heads/{branch}", "contents", "sha"),
    "create_pull": _send(
        "POST", "/pulls", "pull_requests", "title", "body", "head", "base", "draft"
    ),
    "mark_ready": Call(
        "POST", "/graphql", "pull_requests", WRITE, sends=frozenset({"query", "variables"})
    ),
    "request_review": _send(
        "POST",
        "/pulls/{number}/requested_reviewers",
        "pull_requests",
        "reviewers",
        "team_reviewers",
    ),
    "pulls": _get("/pulls", "pull_requests", "head", "state", "per_page", "page"),
    "pull": _get("/pulls/{number}", "pull_requests"),
    "pulls_with": _get("/commits/{sha}/pulls", "pull_requests", *_PAGES),
    "pull_commits": _get("/pulls/{number}/commits", "pull_requests", *_PAGES),
    "pull_files": _get("/pulls/{number}/files", "pull_requests", *_PAGES),
    "reviews": _get("/pulls/{number}/reviews", "pull_requests", *_PAGES),
    "inline_comments": _get("/pulls/{number}/comments", "pull_requests", *_PAGES),
    "reply": _send("POST", "/pulls/{number}/comments/{comment}/replies", "pull_requests", "body"),
    "update_pull": _send("PATCH", "/pulls/{number}", "pull_requests", "title", "body"),
    "check_runs": _get("/commits/{sha}/check-runs", "checks", "check_name", *_PAGES),
    "annotations": _get("/check-runs/{check_run}/annotations", "checks", *_PAGES),
    "commit_status": _get("/commits/{sha}/status", "statuses", *_PAGES),
    "create_check": _send(
        "POST",
        "/check-runs",
        "checks",
        "name",
        "head_sha",
        "external_id",
        "status",
        "conclusion",
        "output",
    ),
    "update_check": _send(
        "PATCH", "/check-runs/{check_run}", "checks", "status", "conclusion", "output"
    ),
    "comments": _get("/issues/{number}/comments", "issues", *_PAGES),
    "create_comment": _send("POST", "/issues/{number}/comments", "issues", "body"),
    "update_comment": _send("PATCH", "/issues/comments/{comment}", "issues", "body"),
    "add_labels": _send("POST", "/issues/{number}/labels", "issues", "labels"),
    "remove_label": _send("DELETE", "/issues/{number}/labels/{label}", "issues"),
    "create_label": _send("POST", "/labels", "issues", "name", "color", "description"),
    "react": _send("POST", "/issues/{number}/reactions", "issues", "content"),
    "react_comment": _send("POST", "/issues/comments/{comment}/reactions", "issues", "content"),
    "react_inline": _send(
        "POST", "/pulls/comments/{comment}/reactions", "pull_requests", "content"
    ),
}

_SEEN = ("repository", "file", "branch", "branch_rules", "rulesets", "ruleset")
PHASES: dict[Phase, tuple[str, ...]] = {
    Phase.AUTHORIZE: (
        "repository",
        "role",
        "issue",
        "comment",
        "ref",
        "file",
        "read_commit",
    ),
    Phase.EXAMINE: ("repository", "role", "pull", "ref", "file", "read_commit", "compare"),
    Phase.FOLLOW: (
        "repository",
        "role",
        "issue",
        "pull",
        "ref",
        "file",
        "read_commit",
        "compare",
    ),
    Phase.REVIEW: (
        "repository",
        "role",
        "issue",
        "pull",
        "pull_commits",
        "pull_files",
        "reviews",
        "inline_comments",
        "ref",
        "file",
        "read_commit",
    ),
    Phase.LOOK: ("repository", "role", "issue", "pull", "ref", "read_commit"),
    Phase.STATUS: (
        "comments",
        "create_comment",
        "update_comment",
        "add_labels",
        "remove_label",
        "create_label",
        "react",
        "react_comment",
    ),
    Phase.SURVEY: ("labelled", "issue_events"),
    Phase.FETCH: (),
    Phase.GIT: (
        "ref",
        "read_commit",
        "create_blob",
        "create_tree",
        "create_commit",
        "create_ref",
        "move_ref",
    ),
    Phase.PULL: (
        "pulls",
        "pull",
        "create_pull",
        "update_pull",
        "react_inline",
        "inline_comments",
        "reply",
        "request_review",
    ),
    Phase.READY: ("pull", "mark_ready"),
    Phase.HISTORY: ("issue_events",),
    Phase.EVIDENCE: ("check_runs", "create_check", "update_check"),
    Phase.DOCTOR: _SEEN,
    Phase.INSPECT: (*_SEEN, "protection", "actions", "actions_token"),
    Phase.REPORTS: ("check_runs", "annotations", "commit_status", "branch_rules"),
    Phase.WEIGH: (
        "repository",
        "role",
        "pull",
        "ref",
        "file",
        "read_commit",
        "compare",
        "reviews",
        "pull_commits",
        "pulls_with",
        "branch_rules",
        "check_runs",
    ),
}

# Beside what the calls say: git over HTTPS asks for `contents: read`, GitHub lets an App make a
# draft ready only with `contents: write` beside `pull_requests: write`, and the events of an
# issue's number are a pull request's here.
_BESIDES: dict[Phase, dict[str, str]] = {
    Phase.FETCH: {"contents": READ},
    Phase.READY: {"contents": WRITE},
    Phase.HISTORY: {"pull_requests": READ},
}

# The webhook events that the App subscribes to; those of the installation come unasked.
EVENTS: tuple[str, ...] = (
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "push",
    "repository",
    "status",
)


def permissions(phase: Phase) -> dict[str, str]:
    """What a token for `phase` asks for: the highest level that any of its calls needs.

    `metadata: read` is always named, since GitHub adds it anyway: asked and granted are equal.
    """
    wanted = {METADATA: READ, **_BESIDES.get(phase, {})}
    for name in PHASES[phase]:
        call = CALLS[name]
        wanted[call.permission] = _higher(wanted.get(call.permission, READ), call.level)
    return dict(sorted(wanted.items()))


def registration() -> dict[str, str]:
    """What the App's registration asks for: every phase together, nothing else."""
    wanted: dict[str, str] = {}
    for phase in set(Phase) - {Phase.INSPECT}:
        for name, level in permissions(phase).items():
            wanted[name] = _higher(wanted.get(name, READ), level)
    return dict(sorted(wanted.items()))


def surplus(asked: Mapping[str, str], granted: Mapping[str, str]) -> tuple[str, ...]:
    """What was granted and not asked, or granted higher, or asked and not granted; sorted."""
    expected = {METADATA: READ, **asked}
    return tuple(
        sorted(
            f"{name}: {granted.get(name, 'nothing')} instead of {expected.get(name, 'nothing')}"
            for name in expected.keys() | granted.keys()
            if granted.get(name) != expected.get(name)
        )
    )


def _higher(one: str, other: str) -> str:
    return WRITE if WRITE in (one, other) else READ
