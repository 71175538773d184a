"""An honest GitHub in memory: `ports.GitHubReader` and `ports.GitHubWriter` over one repository.

Object ids are git's own. It refuses what GitHub refuses and keeps what it is told; tests set its
fields to act out people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from app.domain.commits import BranchCommit
from app.domain.contributors import PullCommit
from app.domain.errors import (
    Exists,
    Fault,
    ForbiddenCall,
    IntegrityError,
    Missing,
    Refused,
    Unavailable,
)
from app.domain.event import Person, Repository
from app.domain.permissions import Phase
from app.domain.ports.approval import ApprovalReader, CheckView, Compared, Vote, WeighedCommit
from app.domain.ports.ci import CiReader, FailedReport, Report
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import (
    CommentView,
    CommitView,
    InlineView,
    IssueView,
    PullAct,
    PullView,
    ReviewView,
)
from app.domain.ports.writer import FileWrite, GitHubWriter
from app.domain.report_annotations import Annotation
from app.domain.run import Run
from app.domain.state import FOLLOWING, Kind

Files = dict[str, tuple[int, bytes]]
BOT = Person(900, "patchwarrant[bot]", "Bot")


def object_id(kind: str, data: bytes) -> str:
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).hexdigest()


def tree_id(files: Files) -> str:
    """git's id of the tree that holds these files."""
    entries: list[tuple[str, str, str]] = []
    folders: dict[str, Files] = {}
    for path, (mode, data) in files.items():
        head, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(head, {})[rest] = (mode, data)
        else:
            entries.append((head, f"{mode:o}", object_id("blob", data)))
    entries += [(f"{name}/", "40000", tree_id(inside)) for name, inside in folders.items()]
    raw = b"".join(
        f"{mode} {name.rstrip('/')}\0".encode() + bytes.fromhex(oid)
        for name, mode, oid in sorted(entries, key=lambda one: one[0].encode())
    )
    return object_id("tree", raw)


@dataclass
class FakeComment:
    """A comment; `ours` says whether our App wrote it."""

    id: int
    issue: int
    body: str
    ours: bool = True
    author: Person = BOT


@dataclass
class FakeCheck:
    id: int
    name: str
    head: str
    external_id: str
    conclusion: str
    title: str
    summary: str
    text: str
    annotations: tuple[Annotation, ...] = ()
    since: str = ""


