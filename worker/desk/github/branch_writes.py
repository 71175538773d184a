"""Objects of git and the one branch: trees, commits, the ref."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from app.domain.branch import BRANCH
from app.domain.edit import EXECUTABLE, FILE, LINK
from app.domain.errors import ForbiddenCall, IntegrityError, Missing
from app.domain.ports.views import CommitView
from app.domain.ports.writer import FileWrite
from worker.desk.github import answers
from worker.desk.github.reader import blob_id
from worker.desk.github.writes import LOOKS, Writes, same

MODES = {FILE: "100644", EXECUTABLE: "100755", LINK: "120000"}


class BranchWrites(Writes):
    """Writes of objects and of the branch that the client is bound to."""

    def tree(self, base_tree: str, files: Sequence[FileWrite], expected: str) -> None:
        """Create the tree `expected` from `base_tree` and `files`. Raises `IntegrityError`."""
        entries = [self._entry(one) for one in files]
        body = {"base_tree": base_tree, "tree": entries}
        data = self._twice(lambda: self._client.call("create_tree", body=body)).data
        same("tree", answers.text(data, "sha"), expected)

    def commit(self, message: str, tree: str, *parents: str) -> tuple[str, bool]:
        """A commit without author override, so that GitHub can sign it; read back."""
        body = {"message": self._redact(message), "tree": tree, "parents": list(parents)}
        made = answers.commit_view(
            self._twice(lambda: self._client.call("create_commit", body=body)).data
        )
        try:
            view = self.commit_view(made.sha)
        except Missing as gone:
            raise IntegrityError(f"GitHub named a commit that is not there: {gone}") from gone
        for one in (made, view):
            same("commit's tree", one.tree, tree)
            same("commit's parents", ",".join(one.parents), ",".join(parents))
        return view.sha, view.verified

    def commit_view(self, commit: str) -> CommitView:
        """A commit as GitHub has it now."""
        data = self._client.call("read_commit", sha=commit, settle=True).data
        view = answers.commit_view(data)
        same("commit", view.sha, commit)
        return view

    def create_branch(self, branch: str, commit: str) -> None:
        """The branch at `commit`, only if there is none. Raises `Exists`, never moves one."""
        self._ours(branch)
        body = {"ref": f"refs/heads/{branch}", "sha": commit}
        data = self._client.call("create_ref", body=body).data
        same("new ref", answers.text(data, "ref"), f"refs/heads/{branch}")
        same("new ref's commit", answers.text(data, "object", "sha"), commit)
        back = self._client.call("ref", branch=branch, settle=True).data
        same("ref's commit", answers.text(back, "object", "sha"), commit)

    def advance_branch(self, branch: str, commit: str, old: str) -> str:
        """Move our branch forward from `old` to `commit`; where it is when read back, which is
        another commit where somebody pushed at once. Raises `Refused`; nothing is ever forced."""
        self._ours(branch)
        data = self._client.call("move_ref", body={"sha": commit}, branch=branch).data
        same("moved ref", answers.text(data, "ref"), f"refs/heads/{branch}")
        same("moved ref's commit", answers.text(data, "object", "sha"), commit)
        back = self.find_branch(branch)
        for pause in LOOKS:
            if back is not None and back != old:
                return back
            self._client.settle(pause)
            back = self.find_branch(branch)
        if back is None or back == old:
            raise IntegrityError(f"GitHub moved {branch} to {commit} and shows {back} afterwards")
        return back

    def find_branch(self, branch: str) -> str | None:
        """The commit that our branch points to, None where there is no such branch."""
        self._ours(branch)
        try:
            data = self._client.call("ref", branch=branch).data
        except Missing:
            return None
        if answers.text(data, "ref") != f"refs/heads/{branch}":
            return None
        return answers.text(data, "object", "sha")

    def _entry(self, one: FileWrite) -> dict[str, Any]:
        entry: dict[str, Any] = {"path": one.path, "mode": "100644", "type": "blob"}
        if one.data is None:
            return {**entry, "sha": None}
        if one.mode not in MODES:
            raise ForbiddenCall(f"{one.path!r} has the mode {one.mode:o}, which is never published")
        entry["mode"] = MODES[one.mode]
        inline = _inline(one.data)
        if inline is not None:
            return {**entry, "content": inline}
        body = {"content": base64.b64encode(one.data).decode(), "encoding": "base64"}
        data = self._twice(lambda: self._client.call("create_blob", body=body)).data
        same(f"blob of {one.path!r}", answers.text(data, "sha"), blob_id(one.data))
        return {**entry, "sha": blob_id(one.data)}

    def _ours(self, branch: str) -> None:
        if branch != self._client.branch or not BRANCH.fullmatch(branch):
            raise ForbiddenCall(f"{branch!r} is not the branch that this run is bound to")


def _inline(data: bytes) -> str | None:
    """The bytes as text for a tree's inline content, None where they need a blob of their own."""
    if not data or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
