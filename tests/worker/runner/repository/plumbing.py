"""The git program on a bare repository of a test: the independent opinion about ids and diffs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.edit import FILE, GITLINK

File = bytes | tuple[int, bytes]
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@dataclass(frozen=True)
class Git:
    """Plumbing commands on the repository at `path`, without any configuration of the machine."""

    path: Path

    def run(self, *args: str, data: bytes = b"", **env: str) -> bytes:
        """Standard output of a git command; raises when it fails."""
        return subprocess.run(
            ["git", *args],
            input=data,
            check=True,
            capture_output=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_DIR": str(self.path),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "HOME": "/nonexistent",
            }
            | {
                f"GIT_{who}_{what}": "a@example.org"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            }
            | env,
        ).stdout

    def text(self, *args: str, data: bytes = b"", **env: str) -> str:
        return self.run(*args, data=data, **env).decode().strip()

    def blob(self, data: bytes) -> str:
        return self.text("hash-object", "-w", "--stdin", data=data)

    def tree(self, files: Mapping[str, File]) -> str:
        """The tree with these files, made through git's index; bytes alone are a plain file. A
        submodule is (GITLINK, the commit's id as text)."""
        rows = b""
        for path, file in files.items():
            mode, data = file if isinstance(file, tuple) else (FILE, file)
            oid = data.decode() if mode == GITLINK else self.blob(data)
            rows += f"{mode:o} {oid}\t{path}".encode() + b"\0"
        index = self.path / "test-index"
        index.unlink(missing_ok=True)
        self.run("update-index", "-z", "--index-info", data=rows, GIT_INDEX_FILE=str(index))
        return self.text("write-tree", GIT_INDEX_FILE=str(index))

    def raw(self, *entries: tuple[str, bytes, str]) -> str:
        """A tree object exactly as given: (mode as spelled, name, id), nothing checked."""
        data = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
        )
        return self.literal("tree", data)

    def literal(self, kind: str, data: bytes) -> str:
        """An object written without any check."""
        return self.text("hash-object", "-t", kind, "-w", "--literally", "--stdin", data=data)

    def listing(self, tree: str) -> list[tuple[str, int, str, int]]:
        """(path, mode, id, size) of all entries, as git tells them; submodules have size 0."""
        rows = self.run("ls-tree", "-r", "-z", "-l", "--full-tree", tree).decode().split("\0")
        found = []
        for row in filter(None, rows):
            head, path = row.split("\t", 1)
            mode, _, oid, size = head.split()
            found.append((path, int(mode, 8), oid, 0 if size == "-" else int(size)))
        return found

    def numstat(self, old: str, new: str) -> list[tuple[str, int, int]]:
        """(path, added, removed), -1 for binary, as git counts them."""
        rows = self.run("diff-tree", "-r", "-z", "--numstat", "--no-renames", old, new).decode()
        found = []
        for row in filter(None, rows.split("\0")):
            added, removed, path = row.split("\t", 2)
            found.append((path, *(-1 if n == "-" else int(n) for n in (added, removed))))
        return found  # type: ignore[return-value]

    def commit(self, tree: str, *parents: str) -> str:
        given = [part for parent in parents for part in ("-p", parent)]
        return self.text("commit-tree", tree, *given, "-m", "made")


__all__ = ["EMPTY", "File", "Git"]