@dataclass
class FakeGitHub:
    """One repository. `down` makes every call `Unavailable`; `locked` issues take no comment;
    `no_signs` is what every reaction meets."""

    repository: Repository = field(default_factory=lambda: Repository(5, "acme", "widgets"))
    default_branch: str = "main"
    archived: bool = False
    down: bool = False
    no_signs: Fault | None = None
    drafts: bool = True
    roles: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, int] = field(default_factory=dict)
    issues: dict[int, IssueView] = field(default_factory=dict)
    trees: dict[str, Files] = field(default_factory=dict)
    commits: dict[str, CommitView] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, PullView] = field(default_factory=dict)
    comments: list[FakeComment] = field(default_factory=list)
    checks: list[FakeCheck] = field(default_factory=list)
    reactions: set[tuple[int, str]] = field(default_factory=set)
    comment_reactions: set[tuple[int, str]] = field(default_factory=set)
    phases: list[Phase] = field(default_factory=list)
    votes: dict[int, list[Vote]] = field(default_factory=dict)
    authors: dict[str, Person | None] = field(default_factory=dict)  # of commits, by id
    reported: dict[str, tuple[Report, ...]] = field(default_factory=dict)
    said: dict[str, FailedReport] = field(default_factory=dict)  # what a red report says, by name
    required: dict[str, frozenset[str]] = field(default_factory=dict)
    check_writes: int = 0
    clock: str = "2026-11-30T10:00:00Z"
    reviews: list[ReviewView] = field(default_factory=list)
    inline: list[InlineView] = field(default_factory=list)
    marked: list[int] = field(default_factory=list)  # pull requests that were made ready by us
    teams: frozenset[str] = frozenset()
    done: list[PullAct] = field(default_factory=list)  # to the one pull request, as GitHub knows

    def acts(self, _run: Run, number: int) -> tuple[PullAct, ...]:
        self.phases.append(Phase.HISTORY)
        FakeReader(self).pull(number)
        return tuple(self.done)

    def commit_files(
        self, branch: str, files: Files, message: str = "Files", by: Person | None = None
    ) -> str:
        """A person's commit with exactly these files on `branch`; its id."""
        tree = tree_id(files)
        self.trees[tree] = dict(files)
        parent = self.branches.get(branch)
        sha = self._commit(message, tree, (parent,) if parent else (), verified=False)
        self.authors[sha] = by
        self.move(branch, sha)
        return sha

    def move(self, branch: str, sha: str) -> None:
        """The branch at a commit, and open pull requests of it with it."""
        self.branches[branch] = sha
        for number, view in self.pulls.items():
            if view.head_ref == branch and view.state == "open":
                self.pulls[number] = replace(view, head_sha=sha)

    def follow(self, branch: str) -> None:
        """Open pull requests see their head move."""
        for number, view in self.pulls.items():
            if view.head_ref == branch and view.state == "open":
                self.pulls[number] = replace(view, head_sha=self.branches[branch])

    def open_issue(self, number: int, title: str, body: str, *labels: str) -> IssueView:
        view = IssueView(
            number, title, body, "open", False, False, labels, Person(3, "bob"), "2026-11-30"
        )
        self.issues[number] = view
        return view

    @contextmanager
    def read(self, run: Run) -> Iterator[GitHubReader]:
        phases = {Kind.VERIFY: Phase.EXAMINE, Kind.REVISE: Phase.REVIEW}
        phases |= dict.fromkeys(FOLLOWING, Phase.FOLLOW)
        self.phases.append(phases.get(run.kind, Phase.AUTHORIZE))
        yield FakeReader(self)

    @contextmanager
    def reports(self, run: Run) -> Iterator[CiReader]:
        self.phases.append(Phase.REPORTS)
        yield FakeWeigher(self)

    @contextmanager
    def weigh(self, run: Run) -> Iterator[ApprovalReader]:
        self.phases.append(Phase.WEIGH)
        yield FakeWeigher(self)

    @contextmanager
    def write(self, run: Run, phase: Phase) -> Iterator[GitHubWriter]:
        self.phases.append(phase)
        yield FakeWriter(self, run.branch, phase)

    def next_id(self) -> int:
        return 1_000 + sum(map(len, (self.comments, self.checks, self.pulls, self.inline)))

    def _commit(self, message: str, tree: str, parents: tuple[str, ...], *, verified: bool) -> str:
        text = f"{message}\0{tree}\0{parents}\0{len(self.commits)}"
        sha = object_id("commit", text.encode())
        self.commits[sha] = CommitView(sha, tree, parents, message, verified)
        return sha

    def up(self) -> None:
        if self.down:
            raise Unavailable("GitHub is away")

    def signs(self) -> None:
        if self.no_signs is not None:
            raise self.no_signs


