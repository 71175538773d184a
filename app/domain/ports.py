"""All seams on one page: what each adapter promises, and which of our errors it raises.

Every method may raise `Unavailable`; what else it raises is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.domain.budget import Usage
from app.domain.check import Outcome, command_digest
from app.domain.commits import BranchCommit
from app.domain.contributors import PullCommit
from app.domain.edit import Change, Delta, Entry
from app.domain.errors import Unavailable
from app.domain.event import Person, Repository
from app.domain.record import JournalEntry, Kept
from app.domain.report_annotations import Annotation
from app.domain.setup import SetupOutcome, SetupPlan


class Hold(Protocol):
    """A live lease on one run: journal, artifacts, intents, money. All may raise `Fenced`."""

    def look(self) -> None:
        """Raise `Fenced` when the lease is gone, `Halt(CANCELLED)` when a person cancelled."""

    def note(self, kind: Kept, data: Mapping[str, Any]) -> JournalEntry:
        """Append to the journal, durable when it returns."""

    def entries(self) -> list[JournalEntry]:
        """The whole journal, oldest first."""

    def put(self, data: bytes) -> str:
        """Keep bytes (cut at `BLOB_CAP`); their SHA-256 in hex."""

    def get(self, digest: str) -> bytes:
        """Bytes kept before. Raises `Missing`."""

    def remember(self, name: str, data: Mapping[str, Any]) -> None:
        """Leave `data` for other runs under `name`, as a cache: for two weeks, or less."""

    def recall(self, name: str) -> dict[str, Any] | None:
        """What a run left under `name`, None where there is nothing."""

    def reserve(self, dollars: int) -> None:
        """Reserve micro-dollars of the day's cap for this run. Raises `Halt(DAILY_CAP)`."""

    def settle(self, dollars: int) -> None:
        """Replace this run's reservation by what was really spent."""

    def paid(self, dollars: int, data: Mapping[str, Any]) -> JournalEntry:
        """Append a paid call's entry (`Kept.MODEL`) and settle it, in one durable write."""

    def intent(self, key: str) -> dict[str, Any] | None:
        """The record of an external write of this run, or None: `{"done": bool, ...}`."""

    def intend(self, key: str, data: Mapping[str, Any]) -> None:
        """Record that the write `key` is about to be sent."""

    def fulfil(self, key: str, data: Mapping[str, Any]) -> None:
        """Record that the write `key` was done and read back as `data`."""


# -- runner ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One call of the model: `system` and `messages` in the Messages API's JSON shape."""

    model: str
    system: str
    messages: Sequence[Mapping[str, Any]]
    max_output: int


@dataclass(frozen=True)
class Reply:
    """A complete reply: content blocks as JSON, stop reason, usage, the provider's request id."""

    content: list[dict[str, Any]]
    stop_reason: str
    usage: Usage
    id: str


class Unfinished(Unavailable):
    """A model call that ended without a reply; `usage` is what its broken streams had used."""

    def __init__(self, message: str, retry_after: float | None, usage: Usage) -> None:
        super().__init__(message, retry_after)
        self.usage = usage


class Model(Protocol):
    """Any provider of a model behind one method."""

    def reply(self, request: Request, look: Callable[[], None]) -> Reply:
        """Stream one reply; `look` is called at least every two seconds and may raise.

        Raises `Unavailable` (overload, limits, connection; after own bounded retries), `Refused`
        (bad key, bad request, spend limit of the account)."""


