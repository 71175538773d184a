"""The only code that writes to GitHub: `ports.GitHubWriter`, each write read back and compared.

A write whose answer was lost is looked for before anything is sent again: blobs, trees and commits
are named by their content or harmless when twice; comments and check runs are found by their
marker; branch and pull request are found by name, and the caller decides whether they are ours.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from app.domain.branch import BRANCH
from app.domain.edit import EXECUTABLE, FILE, LINK
from app.domain.errors import (
    Exists,
    ForbiddenCall,
    IntegrityError,
    Missing,
    Refused,
    Uncertain,
)
from app.domain.permissions import MARK_READY
from app.domain.ports.views import CommitView, PullView
from app.domain.ports.writer import FileWrite
from app.domain.ready import WITHOUT_DRAFTS
from app.domain.redact import Redactor
from app.domain.report_annotations import Annotation
from worker.desk.github import answers
from worker.desk.github.http import Client
from worker.desk.github.reader import blob_id

T = TypeVar("T")
LOOKS = (0.5, 1.0, 2.0)  # seconds before each look for a write whose answer was lost
NO_DRAFTS = "draft pull requests are not supported"
INSTEAD_OF_DRAFT = (
    "> This repository does not offer draft pull requests, so this one is open. "
    "It is not ready for review.\n\n"
)
MODES = {FILE: "100644", EXECUTABLE: "100755", LINK: "120000"}
SHAPES = Redactor()  # knows secrets by their shape alone
ANNOTATIONS = 50  # in one call
LABEL_COLOR = "5319e7"


class Publisher:
    """Writes through one client; `app` is our App's id, by which our own things are known.

    Text for people goes through `redact`, the last look before it leaves; file contents do not,
    since the published tree is the checked tree.
    """

    def __init__(
        self, client: Client, app: str, redact: Callable[[str], str] = SHAPES.redact
    ) -> None:
        self._client = client
        self._app = app
        self._redact = redact

    # -- objects and the ref ----------------------------------------------------------------------

    def tree(self, base_tree: str, files: Sequence[FileWrite], expected: str) -> None:
        """Create the tree `expected` from `base_tree` and `files`. Raises `IntegrityError`."""
        entries = [self._entry(one) for one in files]
        body = {"base_tree": base_tree, "tree": entries}
        data = self._twice(lambda: self._client.call("create_tree", body=body)).data
        _same("tree", answers.text(data, "sha"), expected)

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
            _same("commit's tree", one.tree, tree)
            _same("commit's parents", ",".join(one.parents), ",".join(parents))
        return view.sha, view.verified

    def commit_view(self, commit: str) -> CommitView:
        """A commit as GitHub has it now."""
        data = self._client.call("read_commit", sha=commit, settle=True).data
        view = answers.commit_view(data)
        _same("commit", view.sha, commit)
        return view

    def create_branch(self, branch: str, commit: str) -> None:
        """The branch at `commit`, only if there is none. Raises `Exists`, never moves one."""
        self._ours(branch)
        body = {"ref": f"refs/heads/{branch}", "sha": commit}
        data = self._client.call("create_ref", body=body).data
        _same("new ref", answers.text(data, "ref"), f"refs/heads/{branch}")
        _same("new ref's commit", answers.text(data, "object", "sha"), commit)
        back = self._client.call("ref", branch=branch, settle=True).data
        _same("ref's commit", answers.text(back, "object", "sha"), commit)

    def advance_branch(self, branch: str, commit: str, old: str) -> str:
        """Move our branch forward from `old` to `commit`; where it is when read back, which is
        another commit where somebody pushed at once. Raises `Refused`; nothing is ever forced."""
        self._ours(branch)
        data = self._client.call("move_ref", body={"sha": commit}, branch=branch).data
        _same("moved ref", answers.text(data, "ref"), f"refs/heads/{branch}")
        _same("moved ref's commit", answers.text(data, "object", "sha"), commit)
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

    # -- the pull request -------------------------------------------------------------------------

    def open_pull(self, title: str, body: str, branch: str, base: str) -> PullView:
        """A draft pull request from our branch; where drafts do not exist, an open one that says
        so. Raises `Exists` when there is one for this branch."""
        title, body = self._redact(title), self._redact(body)
        sent: dict[str, Any] = {
            "title": title,
            "body": body,
            "head": branch,
            "base": base,
            "draft": True,
        }
        draft = True
        try:
            data = self._client.call("create_pull", body=sent).data
        except Refused as refusal:
            if isinstance(refusal, Exists) or NO_DRAFTS not in str(refusal).lower():
                raise
            draft = False
            plain = {
                "title": f"{WITHOUT_DRAFTS}{title}",
                "body": INSTEAD_OF_DRAFT + body,
                "draft": draft,
            }
            sent.update(plain)
            data = self._client.call("create_pull", body=sent).data
        view = self.pull_view(answers.pull_view(data).number)
        _same("pull request's head", view.head_ref, branch)
        _same("pull request's repository", view.head_repository, self._client.repository.id)
        _same("pull request's base", view.base_ref, base)
        _same("pull request's draft state", view.draft, draft)
        return view

    def find_pull(self, branch: str) -> PullView | None:
        """The pull request of our branch: an open one first, else the newest; None without."""
        self._ours(branch)
        ask = {"head": f"{self._client.repository.owner}:{branch}", "state": "all"}
        found = [answers.pull_view(one) for one in self._client.pages("pulls", ask)]
        own = [
            one
            for one in found
            if one.head_ref == branch and one.head_repository == self._client.repository.id
        ]
        return max(own, key=lambda one: (one.state == "open", one.number), default=None)

    def pull_view(self, number: int) -> PullView:
        """A pull request as GitHub has it now."""
        view = answers.pull_view(self._client.call("pull", number=number, settle=True).data)
        _same("pull request", view.number, number)
        return view

    def pull_at(self, number: int, commit: str) -> PullView:
        """The pull request once it shows `commit`: GitHub lets it follow its branch a little later.
        As it is then, where that takes longer or somebody pushed."""
        view = self.pull_view(number)
        for pause in LOOKS:
            if view.head_sha == commit:
                break
            self._client.settle(pause)
            view = self.pull_view(number)
        return view

    def update_pull(self, number: int, title: str | None, body: str | None) -> PullView:
        """Set what is not None; the answer is what GitHub has then."""
        parts = (("title", title), ("body", body))
        sent = {key: self._redact(value) for key, value in parts if value}
        data = self._twice(lambda: self._client.call("update_pull", body=sent, number=number)).data
        view = answers.pull_view(data)
        _same("pull request", view.number, number)
        return view

    def mark_ready(self, number: int, head: str) -> PullView:
        """Our open draft at `head` made ready for review, looked at just before and after. One that
        is no draft, or has moved on, is left as it is."""
        view = self.pull_view(number)
        ours = (self._client.branch, self._client.repository.id)
        if (view.head_ref, view.head_repository) != ours:
            raise ForbiddenCall(f"#{number} is not the pull request of {self._client.branch}")
        if not view.draft or view.state != "open" or view.head_sha != head:
            return view
        body = {"query": MARK_READY, "variables": {"id": view.node}}
        lost: Uncertain | None = None
        try:
            answers.mutated(self._client.call("mark_ready", body=body).data)
        except Uncertain as uncertain:
            lost = uncertain
        for pause in LOOKS:
            view = self.pull_view(number)
            if not view.draft:
                return view
            self._client.settle(pause)
        if lost is not None:
            raise lost
        raise Uncertain(f"GitHub made #{number} ready and still shows a draft.")

    def request_review(self, number: int, logins: Sequence[str], teams: Sequence[str]) -> PullView:
        """A review asked of people and teams; whoever was asked already is not asked twice."""
        sent = {"reviewers": list(logins), "team_reviewers": list(teams)}
        body = {key: names for key, names in sent.items() if names}
        data = self._twice(
            lambda: self._client.call("request_review", body=body, number=number)
        ).data
        view = answers.pull_view(data)
        _same("pull request", view.number, number)
        return view

    # -- evidence and conversation ----------------------------------------------------------------

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
        """One completed check run for `external_id` on `head`; an earlier one is brought up to
        date instead of making another. Annotations are only ever added by GitHub, so those that
        it has already are not sent again."""
        shown = {"title": title, "summary": summary, **({"text": text} if text else {})}
        output: dict[str, Any] = {key: self._redact(value) for key, value in shown.items()}
        state = {"status": "completed", "conclusion": conclusion, "output": output}

        def find() -> int | None:
            runs = self._client.pages("check_runs", {"check_name": name}, "check_runs", sha=head)
            for one in runs:
                same = answers.part(one, "external_id") == external_id
                if same and answers.part(one, "name") == name and self._made(one, "app"):
                    return answers.number(one, "id")
            return None

        found = find()
        if found is None:
            body = {"name": name, "head_sha": head, "external_id": external_id, **state}
            data = self._looking(lambda: self._client.call("create_check", body=body).data, find)
            if isinstance(data, int):
                found = data
        if found is not None:
            known = found
            data = self._twice(
                lambda: self._client.call("update_check", body=state, check_run=known)
            ).data
        _same("check run's commit", answers.text(data, "head_sha"), head)
        _same("check run's conclusion", answers.part(data, "conclusion"), conclusion)
        return self._annotated(data, {"title": title, "summary": summary}, annotations)

    def _annotated(
        self, data: Any, output: Mapping[str, str], annotations: Sequence[Annotation]
    ) -> int:
        """Add what the check run does not show yet, in pieces as GitHub takes them; its id."""
        check_run = answers.number(data, "id")
        while (there := _count(data)) < len(annotations):
            piece = [_annotation(one) for one in annotations[there : there + ANNOTATIONS]]
            body = {"output": {**output, "annotations": piece}}
            # Not sent twice: a lost answer leaves some missing, never any doubled.
            data = self._client.call("update_check", body=body, check_run=check_run).data
            if _count(data) <= there:
                break  # GitHub took them without counting: better too few than without end
        return check_run

    def comment(
        self, issue: int, body: str, marker: str, known: int = 0, *, keep: bool = False
    ) -> int:
        """One comment with `marker` on an issue: the known one, else the one that carries the
        marker, is edited, or left as it is with `keep`; else it is created. A locked issue is a
        `Refused`."""
        body = self._redact(body)
        if marker not in body:
            raise ForbiddenCall("A comment without its marker could not be found again")
        if known:
            try:
                return self._edited(known, body)
            except Missing:
                pass  # somebody deleted it: look for it, or write a new one
        found = self._marked(issue, marker)
        if found is None:
            made = self._looking(
                lambda: self._client.call("create_comment", body={"body": body}, number=issue).data,
                lambda: self._marked(issue, marker),
            )
            return answers.number(made, "id") if isinstance(made, dict) else _first(made)
        number, text = found
        return number if keep or text == body else self._edited(number, body)

    def own_comments(self, issue: int) -> list[str]:
        """The texts of our App's own comments on an issue, oldest first."""
        texts = (
            answers.part(one, "body")
            for one in self._client.pages("comments", {}, number=issue)
            if self._made(one)
        )
        return [text for text in texts if isinstance(text, str)]

    def reply(self, pull: int, comment: int, body: str, marker: str) -> int:
        """One reply with `marker` in a thread; one that is there already is found by it."""
        body = self._redact(body)
        if marker not in body:
            raise ForbiddenCall("A reply without its marker could not be found again")
        found = self._replied(pull, marker)
        if found is not None:
            return found
        made = self._looking(
            lambda: (
                self._client.call("reply", body={"body": body}, number=pull, comment=comment).data
            ),
            lambda: self._replied(pull, marker),
        )
        return answers.number(made, "id") if isinstance(made, dict) else int(made)

    def _replied(self, pull: int, marker: str) -> int | None:
        """Our own comment on the diff that carries `marker`. GitHub does not say there which App
        wrote it, so that the author has to be a bot."""
        for one in self._client.pages("inline_comments", {}, number=pull):
            body = answers.part(one, "body")
            bot = answers.part(one, "user", "type") == "Bot"
            if isinstance(body, str) and marker in body and bot:
                return answers.number(one, "id")
        return None

    def add_labels(self, issue: int, labels: Sequence[str]) -> None:
        """Put labels on an issue; one that the repository does not know is created first."""
        body = {"labels": list(labels)}
        try:
            self._twice(lambda: self._client.call("add_labels", body=body, number=issue))
        except Refused as refusal:
            if refusal.status not in (404, 422):
                raise
            for name in labels:
                self._known_label(name)
            self._twice(lambda: self._client.call("add_labels", body=body, number=issue))

    def remove_label(self, issue: int, label: str) -> None:
        """Take a label off; one that is not there is off already."""
        try:
            self._twice(lambda: self._client.call("remove_label", number=issue, label=label))
        except Missing:
            return

    def react(self, issue: int, content: str) -> None:
        """A reaction; GitHub keeps one of a kind for each account."""
        body = {"content": content}
        self._twice(lambda: self._client.call("react", body=body, number=issue))

    def react_comment(self, comment: int, content: str, *, inline: bool = False) -> None:
        """A reaction to a comment of a conversation, or to an inline one of a review."""
        name = "react_inline" if inline else "react_comment"
        body = {"content": content}
        self._twice(lambda: self._client.call(name, body=body, comment=comment))

    # -- how ---------------------------------------------------------------------------------------

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
        _same(f"blob of {one.path!r}", answers.text(data, "sha"), blob_id(one.data))
        return {**entry, "sha": blob_id(one.data)}

    def _twice(self, send: Callable[[], T]) -> T:
        """A write that may happen twice without harm, sent once more when its answer was lost."""
        try:
            return send()
        except Uncertain:
            self._client.settle(LOOKS[0])
            return send()

    def _looking(self, send: Callable[[], Any], find: Callable[[], T | None]) -> Any | T:
        """A write that must not happen twice: when its answer was lost, look for its effect."""
        try:
            return send()
        except Uncertain:
            for pause in LOOKS:
                self._client.settle(pause)
                found = find()
                if found is not None:
                    return found
            raise

    def _edited(self, comment: int, body: str) -> int:
        data = self._twice(
            lambda: self._client.call("update_comment", body={"body": body}, comment=comment)
        ).data
        _same("comment", answers.number(data, "id"), comment)
        return comment

    def _marked(self, issue: int, marker: str) -> tuple[int, str] | None:
        """Our own comment that carries `marker`, through all pages; the oldest one."""
        for one in self._client.pages("comments", {}, number=issue):
            body = answers.part(one, "body")
            if isinstance(body, str) and marker in body and self._made(one):
                return answers.number(one, "id"), body
        return None

    def _made(self, one: Mapping[str, Any], key: str = "performed_via_github_app") -> bool:
        """Whether our App made it; never decided by a login's spelling."""
        app = answers.part(one, key)
        return self._app in (str(answers.part(app, "id")), answers.part(app, "client_id"))

    def _known_label(self, name: str) -> None:
        body = {"name": name, "color": LABEL_COLOR, "description": "Set by Patchwarrant"}
        try:
            self._twice(lambda: self._client.call("create_label", body=body))
        except Exists:
            return

    def _ours(self, branch: str) -> None:
        if branch != self._client.branch or not BRANCH.fullmatch(branch):
            raise ForbiddenCall(f"{branch!r} is not the branch that this run is bound to")


def _annotation(one: Annotation) -> dict[str, Any]:
    return {
        "path": one.path,
        "start_line": one.line,
        "end_line": one.line,
        "annotation_level": one.level,
        "title": one.title,
        "message": one.message,
    }


def _count(data: Any) -> int:
    """How many annotations a check run has, as GitHub counts them."""
    found = answers.part(answers.part(data, "output"), "annotations_count")
    return found if isinstance(found, int) else 0


def _inline(data: bytes) -> str | None:
    """The bytes as text for a tree's inline content, None where they need a blob of their own."""
    if not data or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _first(found: Any) -> int:
    number, _text = found
    return int(number)


def _same(what: str, given: object, expected: object) -> None:
    if given != expected:
        raise IntegrityError(
            f"The {what} that GitHub names is {given!r}, not {expected!r}; nothing more was sent"
        )