@dataclass
class FakeReader:
    hub: FakeGitHub

    def repository(self) -> tuple[Repository, str, bool]:
        self.hub.up()
        return self.hub.repository, self.hub.default_branch, self.hub.archived

    def role(self, login: str, account: int = 0) -> str:
        self.hub.up()
        if account and self.hub.accounts.get(login, account) != account:
            return "none"
        return self.hub.roles.get(login, "none")

    def issue(self, number: int) -> IssueView:
        self.hub.up()
        if number not in self.hub.issues:
            raise Missing("Not Found", 404)
        return self.hub.issues[number]

    def comment(self, number: int) -> CommentView:
        self.hub.up()
        for one in self.hub.comments:
            if one.id == number:
                return CommentView(one.id, one.issue, one.body, one.author)
        raise Missing("Not Found", 404)

    def pull(self, number: int) -> PullView:
        self.hub.up()
        if number not in self.hub.pulls:
            raise Missing("Not Found", 404)
        return self.hub.pulls[number]

    def pull_commits(self, number: int) -> tuple[PullCommit, ...]:
        view = self.pull(number)
        base = self._history(self.hub.branches[view.base_ref])
        mine = [one for one in self._history(view.head_sha) if one not in base]
        return tuple(
            PullCommit(one, who, who, self.hub.commits[one].message.partition("\n")[0])
            for one in reversed(mine)
            for who in [self.hub.authors.get(one) or BOT]
        )

    def pull_files(self, number: int) -> tuple[str, ...]:
        view = self.pull(number)
        parted, _ = self.parting(self.hub.branches[view.base_ref], view.head_sha)
        old, new = (self.hub.trees[self.tree_of(one)] for one in (parted, view.head_sha))
        return tuple(sorted(p for p in old.keys() | new.keys() if old.get(p) != new.get(p)))

    def reviews(self, number: int) -> tuple[ReviewView, ...]:
        self.pull(number)
        return tuple(self.hub.reviews)

    def inline_comments(self, number: int) -> tuple[InlineView, ...]:
        self.pull(number)
        return tuple(self.hub.inline)

    def message(self, commit: str) -> str:
        self.hub.up()
        return self.hub.commits[commit].message

    def branch(self, name: str) -> str:
        self.hub.up()
        if not self.hub.commits:
            raise Refused("Git Repository is empty.", 409)
        if name not in self.hub.branches:
            raise Missing("Not Found", 404)
        return self.hub.branches[name]

    def file(self, path: str, commit: str) -> tuple[bytes, str] | None:
        self.hub.up()
        found = self.hub.trees[self.tree_of(commit)].get(path)
        return None if found is None else (found[1], object_id("blob", found[1]))

    def tree_of(self, commit: str) -> str:
        self.hub.up()
        if commit not in self.hub.commits:
            raise Missing("Not Found", 404)
        return self.hub.commits[commit].tree

    def parting(self, base: str, head: str) -> tuple[str, int]:
        self.hub.up()
        if not {base, head} <= self.hub.commits.keys():
            raise Missing("Not Found", 404)
        ours, theirs = self._history(base), self._history(head)
        found = next((one for one in theirs if one in ours), None)
        if found is None:
            raise Missing("No common ancestor between the two commits.", 404)
        return found, ours.index(found)

    def commits(self, base: str, head: str) -> tuple[BranchCommit, ...]:
        self.hub.up()
        known = set(self._history(base))
        fresh = [one for one in self._history(head) if one not in known]
        return tuple(
            BranchCommit(
                one,
                self.hub.authors.get(one) or BOT,
                "Somebody",
                len(self.hub.commits[one].parents),
            )
            for one in reversed(fresh)
        )

    def _history(self, commit: str) -> list[str]:
        """All that a commit rests on, nearest first."""
        line, waiting = list[str](), [commit]
        while waiting:
            one = waiting.pop(0)
            if one not in line:
                line.append(one)
                waiting += self.hub.commits[one].parents
        return line


@dataclass
class FakeWeigher(FakeReader):
    """`ports.ApprovalReader`; a commit that our App made has the bot as its author."""

    def votes(self, pull: int) -> tuple[Vote, ...]:
        self.hub.up()
        return tuple(self.hub.votes.get(pull, ()))

    def weighed_commits(self, pull: int) -> tuple[WeighedCommit, ...]:
        view = self.pull(pull)
        base = self._history(self.branch(view.base_ref))
        found = []
        for sha in self._history(view.head_sha):
            if sha in base:
                break
            one = self.hub.commits[sha]
            who = BOT if one.verified else self.hub.authors.get(sha)
            found.append(WeighedCommit(sha, one.message, who, who, one.verified))
        return tuple(reversed(found))

    def compared(self, base: str, head: str) -> Compared:
        parted, _ = self.parting(base, head)
        old, new = (self.hub.trees[self.tree_of(one)] for one in (parted, head))
        paths = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        return Compared(parted, frozenset(paths), len(paths) < 300)

    def checks(self, commit: str, name: str) -> tuple[CheckView, ...]:
        self.hub.up()
        found = [one for one in self.hub.checks if (one.head, one.name) == (commit, name)]
        return tuple(
            CheckView(one.id, one.external_id, "completed", one.conclusion, one.summary, one.since)
            for one in reversed(found)
        )

    def reports(self, commit: str) -> tuple[Report, ...]:
        self.hub.up()
        return self.hub.reported.get(commit, ())

    def failed(self, commit: str, names: Collection[str]) -> tuple[FailedReport, ...]:
        self.hub.up()
        green = ("", "success", "neutral", "skipped")
        return tuple(
            self.hub.said.get(one.name, FailedReport(one.name, one.conclusion))
            for one in self.hub.reported.get(commit, ())
            if one.name in names and one.conclusion not in green
        )

    def required_checks(self, branch: str) -> frozenset[str]:
        self.hub.up()
        return self.hub.required.get(branch, frozenset())

    def pulls_with(self, commit: str) -> tuple[PullView, ...]:
        self.hub.up()
        return tuple(
            one
            for one in self.hub.pulls.values()
            if one.state == "open" and commit in self._history(one.head_sha)
        )