class Objects(Protocol):
    """The bare object store of one repository."""

    def fetch(self, url: str, token: str, commit: str) -> str:
        """Bring one commit, depth 1; its tree id. Raises `Refused`, `Missing`, `IntegrityError`."""

    def validate(self, tree: str) -> None:
        """Raise `Halt(BASE_INVALID)` where the tree holds what we could not keep byte for byte."""

    def entries(self, tree: str) -> tuple[Entry, ...]:
        """All entries that are not trees, sorted by path."""

    def read(self, tree: str, path: str) -> bytes:
        """A file's bytes. Raises `Missing` for anything that is not a regular file."""

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob by its id. Raises `Missing`."""

    def merged(self, fork: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """(tree id of `ours` and `theirs` merged as git merges branches, both made from the tree
        `fork`; ()), or ("", the paths that conflict, sorted)."""

    def build(self, base: str, changes: Iterable[Change], get: Callable[[str], bytes]) -> str:
        """The tree id of `base` plus `changes`. Raises `Refused` for what git would not keep."""

    def put_back(self, tree: str, base: str, paths: Iterable[str]) -> str:
        """The tree id of `tree` with each of `paths` as `base` has it (a file, a link, a submodule)
        or, where `base` has nothing there, without it."""

    def deltas(self, old: str, new: str) -> tuple[Delta, ...]:
        """Differences from the trees themselves, without rename detection, sorted by path."""

    def reapplied(self, base: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Three-way, file by file, without rename detection: (tree id, ()), or ("", paths in
        conflict)."""

    def diff(self, old: str, new: str) -> bytes:
        """The unified diff, for reading only."""

    def tar(self, tree: str, extra: Mapping[str, bytes]) -> bytes:
        """An uncompressed tar of regular files and links, `extra` laid over it."""


@dataclass(frozen=True)
class Job:
    """A command for the sandbox. `name` is the check's, "" for what is no check.

    `output_cap`, `report_cap` and `memory` are in bytes."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    report: str
    seconds: int
    output_cap: int = 1 << 20
    report_cap: int = 4 << 20
    memory: int = 2 << 30
    name: str = ""

    def digest(self) -> str:
        """The digest of the check that this command is, `Check.digest` of the same fields."""
        return command_digest(
            self.name, self.argv, self.env, self.workdir, self.report, self.seconds
        )


class Box(Protocol):
    """A long-lived container of one run; its answers are hints, never evidence."""

    def run(self, job: Job, files: Mapping[str, bytes], look: Callable[[], None]) -> Outcome:
        """Lay `files` over the workspace and run the job. Raises `Refused` when the box is gone."""

    def close(self) -> None:
        """Remove the container; never raises."""


class Sandbox(Protocol):
    """The only way to run anything that a repository or a model wrote."""

    def image(self, name: str) -> tuple[str, str]:
        """Make sure that the image `name` ("" = default) is there: (image id, profile digest)."""

    def set_up(
        self, run: str, image: str, plan: SetupPlan, look: Callable[[], None]
    ) -> SetupOutcome:
        """The environment of `plan` over `image`: found by its key, else made now. A step that
        fails is an outcome without image; what the operator does not allow is `Refused`."""

    def certify(
        self, run: str, image: str, job: Job, tar: bytes, look: Callable[[], None]
    ) -> Outcome:
        """One fresh container for one job; the daemon's exit code counts."""

    def open(self, run: str, image: str, tar: bytes) -> Box:
        """A container that is kept for this run's in-between checks."""


# -- desk -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Token:
    """An installation token for one repository: `expires` in epoch milliseconds, `minted` on the
    minting process's growing clock in seconds. The repository's name is the one that it has now."""

    secret: str = field(repr=False)
    repository: Repository
    permissions: Mapping[str, str]
    expires: int
    minted: float


class Minter(Protocol):
    """The App's power to make and end tokens."""

    def mint(self, installation: int, repository_id: int, permissions: Mapping[str, str]) -> Token:
        """Raises `Halt(INSTALLATION)`, `IntegrityError` when more was granted than asked."""

    def revoke(self, secret: str) -> None:
        """End a token; one that is unknown is ended already."""


