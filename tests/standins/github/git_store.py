"""One real bare repository: objects, refs and history through pygit2."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pygit2
from pygit2.enums import FileMode, ObjectType, SortMode

GitObject = pygit2.Commit | pygit2.Tree | pygit2.Blob | pygit2.Tag
HEX = re.compile(r"^[0-9a-f]{40}$")
HOOK = """#!/bin/sh
[ "$STANDIN_WORKFLOWS" = yes ] && exit 0
while read -r old new ref; do
  case "$new" in 0000000*) continue;; esac
  hit=$(git log --format= --name-only "$new" --not --all -- .github/workflows | head -n 1)
  if [ -n "$hit" ]; then
    echo "refusing to allow a GitHub App to create or update workflow \\`$hit\\` without" \\
      "\\`workflows\\` permission" >&2
    exit 1
  fi
done
"""
CONFIG = {
    "uploadpack.allowAnySHA1InWant": "true",
    "uploadpack.allowFilter": "true",
    "http.receivepack": "true",
    "gc.auto": "0",
    "receive.autogc": "false",
    "core.logAllRefUpdates": "false",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A tree entry: mode as git spells it ("100644"), type, id."""

    path: str
    mode: str
    type: str
    sha: str


class GitStore:
    """A bare repository on disk. What the API makes here, git clients see at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git = pygit2.Repository(str(path))

    @classmethod
    def empty(cls, path: Path, branch: str) -> GitStore:
        path.parent.mkdir(parents=True, exist_ok=True)
        pygit2.init_repository(str(path), bare=True, initial_head=branch)
        return cls(path)._prepared()

    @classmethod
    def copied(cls, path: Path, source: Path, branch: str | None) -> GitStore:
        """A bare copy of another repository's refs; nothing is written to the source.

        Raises ValueError when git cannot clone it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        home = path.parent / ".home"
        home.mkdir(exist_ok=True)
        (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
        made = subprocess.run(
            ["git", "clone", "--bare", "--quiet", "--no-local", "--", str(source), str(path)],
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": str(home),
                "GIT_CONFIG_NOSYSTEM": "1",
            },
            capture_output=True,
            check=False,
        )
        if made.returncode:
            raise ValueError(f"cannot clone {source}: {made.stderr.decode(errors='replace')}")
        store = cls(path)
        store.git.remotes.delete("origin")
        if store.git.head_is_detached or (branch and store.ref(f"refs/heads/{branch}") is None):
            name = branch or "main"
            store.set_ref(f"refs/heads/{name}", str(store.git.head.target))
        if branch or store.git.head_is_detached:
            store.git.set_head(f"refs/heads/{branch or 'main'}")
        return store._prepared()

    def _prepared(self) -> GitStore:
        for key, value in CONFIG.items():
            self.git.config[key] = value
        hook = self.path / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(HOOK)
        hook.chmod(0o755)
        return self

    # --- reading

    def branch_of_head(self) -> str:
        target = self.git.lookup_reference("HEAD").raw_target
        text = target.decode() if isinstance(target, bytes) else str(target)
        return text.removeprefix("refs/heads/")

    def is_empty(self) -> bool:
        return not self.git.listall_references()

    def object(self, sha: str) -> GitObject | None:
        """The object of that full id, or None."""
        if not HEX.match(sha):
            return None
        found: Any = self.git.get(sha)
        return None if found is None else cast(GitObject, found)

    def commit(self, sha: str) -> pygit2.Commit | None:
        found = self.object(sha)
        return found if isinstance(found, pygit2.Commit) else None

    def refs(self) -> dict[str, str]:
        """Every ref with the id it names, sorted by name."""
        named: dict[str, str] = {}
        for name in sorted(self.git.listall_references()):
            sha = self.ref(name)
            if sha is not None:
                named[name] = sha
        return named

    def ref(self, name: str) -> str | None:
        try:
            return str(self.git.lookup_reference(name).resolve().target)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def resolve(self, name: str) -> pygit2.Commit | None:
        """A branch, tag, ref or id as a commit; None when there is nothing of that name."""
        if HEX.match(name):
            return self.commit(name)
        for full in (name, f"refs/{name}", f"refs/heads/{name}", f"refs/tags/{name}"):
            sha = self.ref(full)
            if sha is not None:
                with contextlib.suppress(pygit2.GitError, ValueError, KeyError):
                    peeled = self.git[sha].peel(pygit2.Commit)
                    return peeled
        return None

    def entries(self, tree: pygit2.Tree, prefix: str = "", deep: bool = False) -> Iterator[Entry]:
        """The entries of a tree; with `deep` those below too, parents first."""
        for item in tree:
            path = f"{prefix}{item.name}"
            mode = f"{int(item.filemode):06o}"
            yield Entry(path, mode, _kind(item), str(item.id))
            if deep and isinstance(item, pygit2.Tree):
                yield from self.entries(item, f"{path}/", deep=True)

    def find(self, tree: pygit2.Tree, path: str) -> GitObject | None:
        try:
            found: Any = tree[path] if path else tree
            return cast(GitObject, found)
        except (KeyError, ValueError):
            return None

    def history(self, head: str, hidden: list[str], limit: int = 0) -> list[pygit2.Commit]:
        """Commits reachable from head and from none of the hidden ones, newest first."""
        walker = self.git.walk(pygit2.Oid(hex=head), SortMode.TOPOLOGICAL | SortMode.TIME)
        for sha in hidden:
            walker.hide(pygit2.Oid(hex=sha))
        found: list[pygit2.Commit] = []
        for commit in walker:
            found.append(commit)
            if limit and len(found) >= limit:
                break
        return found

    def merge_base(self, one: str, other: str) -> str | None:
        base = self.git.merge_base(pygit2.Oid(hex=one), pygit2.Oid(hex=other))
        return None if base is None else str(base)

    def descends(self, newer: str, older: str) -> bool:
        return newer == older or self.git.descendant_of(newer, older)

    # --- writing

    def add_blob(self, data: bytes) -> str:
        return str(self.git.create_blob(data))

    def take(self, other: GitStore, sha: str) -> None:
        """Another repository's commit with all that it needs, as GitHub shares a fork's objects."""
        for oid in other.git.odb:
            if str(oid) != sha and oid in self.git.odb:
                continue
            kind, data = other.git.odb.read(oid)
            self.git.odb.write(kind, data)

    def set_ref(self, name: str, sha: str) -> None:
        self.git.create_reference(name, pygit2.Oid(hex=sha), force=True)

    def drop_ref(self, name: str) -> None:
        self.git.references.delete(name)

    def add_commit(
        self,
        tree: str,
        parents: list[str],
        message: str,
        author: pygit2.Signature,
        committer: pygit2.Signature,
        key: bytes | None = None,
    ) -> str:
        """A commit object. With a key it carries a signature that `signed` recognises."""
        # The stubs say Oid; it is the text of the commit.
        content: Any = self.git.create_commit_string(
            author, committer, message, pygit2.Oid(hex=tree), [pygit2.Oid(hex=p) for p in parents]
        )
        if key is None:
            return str(self.git.write(ObjectType.COMMIT, content.encode()))
        seal = hmac.new(key, content.encode(), hashlib.sha256).hexdigest()
        armour = f"-----BEGIN PGP SIGNATURE-----\n\n{seal}\n-----END PGP SIGNATURE-----"
        return str(self.git.create_commit_with_signature(content, armour, "gpgsig"))

    def signed(self, commit: pygit2.Commit, key: bytes) -> tuple[str, str] | None:
        """(signature, payload) when this stand-in signed the commit, else None."""
        sealed: tuple[bytes | None, bytes | None] = commit.gpg_signature
        signature, payload = sealed
        if signature is None or payload is None:
            return None
        seal = hmac.new(key, payload, hashlib.sha256).hexdigest()
        if seal.encode() not in signature:
            return None
        return signature.decode(), payload.decode(errors="replace")

    def workflows(self, commit: pygit2.Commit) -> dict[str, str]:
        """The files under .github/workflows with their ids."""
        folder = self.find(commit.tree, ".github/workflows")
        if not isinstance(folder, pygit2.Tree):
            return {}
        found = self.entries(folder, ".github/workflows/", deep=True)
        return {entry.path: entry.sha for entry in found if entry.type == "blob"}

    def new_workflow(self, head: str) -> str | None:
        """The first workflow file that a not yet reachable commit changes, or None."""
        known = [sha for sha in self.refs().values() if self.commit(sha) is not None]
        for commit in self.history(head, known):
            mine = self.workflows(commit)
            before = [self.workflows(parent) for parent in commit.parents] or [{}]
            if mine in before:
                continue
            changed = set(mine.items()) ^ set(before[0].items())
            return min(path for path, _ in changed)
        return None

    def other_workflow(self, sha: str, old: str) -> str | None:
        """The first workflow file that is another one at `sha` than at `old`, or None."""
        here, before = self.commit(sha), self.commit(old) if old else None
        if here is None or before is None:
            return None
        changed = set(self.workflows(here).items()) ^ set(self.workflows(before).items())
        return min((path for path, _ in changed), default=None)


def _kind(item: pygit2.Object) -> str:
    if isinstance(item, pygit2.Tree):
        return "tree"
    return "commit" if item.filemode == FileMode.COMMIT else "blob"
