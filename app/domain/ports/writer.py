"""The only writes to GitHub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.ports.views import CommitView, PullView
from app.domain.report_annotations import Annotation


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