@dataclass(frozen=True)
class CommitView:
    """A commit as GitHub has it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    verified: bool


@dataclass(frozen=True)
class IssueView:
    """An issue as it is now."""

    number: int
    title: str
    body: str
    state: str
    locked: bool
    is_pull: bool
    labels: tuple[str, ...]
    author: Person
    updated_at: str


@dataclass(frozen=True)
class PullView:
    """A pull request as it is now."""

    number: int
    url: str
    state: str
    draft: bool
    title: str
    body: str
    head_ref: str
    head_sha: str
    head_repository: int
    base_ref: str
    author: Person
    merged: bool = False
    merge_commit: str = ""  # of a merged one
    node: str = ""  # its id in GraphQL
    asked: tuple[str, ...] = ()  # logins that a review is requested from
    asked_teams: tuple[str, ...] = ()  # and teams, by their slugs


@dataclass(frozen=True)
class CommentView:
    """A comment in a conversation, with the number of its issue or pull request."""

    id: int
    issue: int
    body: str
    author: Person


@dataclass(frozen=True)
class Vote:
    """A review as it is now: `state` in GitHub's words (APPROVED, DISMISSED, …), `commit` what it
    was about, `at` when it was submitted, as GitHub writes times."""

    id: int
    by: Person
    state: str
    commit: str
    at: str


@dataclass(frozen=True)
class WeighedCommit:
    """A commit of a pull request. `author` and `committer` are accounts by GitHub's own matching of
    addresses, None where it knows none; `verified` as GitHub says it."""

    sha: str
    message: str
    author: Person | None
    committer: Person | None
    verified: bool


@dataclass(frozen=True)
class CheckView:
    """A check run of our App; `since` is when it began, `summary` what it shows."""

    id: int
    external_id: str
    status: str
    conclusion: str
    summary: str
    since: str


@dataclass(frozen=True)
class Compared:
    """Two commits compared: where they parted and the paths that changed from there to the head,
    old names too; `whole` is false where GitHub does not list them all."""

    parted: str
    paths: frozenset[str]
    whole: bool


@dataclass(frozen=True)
class ReviewView:
    """A review as it is now; `state` in GitHub's words (COMMENTED, CHANGES_REQUESTED, …)."""

    id: int
    body: str
    author: Person
    state: str


@dataclass(frozen=True)
class InlineView:
    """A comment on a diff. `review` is the review that it belongs to, `root` the comment that its
    thread begins with (itself, where it is no reply); `line` is 0 for one about the whole file, and
    `start` its first line."""

    id: int
    review: int
    root: int
    body: str
    author: Person
    path: str
    line: int
    start: int


class GitHubReader(Protocol):
    """Live reads of one repository. All raise `Refused`/`Missing` as GitHub answers."""

    def repository(self) -> tuple[Repository, str, bool]:
        """(current name by id, default branch, archived)."""

    def role(self, login: str, account: int = 0) -> str:
        """admin, maintain, write, triage, read or none; custom roles by their base role.

        With `account` the login must still belong to that account id, else none."""

    def issue(self, number: int) -> IssueView: ...

    def comment(self, number: int) -> CommentView: ...

    def pull(self, number: int) -> PullView: ...

    def pull_commits(self, number: int) -> tuple[PullCommit, ...]:
        """A pull request's commits, oldest first; GitHub lists at most 250."""

    def pull_files(self, number: int) -> tuple[str, ...]:
        """The paths that a pull request changes."""

    def reviews(self, number: int) -> tuple[ReviewView, ...]:
        """A pull request's reviews, oldest first."""

    def inline_comments(self, number: int) -> tuple[InlineView, ...]:
        """All comments on a pull request's diff, oldest first."""

    def message(self, commit: str) -> str:
        """A commit's message."""

    def branch(self, name: str) -> str:
        """Commit id of a branch from the refs API; `Missing` if absent, `Refused` 409 if empty."""

    def file(self, path: str, commit: str) -> tuple[bytes, str] | None:
        """(bytes, blob id) of a file at a commit, None where there is none."""

    def tree_of(self, commit: str) -> str: ...

    def parting(self, base: str, head: str) -> tuple[str, int]:
        """(commit where the history of two commits parted, how many commits `base` has since).
        Raises `Missing` where they have nothing in common."""

    def commits(self, base: str, head: str) -> tuple[BranchCommit, ...]:
        """The commits of `head` that are no part of `base`, oldest first, all pages."""


class ApprovalReader(GitHubReader, Protocol):
    """Live reads for an approval. All raise `Refused`/`Missing` as GitHub answers."""

    def votes(self, pull: int) -> tuple[Vote, ...]:
        """Every submitted review, oldest first."""

    def weighed_commits(self, pull: int) -> tuple[WeighedCommit, ...]:
        """The commits of a pull request, oldest first; at most 250, as GitHub lists them."""

    def compared(self, base: str, head: str) -> Compared:
        """What `head` changed since it parted from `base`."""

    def checks(self, commit: str, name: str) -> tuple[CheckView, ...]:
        """Our App's check runs of that name on a commit, the newest first."""

    def required_checks(self, branch: str) -> frozenset[str]:
        """Names of the checks that active rulesets ask for on a branch."""

    def pulls_with(self, commit: str) -> tuple[PullView, ...]:
        """The pull requests that hold a commit."""


