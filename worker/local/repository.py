"""A repository on this machine, read only: names to commits, and its objects for the checks.

Objects that are made on the way (a tree with the base's tests put back) go into a store of our
own, which borrows the repository's objects; nothing is ever written into the repository.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pygit2
from pygit2.enums import FileStatus, ObjectType

from app.domain.edit import GITLINK
from app.domain.errors import Halt, Missing
from app.domain.paths import shown
from worker.runner.repository import fetching, tree
from worker.runner.repository.mirror import Store
from worker.runner.repository.walk import walk

DEFAULTS = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")


class NotFound(ValueError):
    """What was asked for is not in the repository; the text says what to type instead."""


class Repository:
    """An existing repository at `path`. Raises `NotFound` where there is none."""

    def __init__(self, path: Path) -> None:
        fetching.settle()
        found = pygit2.discover_repository(str(path))
        if found is None:
            raise NotFound(f"{path} is not inside a git repository.")
        try:
            self._repo = pygit2.Repository(found)
        except pygit2.GitError as error:
            raise NotFound(f"The repository {path} cannot be opened: {error}") from None
        self.path = path
        self.name = f"the repository {Path(self._repo.workdir or found).name}"

    @property
    def folder(self) -> Path:
        """The git directory, where evidence about its commits is kept."""
        return Path(self._repo.path)

    def commit(self, name: str) -> str:
        """The id of the commit that `name` means. Raises `NotFound`."""
        try:
            return str(self._repo.revparse_single(name).peel(pygit2.Commit).id)
        except (KeyError, ValueError, pygit2.GitError):
            raise NotFound(f"{name!r} is no commit of this repository.") from None

    def head(self) -> str:
        return self.commit("HEAD")

    def uncommitted(self) -> str:
        """One sentence about what the working tree has and no commit does, "" for nothing."""
        if self._repo.is_bare:
            return ""
        found = self._repo.status(untracked_files="normal")
        new = sum(flags == FileStatus.WT_NEW for flags in found.values())
        changed = len(found) - new
        told = [_many(changed, "changed file")] if changed else []
        told += [_many(new, "file or folder", "files or folders") + " not in git"] if new else []
        if not told:
            return ""
        said = f"The working tree has {' and '.join(told)}"
        return f"{said} that no check sees: only what is committed is looked at."

    def default_branch(self) -> str:
        """The full name of the reference that changes usually go to. Raises `NotFound`."""
        for name in DEFAULTS:
            if self._repo.references.get(name) is not None:
                return name
        raise NotFound("There is no origin/HEAD, main or master: name the base, as in BASE..HEAD.")

    def merge_base(self, base: str, head: str) -> str:
        """Where two commits parted. Raises `NotFound`."""
        found = self._repo.merge_base(base, head)
        if found is None:
            raise NotFound(f"{base[:12]} and {head[:12]} have no commit in common.")
        return str(found)

    def tree_of(self, commit: str) -> str:
        """A commit's tree; "" where the commit is not here."""
        found = self._commit(commit)
        return "" if found is None else str(found.tree_id)

    def fault(self, commit: str) -> str:
        """What is wrong with the objects of a commit's tree, "" where each of them is whole: git
        names an object by its content, so every one is read and compared with its name."""
        at = "its root"
        try:
            for path, mode, oid in walk(self._repo, self.tree_of(commit)):
                if mode != GITLINK:
                    at = path
                    tree.blob(self._repo, oid)
        except (Missing, Halt, KeyError, ValueError, pygit2.GitError) as wrong:
            said = wrong.record.message if isinstance(wrong, Halt) else str(wrong)
            return f"An object of the tree is not whole (near {shown(at)}): {said}"
        return ""

    def parents(self, commit: str) -> tuple[str, ...] | None:
        found = self._commit(commit)
        return None if found is None else tuple(str(one) for one in found.parent_ids)

    def contains(self, commit: str, branch: str) -> bool | None:
        """Whether `commit` is in the history of `branch`; None where either is not here."""
        there = self._repo.references.get(branch)
        if there is None or self._commit(commit) is None:
            return None
        tip = str(there.peel(pygit2.Commit).id)
        return tip == commit or bool(self._repo.descendant_of(tip, commit))

    def parted(self, commit: str, branch: str) -> str:
        """Where `commit` parted from `branch`; where that has it by now, from what it was before
        the merge. "" where it cannot be told, as after a fast-forward."""
        there, head = self._repo.references.get(branch), self._commit(commit)
        if there is None or head is None:
            return ""
        tip: pygit2.Commit | None = there.peel(pygit2.Commit)
        while tip is not None and (tip.id == head.id or self._repo.descendant_of(tip.id, head.id)):
            if tip.id == head.id:  # a fast-forward: its commits and the branch's own look alike
                return ""
            tip = self._commit(str(tip.parent_ids[0])) if tip.parent_ids else None
        found = self._repo.merge_base(tip.id, head.id) if tip is not None else None
        return "" if found is None else str(found)

    def message(self, commit: str) -> tuple[str, str, str]:
        """(first line, author's name, date) of a commit."""
        found = self._repo[commit].peel(pygit2.Commit)
        first = found.message.strip().partition("\n")[0]
        return first, found.author.name, _day(found.author)

    def file(self, path: str, commit: str) -> bytes | None:
        """A regular file's bytes at a commit, None where there is none."""
        found = self._entry(path, commit)
        return tree.blob(self._repo, found) if found else None

    def last_change(self, path: str, commit: str) -> str:
        """Who set a file to what it is at `commit`, and when; "" where that cannot be said."""
        wanted, at = self._entry(path, commit), self._commit(commit)
        while wanted and at is not None:
            older = [one for one in at.parent_ids if self._entry(path, str(one)) == wanted]
            if not older:
                return f"commit {str(at.id)[:12]} by {at.author.name} on {_day(at.author)}"
            at = self._commit(str(older[0]))
        return ""

    def store(self, folder: Path) -> Borrowed:
        """An object store in the empty `folder` that sees everything that is in this repository."""
        pygit2.init_repository(str(folder), bare=True, initial_head="none")
        common = Path(self._repo.path)
        shared = common / "commondir"  # of a work tree beside the main one
        if shared.is_file():
            common = (common / shared.read_text(encoding="utf-8").strip()).resolve()
        info = folder / "objects" / "info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "alternates").write_text(f"{(common / 'objects').resolve()}\n", encoding="utf-8")
        return Borrowed(folder)

    def _commit(self, commit: str) -> pygit2.Commit | None:
        try:
            return self._repo[commit].peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def _entry(self, path: str, commit: str) -> str:
        """The blob id of a path at a commit, "" where it is no file there."""
        found = self._commit(commit)
        try:
            entry = found.tree[path] if found is not None else None
        except KeyError:
            return ""
        return str(entry.id) if entry is not None and entry.type == ObjectType.BLOB else ""


class Borrowed(Store):
    """A store whose commits are here already: nothing is fetched."""

    def fetch(self, url: str, token: str, commit: str) -> str:
        """The tree of a commit that the borrowed repository has."""
        return str(self._repo[commit].peel(pygit2.Commit).tree_id)


def _many(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _day(by: pygit2.Signature) -> str:
    return datetime.fromtimestamp(by.time, tz=UTC).strftime("%Y-%m-%d")