@dataclass
class FakeWriter:
    hub: FakeGitHub
    bound: str
    phase: Phase = Phase.GIT

    def tree(self, base_tree: str, files: Sequence[FileWrite], expected: str) -> None:
        self.hub.up()
        made = dict(self.hub.trees[base_tree])
        for one in files:
            if one.data is not None:
                made[one.path] = (one.mode, one.data)
            elif one.path not in made:
                raise Refused("GitRPC::BadObjectState", 422)
            else:
                del made[one.path]
        if tree_id(made) != expected:
            raise IntegrityError("another tree came out")
        self.hub.trees[expected] = made

    def commit(self, message: str, tree: str, *parents: str) -> tuple[str, bool]:
        self.hub.up()
        return self.hub._commit(message, tree, parents, verified=True), True

    def commit_view(self, commit: str) -> CommitView:
        self.hub.up()
        if commit not in self.hub.commits:
            raise Missing("Not Found", 404)
        return self.hub.commits[commit]

    def create_branch(self, branch: str, commit: str) -> None:
        self._ours(branch)
        if branch in self.hub.branches:
            raise Exists("Reference already exists", 422)
        self.hub.branches[branch] = commit

    def advance_branch(self, branch: str, commit: str, old: str) -> str:
        self._ours(branch)
        if branch not in self.hub.branches:
            raise Refused("Reference does not exist", 422)
        if self.hub.branches[branch] not in FakeReader(self.hub)._history(commit):
            raise Refused("Update is not a fast forward", 422)
        self.hub.move(branch, commit)
        return commit

    def find_branch(self, branch: str) -> str | None:
        self._ours(branch)
        return self.hub.branches.get(branch)

    def open_pull(self, title: str, body: str, branch: str, base: str) -> PullView:
        self._ours(branch)
        if any(p.head_ref == branch and p.state == "open" for p in self.hub.pulls.values()):
            raise Exists("A pull request already exists", 422)
        if branch not in self.hub.branches:
            raise Refused("head is invalid", 422)
        number = max([*self.hub.issues, *self.hub.pulls, 0]) + 1
        self.hub.pulls[number] = PullView(
            number=number,
            url=f"https://github.test/{self.hub.repository.full_name}/pull/{number}",
            state="open",
            draft=self.hub.drafts,
            title=title if self.hub.drafts else f"[draft] {title}",
            body=body,
            head_ref=branch,
            head_sha=self.hub.branches[branch],
            head_repository=self.hub.repository.id,
            base_ref=base,
            author=BOT,
        )
        return self.hub.pulls[number]

    def find_pull(self, branch: str) -> PullView | None:
        self._ours(branch)
        found = [p for p in self.hub.pulls.values() if p.head_ref == branch]
        return max(found, key=lambda p: (p.state == "open", p.number), default=None)

    def pull_view(self, number: int) -> PullView:
        self.hub.up()
        if number not in self.hub.pulls:
            raise Missing("Not Found", 404)
        return self.hub.pulls[number]

    def pull_at(self, number: int, commit: str) -> PullView:
        return self.pull_view(number)

    def update_pull(self, number: int, title: str | None, body: str | None) -> PullView:
        view = self.pull_view(number)
        self.hub.pulls[number] = replace(view, title=title or view.title, body=body or view.body)
        return self.hub.pulls[number]

    def mark_ready(self, number: int, head: str) -> PullView:
        view = self.pull_view(number)
        if self.phase is not Phase.READY:
            raise ForbiddenCall("not a call of this phase")
        if view.draft and view.state == "open" and view.head_sha == head:
            self.hub.marked.append(number)
            self.hub.done.append(PullAct("ready_for_review", BOT.login))
            self.hub.pulls[number] = replace(view, draft=False)
        return self.hub.pulls[number]

    def request_review(self, number: int, logins: Sequence[str], teams: Sequence[str]) -> PullView:
        view = self.pull_view(number)
        if self.phase is not Phase.PULL:
            raise ForbiddenCall("not a call of this phase")
        if view.author.login in logins:
            raise Refused("Review cannot be requested from pull request author.", 422)
        if any(one not in self.hub.roles for one in logins) or not set(teams) <= self.hub.teams:
            raise Refused("Reviews may only be requested from collaborators.", 422)
        people = [one for one in logins if one not in view.asked]
        groups = [one for one in teams if one not in view.asked_teams]
        self.hub.pulls[number] = replace(
            view, asked=(*view.asked, *people), asked_teams=(*view.asked_teams, *groups)
        )
        for one in (*people, *groups):
            told = PullAct("review_requested", BOT.login, one, team=one in groups)
            self.hub.done.append(told)
        return self.hub.pulls[number]

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
        self.hub.up()
        self.hub.check_writes += 1
        for n, one in enumerate(self.hub.checks):
            if (one.name, one.head, one.external_id) == (name, head, external_id):
                self.hub.checks[n] = FakeCheck(
                    one.id, name, head, external_id, conclusion, title, summary, text,
                    (*one.annotations, *annotations[len(one.annotations) :]), one.since,
                )  # fmt: skip
                return one.id
        made = self.hub.next_id()
        self.hub.checks.append(
            FakeCheck(
                made,
                name,
                head,
                external_id,
                conclusion,
                title,
                summary,
                text,
                tuple(annotations),
                self.hub.clock,
            )
        )
        return made

    def own_comments(self, issue: int) -> list[str]:
        self.hub.up()
        return [c.body for c in self.hub.comments if c.ours and c.issue == issue]

    def comment(
        self, issue: int, body: str, marker: str, known: int = 0, *, keep: bool = False
    ) -> int:
        self.hub.up()
        if marker not in body:
            raise ForbiddenCall("no marker")
        mine = [c for c in self.hub.comments if c.ours]
        found = next((c for c in mine if c.id == known), None) or next(
            (c for c in mine if c.issue == issue and marker in c.body), None
        )
        if found is None:
            there = self.hub.issues.get(issue)
            if there is None and issue not in self.hub.pulls:
                raise Missing("Not Found", 404)
            if there is not None and there.locked:
                raise Refused("Unable to create comment because issue is locked.", 403)
            found = FakeComment(self.hub.next_id(), issue, body)
            self.hub.comments.append(found)
        if not keep:
            found.body = body
        return found.id

    def reply(self, pull: int, comment: int, body: str, marker: str) -> int:
        self.pull_view(pull)
        if marker not in body:
            raise ForbiddenCall("no marker")
        root = next((one for one in self.hub.inline if one.id == comment), None)
        if root is None or root.root != root.id:
            raise Missing("Not Found", 404)
        for one in self.hub.inline:
            if marker in one.body and one.author == BOT:
                return one.id
        made = replace(root, id=self.hub.next_id(), review=0, body=body, author=BOT)
        self.hub.inline.append(made)
        return made.id

    def add_labels(self, issue: int, labels: Sequence[str]) -> None:
        self.hub.up()
        view = self._issue(issue)
        fresh = [one for one in labels if one.lower() not in {x.lower() for x in view.labels}]
        self.hub.issues[issue] = replace(view, labels=(*view.labels, *fresh))

    def remove_label(self, issue: int, label: str) -> None:
        self.hub.up()
        view = self.hub.issues.get(issue)
        if view is not None:
            kept = tuple(one for one in view.labels if one.lower() != label.lower())
            self.hub.issues[issue] = replace(view, labels=kept)

    def react(self, issue: int, content: str) -> None:
        self.hub.up()
        self._issue(issue)
        self.hub.signs()
        self.hub.reactions.add((issue, content))

    def _issue(self, number: int) -> IssueView:
        if number not in self.hub.issues:
            raise Missing("Not Found", 404)
        return self.hub.issues[number]

    def _ours(self, branch: str) -> None:
        self.hub.up()
        if branch != self.bound:
            raise ForbiddenCall(f"{branch} is not bound")

    def react_comment(self, comment: int, content: str, *, inline: bool = False) -> None:
        self.hub.up()
        self.hub.signs()
        self.hub.comment_reactions.add((comment, content))
