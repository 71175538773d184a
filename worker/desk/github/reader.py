"""Live reads of one repository: `ports.GitHubReader` over the REST API."""

from __future__ import annotations

import hashlib

from app.domain.commits import BranchCommit
from app.domain.contributors import PullCommit
from app.domain.errors import IntegrityError, Missing, Refused
from app.domain.event import Repository
from app.domain.ports.views import CommentView, InlineView, IssueView, PullView, ReviewView
from worker.desk.github import answers
from worker.desk.github.http import Client

ROLES = ("admin", "maintain", "write", "triage", "read", "none")


class Reader:
    """Reads through a client of the phase `authorize`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def repository(self) -> tuple[Repository, str, bool]:
        """(the repository as it is called now, default branch, archived)."""
        data = self._client.call("repository").data
        expected = self._client.repository
        if answers.number(data, "id") != expected.id:
            raise IntegrityError("GitHub answered for another repository than the one asked for")
        now = Repository(
            expected.id, answers.text(data, "owner", "login"), answers.text(data, "name")
        )
        return now, answers.text(data, "default_branch"), answers.flag(data, "archived")

    def role(self, login: str, account: int = 0) -> str:
        """The account's role; a custom one by its base role; "none" for anything unclear."""
        try:
            data = self._client.call("role", username=login).data
        except Missing:
            return "none"
        if answers.text(data, "user", "login").casefold() != login.casefold():
            return "none"
        if account and answers.number(data, "user", "id") != account:
            return "none"  # the login belongs to somebody else by now
        for key in ("role_name", "permission"):
            role = answers.part(data, key)
            if role in ROLES:
                return str(role)
        return "none"

    def issue(self, number: int) -> IssueView:
        """The issue now. Raises `Missing` when it was deleted or transferred."""
        view = answers.issue_view(self._client.call("issue", number=number).data)
        if view.number != number:
            raise IntegrityError(f"GitHub answered with issue {view.number}, not {number}")
        return view

    def comment(self, number: int) -> CommentView:
        """A comment in a conversation now. Raises `Missing` when it was deleted."""
        view = answers.comment_view(self._client.call("comment", comment=number).data)
        if view.id != number:
            raise IntegrityError(f"GitHub answered with comment {view.id}, not {number}")
        return view

    def pull(self, number: int) -> PullView:
        """A pull request now. Raises `Missing`."""
        view = answers.pull_view(self._client.call("pull", number=number).data)
        if view.number != number:
            raise IntegrityError(f"GitHub answered with pull request {view.number}, not {number}")
        return view

    def pull_commits(self, number: int) -> tuple[PullCommit, ...]:
        """A pull request's commits, oldest first; GitHub lists at most 250."""
        pages = self._client.pages("pull_commits", {}, number=number)
        return tuple(answers.pull_commit(one) for one in pages)

    def pull_files(self, number: int) -> tuple[str, ...]:
        """The paths that a pull request changes."""
        pages = self._client.pages("pull_files", {}, number=number)
        return tuple(answers.text(one, "filename") for one in pages)

    def reviews(self, number: int) -> tuple[ReviewView, ...]:
        """A pull request's reviews, oldest first."""
        pages = self._client.pages("reviews", {}, number=number)
        return tuple(answers.review_view(one) for one in pages)

    def inline_comments(self, number: int) -> tuple[InlineView, ...]:
        """All comments on a pull request's diff, oldest first."""
        pages = self._client.pages("inline_comments", {}, number=number)
        return tuple(answers.inline_view(one) for one in pages)

    def message(self, commit: str) -> str:
        """A commit's message, as data."""
        return answers.commit_view(self._client.call("read_commit", sha=commit).data).message

    def branch(self, name: str) -> str:
        """The commit that a branch points to, from the refs API alone."""
        data = self._client.call("ref", branch=name).data
        if answers.text(data, "ref") != f"refs/heads/{name}":
            raise Missing(f"There is no branch {name!r}", 404)
        if answers.text(data, "object", "type") != "commit":
            raise Refused(f"The branch {name!r} points to something that is no commit")
        return answers.text(data, "object", "sha")

    def file(self, path: str, commit: str) -> tuple[bytes, str] | None:
        """(bytes, blob id) of a plain file at a commit, None where there is none.

        Raises `IntegrityError` when bytes and id do not belong together.
        """
        try:
            data = self._client.call("file", ask={"ref": commit}, path=path).data
        except Missing:
            return None
        found = answers.content(data)
        blob = answers.text(data, "sha")
        if blob_id(found) != blob:
            raise IntegrityError(f"The bytes of {path} are not those of the blob {blob}")
        return found, blob

    def parting(self, base: str, head: str) -> tuple[str, int]:
        """(where two commits parted, how many commits `base` has since). Raises `Missing`."""
        # The first page holds patches; what is wanted here stands on every page.
        ask = {"per_page": 1, "page": 2}
        data = self._client.call("compare", ask=ask, base=base, head=head).data
        return answers.text(data, "merge_base_commit", "sha"), answers.number(data, "behind_by")

    def commits(self, base: str, head: str) -> tuple[BranchCommit, ...]:
        """The commits of `head` that are no part of `base`, oldest first, all pages."""
        found = self._client.pages("compare", {}, "commits", base=base, head=head)
        return tuple(answers.branch_commit(one) for one in found)

    def tree_of(self, commit: str) -> str:
        """The tree id of a commit."""
        view = answers.commit_view(self._client.call("read_commit", sha=commit).data)
        if view.sha != commit:
            raise IntegrityError(f"GitHub answered with commit {view.sha}, not {commit}")
        return view.tree


def blob_id(data: bytes) -> str:
    """The git id of a blob."""
    head = b"blob %d\0" % len(data)
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest()
