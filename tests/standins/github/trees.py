"""Build the tree of POST git/trees: base tree plus entries, with GitHub's refusals."""

from __future__ import annotations

from typing import Any

import pygit2
from pygit2.enums import FileMode

from tests.standins.github.git_store import HEX, GitStore
from tests.standins.github.refusals import Refusal, invalid

Json = dict[str, Any]
MODES = {
    "100644": (FileMode.BLOB, "blob"),
    "100755": (FileMode.BLOB_EXECUTABLE, "blob"),
    "120000": (FileMode.LINK, "blob"),
    "040000": (FileMode.TREE, "tree"),
    "160000": (FileMode.COMMIT, "commit"),
}
BAD_STATE = "GitRPC::BadObjectState"


def build(store: GitStore, base: str | None, entries: object) -> str:
    """The id of the new tree. Raises Refusal (422, 404 for an unknown base)."""
    if not isinstance(entries, list) or not entries:
        raise invalid("Invalid tree info")
    index = pygit2.Index()
    if base is not None:
        tree = store.object(base)
        if isinstance(tree, pygit2.Commit):
            tree = tree.tree
        if not isinstance(tree, pygit2.Tree):
            raise Refusal(422, "base_tree is not a valid tree oid")
        index.read_tree(tree)
    for entry in entries:
        if not isinstance(entry, dict):
            raise invalid("Invalid tree info")
        _apply(store, index, entry)
    try:
        return str(index.write_tree(store.git))
    except (pygit2.GitError, ValueError, OSError) as error:
        raise invalid(BAD_STATE) from error


def _apply(store: GitStore, index: pygit2.Index, entry: Json) -> None:
    path = _path(entry.get("path"))
    if "sha" in entry and entry["sha"] is None:
        _delete(index, path)
        return
    mode = entry.get("mode")
    if not isinstance(mode, str) or mode not in MODES:
        raise invalid("Must supply a valid tree.mode")
    filemode, kind = MODES[mode]
    if entry.get("type") not in (None, kind):
        raise invalid(f"tree.type does not match the mode {mode} of {path}")
    sha, content = entry.get("sha"), entry.get("content")
    if (sha is None) == (content is None):
        raise invalid("Must supply either tree.sha or tree.content")
    if content is not None:
        if not isinstance(content, str) or kind != "blob":
            raise invalid("tree.content must be a string")
        sha = store.add_blob(content.encode())
    if not isinstance(sha, str) or not _exists(store, sha, kind):
        raise invalid(f"tree.sha {sha} is not a valid {kind}")
    if kind == "tree":
        _graft(store, index, path, sha)
    else:
        _add(index, path, sha, filemode)


def _path(path: object) -> str:
    if not isinstance(path, str) or not path:
        raise invalid("tree.path is missing")
    parts = path.split("/")
    if any(p in ("", ".", "..") or p.lower() == ".git" or "\0" in p for p in parts):
        raise invalid("tree.path contains a malformed path component")
    return path


def _exists(store: GitStore, sha: str, kind: str) -> bool:
    if not HEX.match(sha):
        return False
    if kind == "commit":
        return True
    return isinstance(store.object(sha), pygit2.Blob if kind == "blob" else pygit2.Tree)


def _below(index: pygit2.Index, path: str) -> list[str]:
    return [item.path for item in index if item.path == path or item.path.startswith(f"{path}/")]


def _delete(index: pygit2.Index, path: str) -> None:
    doomed = _below(index, path)
    if not doomed:
        raise invalid(BAD_STATE)
    for name in doomed:
        index.remove(name)


def _graft(store: GitStore, index: pygit2.Index, path: str, sha: str) -> None:
    for name in _below(index, path):
        index.remove(name)
    tree = store.object(sha)
    if not isinstance(tree, pygit2.Tree):
        raise invalid(BAD_STATE)
    for item in store.entries(tree, f"{path}/", deep=True):
        if item.type != "tree":
            _add(index, item.path, item.sha, MODES[item.mode][0])


def _add(index: pygit2.Index, path: str, sha: str, mode: FileMode) -> None:
    try:
        index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=sha), mode))
    except (pygit2.GitError, ValueError, OSError) as error:
        raise invalid("tree.path contains a malformed path component") from error
