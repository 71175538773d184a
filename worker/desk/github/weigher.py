"""Live reads about an approval: `ports.ApprovalReader` and `ports.CiReader` over the REST API."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from app.domain.event import Person
from app.domain.ports.approval import CheckView, Compared, Vote, WeighedCommit
from app.domain.ports.ci import FailedReport, Report
from app.domain.ports.views import PullView
from worker.desk.github import answers
from worker.desk.github.http import Client
from worker.desk.github.reader import Reader

STATES = {"success": "success", "pending": ""}  # of commit statuses; all else is a failure
GREEN = frozenset({"success", "neutral", "skipped"})
LOOKED_INTO = 10  # failed check runs whose annotations are read
ANNOTATIONS = 30  # of one
FILES = 300  # that GitHub names in a comparison; a longer list is cut without a word


class Weigher(Reader):
    """Reads through a client of the phase `weigh`, or `reports`; `app` is our App's id."""

    def __init__(self, client: Client, app: str) -> None:
        super().__init__(client)
        self._app = app

    def votes(self, pull: int) -> tuple[Vote, ...]:
        """Every review that was submitted; one that its author still writes has no time."""
        found = self._client.pages("reviews", {}, number=pull)
        shown = [one for one in found if isinstance(answers.part(one, "submitted_at"), str)]
        return tuple(
            Vote(
                id=answers.number(one, "id"),
                by=answers.person(answers.part(one, "user")),
                state=answers.text(one, "state").upper(),
                commit=str(answers.part(one, "commit_id") or ""),
                at=answers.text(one, "submitted_at"),
            )
            for one in shown
        )

    def weighed_commits(self, pull: int) -> tuple[WeighedCommit, ...]:
        """The commits of a pull request, oldest first."""
        return tuple(
            WeighedCommit(
                sha=answers.text(one, "sha"),
                message=answers.text(one, "commit", "message"),
                author=_account(answers.part(one, "author")),
                committer=_account(answers.part(one, "committer")),
                verified=answers.flag(one, "commit", "verification", "verified"),
            )
            for one in self._client.pages("pull_commits", {}, number=pull)
        )

    def compared(self, base: str, head: str) -> Compared:
        """What `head` changed since it parted from `base`; the first page names the files."""
        ask = {"per_page": 1, "page": 1}
        data = self._client.call("compare", ask=ask, base=base, head=head).data
        files = answers.items(data, "files")
        paths = {answers.text(one, "filename") for one in files}
        paths |= {
            old for one in files if isinstance(old := answers.part(one, "previous_filename"), str)
        }
        parted = answers.text(data, "merge_base_commit", "sha")
        return Compared(parted, frozenset(paths), len(files) < FILES)

    def checks(self, commit: str, name: str) -> tuple[CheckView, ...]:
        """Our App's check runs of that name on a commit, the newest first."""
        found = [
            one
            for one in self._client.pages(
                "check_runs", {"check_name": name}, "check_runs", sha=commit
            )
            if answers.part(one, "name") == name and self._made(one)
        ]
        views = [
            CheckView(
                id=answers.number(one, "id"),
                external_id=str(answers.part(one, "external_id") or ""),
                status=answers.text(one, "status"),
                conclusion=str(answers.part(one, "conclusion") or ""),
                summary=str(answers.part(one, "output", "summary") or ""),
                since=str(
                    answers.part(one, "started_at") or answers.part(one, "completed_at") or ""
                ),
            )
            for one in found
        ]
        return tuple(sorted(views, key=lambda one: -one.id))

    def required_checks(self, branch: str) -> frozenset[str]:
        """What active rulesets ask for; what a classic branch protection asks for is not there."""
        return frozenset(
            answers.text(one, "context")
            for rule in self._client.pages("branch_rules", {}, branch=branch)
            if answers.part(rule, "type") == "required_status_checks"
            for one in answers.items(rule, "parameters", "required_status_checks")
        )

    def reports(self, commit: str) -> tuple[Report, ...]:
        """What check runs of other apps and commit statuses say, the newest of each."""
        runs = self._client.pages("check_runs", {}, "check_runs", sha=commit)
        found = [
            Report(answers.text(one, "name"), _said(one)) for one in runs if not self._made(one)
        ]
        statuses = self._client.pages("commit_status", {}, "statuses", sha=commit)
        found += [
            Report(answers.text(one, "context"), STATES.get(answers.text(one, "state"), "failure"))
            for one in statuses
        ]
        return tuple(found)

    def failed(self, commit: str, names: Collection[str]) -> tuple[FailedReport, ...]:
        """What those of the reports say that have one of these names and are red."""
        runs = self._client.pages("check_runs", {}, "check_runs", sha=commit)
        red = [
            one
            for one in runs
            if answers.part(one, "name") in names and _red(_said(one)) and not self._made(one)
        ]
        found = [self._failed_run(one) for one in red[:LOOKED_INTO]]
        for one in self._client.pages("commit_status", {}, "statuses", sha=commit):
            state = STATES.get(answers.text(one, "state"), "failure")
            if answers.part(one, "context") in names and _red(state):
                words = str(answers.part(one, "description") or "")
                found.append(FailedReport(answers.text(one, "context"), state, words))
        return tuple(found)

    def _failed_run(self, one: Any) -> FailedReport:
        """A check run with its output and its first page of annotations."""
        shown = [str(answers.part(one, "output", part) or "") for part in ("summary", "text")]
        notes: tuple[str, ...] = ()
        if answers.part(one, "output", "annotations_count"):
            ask = {"per_page": ANNOTATIONS, "page": 1}
            number = answers.number(one, "id")
            data = self._client.call("annotations", ask=ask, check_run=number).data
            notes = tuple(map(_note, data if isinstance(data, list) else ()))
        return FailedReport(
            name=answers.text(one, "name"),
            conclusion=_said(one),
            title=str(answers.part(one, "output", "title") or ""),
            text="\n\n".join(part for part in shown if part),
            notes=notes,
        )

    def pulls_with(self, commit: str) -> tuple[PullView, ...]:
        """The pull requests that hold a commit."""
        return tuple(
            answers.pull_view(one) for one in self._client.pages("pulls_with", {}, sha=commit)
        )

    def _made(self, one: Any) -> bool:
        app = answers.part(one, "app")
        return self._app in (str(answers.part(app, "id")), answers.part(app, "client_id"))


def _said(run: Any) -> str:
    """The conclusion of a check run, "" while it has none."""
    done = answers.text(run, "status") == "completed"
    return str(answers.part(run, "conclusion") or "failure") if done else ""


def _red(conclusion: str) -> bool:
    return bool(conclusion) and conclusion not in GREEN


def _note(data: Any) -> str:
    """`path:line: words` of one annotation."""
    place = f"{answers.part(data, 'path') or '?'}:{answers.part(data, 'start_line') or '?'}"
    title = str(answers.part(data, "title") or "")
    message = str(answers.part(data, "message") or "")
    return f"{place}: {title + ': ' if title else ''}{message}"


def _account(data: Any) -> Person | None:
    """The account that GitHub matched, None without one: an empty object counts as none."""
    known = isinstance(data, dict) and type(answers.part(data, "id")) is int
    return answers.person(data) if known else None