@dataclass(frozen=True)
class PullAct:
    """What GitHub itself remembers that was done to a pull request: its word for the act, the login
    of who did it, and whom a review was asked of (a login, or a team's slug)."""

    event: str
    by: str
    whom: str = ""
    team: bool = False


@dataclass(frozen=True)
class Report:
    """What one check of somebody else's, or one commit status, says about a head; `conclusion` is
    "" while it is not done, else in the words of GitHub's check runs."""

    name: str
    conclusion: str


@dataclass(frozen=True)
class FailedReport:
    """A report that is red, with what it says: `text` is its summary and output, `notes` are its
    annotations, `path:line: words` each. All of it is text from outside."""

    name: str
    conclusion: str
    title: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()


class CiReader(Protocol):
    """Live reads about the repository's own CI. All raise `Refused`/`Missing`."""

    def reports(self, commit: str) -> tuple[Report, ...]:
        """What check runs of other apps and commit statuses say, the newest of each."""

    def required_checks(self, branch: str) -> frozenset[str]:
        """Names of the checks that active rulesets ask for on a branch."""

    def failed(self, commit: str, names: Collection[str]) -> tuple[FailedReport, ...]:
        """What those of the reports say that have one of these names and are red."""


@dataclass(frozen=True)
class FileWrite:
    """A change set's entry with its bytes; `data` None deletes the path."""

    path: str
    mode: int
    data: bytes | None


class GitHubWriter(Protocol):
    """The only code that writes to GitHub; bound to one repository and one branch.

    Each write reads back and raises `IntegrityError` on any difference; `Uncertain` when no answer
    came; `Exists` when it is there already."""

    def tree(self, base_tree: str, files: Sequence[FileWrite], expected: str) -> None: ...

    def commit(self, message: str, tree: str, *parents: str) -> tuple[str, bool]:
        """(commit id, verified by GitHub). No author override."""

    def create_branch(self, branch: str, commit: str) -> None: ...

    def advance_branch(self, branch: str, commit: str, old: str) -> str:
        """Move the branch forward from `old` to `commit`; where it is when read back. Raises
        `Refused` (422) where that is no fast-forward or there is no such branch."""

    def find_branch(self, branch: str) -> str | None: ...

    def commit_view(self, commit: str) -> CommitView: ...

    def open_pull(self, title: str, body: str, branch: str, base: str) -> PullView: ...

    def find_pull(self, branch: str) -> PullView | None: ...

    def pull_view(self, number: int) -> PullView: ...

    def pull_at(self, number: int, commit: str) -> PullView:
        """The pull request once it shows `commit` as its head, else as it is after some seconds."""

    def update_pull(self, number: int, title: str | None, body: str | None) -> PullView: ...

    def mark_ready(self, number: int, head: str) -> PullView:
        """An open draft at `head` made ready for review; as it is when read back. One that is no
        draft, or has moved on, is left as it is. Needs the phase `ready`."""

    def request_review(self, number: int, logins: Sequence[str], teams: Sequence[str]) -> PullView:
        """A review asked of people and of teams, by their slugs. Raises `Refused` for whom GitHub
        does not let be asked."""

    def check_run(
        self,
        name: str,
        head: str,
        external_id: str,
        conclusion: str,
        title: str,
        summary: str,
        text: str,
        annotations: Sequence[Annotation] = (),
    ) -> int:
        """Create or adopt (by `external_id`) a completed check run with its annotations; its id."""

    def own_comments(self, issue: int) -> list[str]: ...

    def comment(
        self, issue: int, body: str, marker: str, known: int = 0, *, keep: bool = False
    ) -> int:
        """Create, or edit (with `keep` leave) the one that is known or carries `marker`; its id."""

    def reply(self, pull: int, comment: int, body: str, marker: str) -> int:
        """One reply with `marker` in the thread that `comment` began, made or found; its id."""

    def add_labels(self, issue: int, labels: Sequence[str]) -> None: ...

    def remove_label(self, issue: int, label: str) -> None: ...

    def react(self, issue: int, content: str) -> None: ...

    def react_comment(self, comment: int, content: str, *, inline: bool = False) -> None:
        """A reaction to a comment; an inline one needs the phase `pull`."""
