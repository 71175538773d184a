"""The pull request of our branch: opened, brought up to date, made ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.domain.errors import Exists, ForbiddenCall, Refused, Uncertain
from app.domain.permissions import MARK_READY
from app.domain.ports.views import PullView
from app.domain.ready import WITHOUT_DRAFTS
from worker.desk.github import answers
from worker.desk.github.branch_writes import BranchWrites
from worker.desk.github.writes import LOOKS, same

NO_DRAFTS = "draft pull requests are not supported"
INSTEAD_OF_DRAFT = (
    "> This repository does not offer draft pull requests, so this one is open. "
    "It is not ready for review.\n\n"
)


class PullWrites(BranchWrites):
    """Writes of the branch and of its pull request."""

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
        same("pull request's head", view.head_ref, branch)
        same("pull request's repository", view.head_repository, self._client.repository.id)
        same("pull request's base", view.base_ref, base)
        same("pull request's draft state", view.draft, draft)
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
        same("pull request", view.number, number)
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
        same("pull request", view.number, number)
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
        same("pull request", view.number, number)
        return view
