"""The things that the stand-in remembers: plain mutable records, one class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.standins.github.git_store import GitStore

Json = dict[str, Any]
ROLES = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(slots=True)
class Account:
    id: int
    login: str
    type: str = "User"


@dataclass(slots=True)
class App:
    id: int
    slug: str
    name: str
    owner: Account
    bot: Account
    public_key: str
    webhook_url: str | None
    webhook_secret: str
    permissions: dict[str, str]
    events: list[str]
    created_at: datetime


@dataclass(slots=True)
class Grant:
    """What the next mint adds beyond what was asked for (the "extra grant" switch)."""

    permissions: dict[str, str]
    repositories: list[int]


@dataclass(slots=True)
class Installation:
    id: int
    app: App
    account: Account
    permissions: dict[str, str]
    repositories: list[int]
    selection: str
    created_at: datetime
    suspended_at: datetime | None = None
    extra: Grant | None = None


@dataclass(slots=True)
class Token:
    """An installation token; its text is never kept, only the SHA-256 of it as the key."""

    id: str
    installation: Installation
    repositories: frozenset[int]
    permissions: dict[str, str]
    expires_at: datetime
    revoked: bool = False
    person: Account | None = None
    """Whose own token it is, where it is no installation's."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does it: a person, or an app as its bot."""

    account: Account
    app: App | None = None


@dataclass(slots=True)
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None
    default: bool = False


@dataclass(slots=True)
class LabelAct:
    """A label that was put on or taken off, as the issue's events tell it."""

    id: int
    event: str
    by: Actor
    label: Label
    created_at: datetime


@dataclass(slots=True)
class PullAct:
    """A draft made ready or a draft again, a review asked of `whom` or asked no more."""

    id: int
    event: str
    by: Actor
    whom: Account | None
    created_at: datetime


@dataclass(slots=True)
class Reaction:
    id: int
    user: Account
    content: str
    created_at: datetime


@dataclass(slots=True)
class Comment:
    id: int
    body: str
    by: Actor
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True)
class Review:
    id: int
    user: Account
    body: str
    state: str
    commit_id: str
    submitted_at: datetime


@dataclass(slots=True)
class ReviewComment:
    id: int
    review_id: int
    by: Actor
    body: str
    path: str
    line: int | None
    side: str
    commit_id: str
    hunk: str
    created_at: datetime
    in_reply_to: int | None = None
    reactions: list[Reaction] = field(default_factory=list)
    start_line: int | None = None


@dataclass(slots=True)
class Pull:
    id: int
    head_ref: str
    base_ref: str
    head_sha: str
    base_sha: str
    draft: bool
    merged_at: datetime | None = None
    merged_by: Account | None = None
    merge_sha: str | None = None
    reviews: list[Review] = field(default_factory=list)
    comments: list[ReviewComment] = field(default_factory=list)
    reviewers: list[Account] = field(default_factory=list)
    fork: Repo | None = None
    """The repository that the head branch is in, where it is another one."""
    weighed: tuple[str, str] | None = None
    """(head, base) for which the mergeability is known; GitHub says null until it has looked."""


@dataclass(slots=True)
class Issue:
    """An issue, or a pull request when `pull` is there: they share their numbers."""

    id: int
    number: int
    title: str
    body: str | None
    by: Actor
    created_at: datetime
    updated_at: datetime
    state: str = "open"
    state_reason: str | None = None
    locked: bool = False
    closed_at: datetime | None = None
    closed_by: Account | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[Account] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    acts: list[LabelAct | PullAct] = field(default_factory=list)
    pull: Pull | None = None


@dataclass(slots=True)
class CheckRun:
    id: int
    suite: CheckSuite
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    started_at: datetime | None
    completed_at: datetime | None
    external_id: str
    details_url: str | None
    output: Json
    annotations: list[Json] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class CheckSuite:
    id: int
    app: App
    head_sha: str
    created_at: datetime
    updated_at: datetime
    runs: list[CheckRun] = field(default_factory=list)


@dataclass(slots=True)
class Status:
    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: Account
    created_at: datetime


@dataclass(slots=True)
class Repo:
    id: int
    owner: Account
    name: str
    private: bool
    default_branch: str
    store: GitStore
    created_at: datetime
    pushed_at: datetime
    drafts: bool = True
    archived: bool = False
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    gone: dict[int, int] = field(default_factory=dict)  # issue -> status that it answers with
    roles: dict[str, str] = field(default_factory=dict)
    suites: list[CheckSuite] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    rulesets: list[Json] = field(default_factory=list)
    merge: Json = field(default_factory=dict)
    """Merge settings besides GitHub's defaults."""
    protection: Json | None = None
    """Classic protection of the default branch, as an administrator sees it."""
    actions: Json = field(
        default_factory=lambda: {"enabled": True, "default_workflow_permissions": "read"}
    )

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def role_of(self, account: Account) -> str:
        """The person's role here; anyone may read a public repository."""
        if account.login == self.owner.login:
            return "admin"
        return self.roles.get(account.login.lower(), "none" if self.private else "read")

    def pulls(self) -> list[Issue]:
        return [issue for issue in self.issues.values() if issue.pull is not None]


@dataclass(slots=True)
class Delivery:
    """One attempt to hand an event over; `payload` is the exact text that was signed."""

    id: int
    guid: str
    app: App
    event: str
    action: str | None
    installation_id: int | None
    repository_id: int | None
    payload: bytes
    queued_at: datetime
    redelivery: bool = False
    delivered_at: datetime | None = None
    duration: float = 0.0
    status: str = "pending"
    status_code: int = 0
