"""Publish: the testified tree, and nothing else, as commit, ref, draft pull request, check run.

Order (design, sections 3 and 4): tree -> commit -> signed statement -> ref -> draft PR -> check
run -> sticky comment -> labels. Every external write is an intent, recorded before and after; an
unknown outcome is looked for and adopted. Each group of writes has a token of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.domain import report
from app.domain.contract import Contract
from app.domain.edit import Candidate
from app.domain.errors import Halt, IntegrityError, Missing, Reason, Refused
from app.domain.evidence import Result, Verdict
from app.domain.permissions import Phase
from app.domain.ports.views import PullView
from app.domain.ports.writer import GitHubWriter
from app.domain.pull_request_config import TEMPLATES
from app.domain.run import Publication, Run
from app.domain.state import Signal
from worker.desk.authority import require_repository, require_role
from worker.desk.content import change_set, require_base, wanted_as_draft
from worker.desk.evidence import certified, facts_of, shown, signed
from worker.desk.faults import guarded
from worker.desk.intents import Record, done, once
from worker.desk.kit import DONE, INCOMPLETE, DeskKit
from worker.desk.notices import relabel, sticky, tolerant
from worker.desk.withheld import let_go


@dataclass(frozen=True)
class _Work:
    """What is published: all of one run, checked to belong together."""

    run: Run
    contract: Contract
    candidate: Candidate
    verdict: Verdict
    branch: str


def publish(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends complete with every part of `Publication` read back, or `Halt`, `Park`."""

    def stage(run: Run) -> Run:
        work = _certified(run)
        wanted_as_draft(run)
        labels = _still_allowed(kit, work, begun=kit.hold.intent("branch") is not None)
        let_go(kit, run, work.verdict)
        published = Publication(work.branch, _git(kit, work))
        run = replace(run, publication=published)
        facts = facts_of(kit, run)
        pull = _pull(kit, replace(work, run=run), facts)
        published = replace(published, pull=pull.number, pull_url=pull.url, draft=pull.draft)
        run = replace(run, publication=published)
        published = replace(published, check_run=shown(kit, run, facts))
        complete = replace(run, publication=published).moved(Signal.DONE)
        return _told(kit, complete, labels, work.verdict)

    return guarded(stage)


def _certified(run: Run) -> _Work:
    """The run's parts; `IntegrityError` unless a verdict was recorded on that very tree."""
    contract, candidate, verdict = certified(run)
    return _Work(run, contract, candidate, verdict, run.branch)


def _still_allowed(kit: DeskKit, work: _Work, *, begun: bool) -> tuple[str, ...]:
    """Ask again, live, before anything is published; the issue's labels.

    Once the ref may exist (`begun`), what was begun is finished: half of it would help nobody.
    """
    run = work.run
    with kit.read(run) as reader:
        require_repository(reader, kit.owners)
        if not begun:
            require_base(reader, work.contract)
        try:
            issue = reader.issue(run.issue)
        except Missing:
            if not begun:
                raise _unwanted("is not there any more") from None
            return ()
        if not begun:
            require_role(run, reader)
            if issue.state != "open":
                raise _unwanted(f"is {issue.state}")
        return issue.labels


def _unwanted(why: str) -> Halt:
    return Halt(
        Reason.CANCELLED,
        f"The issue {why}, so nothing was published.",
        "Open it and set the label `agent:fix` for a new run.",
    )


def _git(kit: DeskKit, work: _Work) -> str:
    """The commit: objects, signed statement, then the one ref, each read back."""
    ready = done(kit.hold, "branch")
    if ready is not None:
        signed(kit, work.run, str(ready["commit"]))
        return str(ready["commit"])
    with kit.write(work.run, Phase.GIT) as writer:
        record = once(
            kit.hold,
            "commit",
            {"tree": work.candidate.tree},
            lambda: _committed(kit, work, writer),
            lambda: None,  # an orphan commit of an earlier attempt harms nobody
        )
        signed(kit, work.run, str(record["commit"]))
        branch = once(
            kit.hold,
            "branch",
            {"branch": work.branch, "commit": record["commit"]},
            lambda: _branched(writer, work.branch, str(record["commit"])),
            lambda: _adopted(writer, work, str(record["commit"])),
        )
        commit = str(branch["commit"])
        if writer.commit_view(commit).tree != work.verdict.tree:
            raise IntegrityError(
                f"The branch {work.branch} does not show the tree {work.verdict.tree} that was "
                "checked; no pull request was opened."
            )
    if commit != record["commit"]:  # an adopted commit gets a statement of its own
        signed(kit, work.run, commit)
    return commit


def _committed(kit: DeskKit, work: _Work, writer: GitHubWriter) -> Record:
    base = writer.commit_view(work.contract.base_commit).tree
    writer.tree(base, change_set(kit, work.candidate), work.candidate.tree)
    message = report.commit_message(work.run)
    commit, verified = writer.commit(message, work.candidate.tree, work.contract.base_commit)
    return {"commit": commit, "verified": verified}


def _branched(writer: GitHubWriter, branch: str, commit: str) -> Record:
    writer.create_branch(branch, commit)
    return {"commit": commit}


def _adopted(writer: GitHubWriter, work: _Work, commit: str) -> Record | None:
    """The branch as an earlier attempt of this run left it; foreign work is never touched."""
    found = writer.find_branch(work.branch)
    if found is None:
        return None
    view = writer.commit_view(found)
    trailer = f"Agent-Run: {work.run.id}"
    ours = (
        view.tree == work.candidate.tree
        and view.parents == (work.contract.base_commit,)
        and trailer in view.message.splitlines()
    )
    if found != commit and not ours:
        raise Refused(
            f"The branch {work.branch} exists already and holds {_whose(view.message)} ({found}); "
            "it was left as it is. Somebody deletes or renames it first",
            422,
        )
    return {"commit": found}


def _whose(message: str) -> str:
    ours = [line for line in message.splitlines() if line.startswith("Agent-Run: ")]
    return f"the commit of an earlier run ({ours[-1][:80]})" if ours else "other work"


def _pull(kit: DeskKit, work: _Work, facts: report.Facts) -> PullView:
    """The one pull request of this branch: opened as a draft, or adopted and brought up to date."""
    run = work.run
    if done(kit.hold, "pull") is None:
        _unmoved(kit, work)
    template = _template(kit, work)
    with kit.write(run, Phase.PULL) as writer:
        record = once(
            kit.hold,
            "pull",
            {"branch": work.branch},
            lambda: _opened(writer, work, facts, template),
            lambda: _found(writer, work),
        )
        view = writer.pull_view(int(record["number"]))
        if view.state != "open":
            raise Halt(
                Reason.CANCELLED,
                f"The pull request #{view.number} was {view.state} by somebody, and stays so.",
                "Set the label `agent:fix` on the issue for a new one.",
            )
        if view.head_sha != run.publication.commit:
            _uncertified(writer, run, view)
            raise IntegrityError(
                f"The pull request #{view.number} shows {view.head_sha}, not the commit "
                f"{run.publication.commit} that was checked. Its title and body say so now; "
                f"somebody pushed to {view.head_ref}."
            )
        numbered = replace(
            run, publication=replace(run.publication, pull=view.number, pull_url=view.url)
        )
        body = report.merge_body(view.body, report.pull_body(numbered, facts))
        return (
            view if report.alike(body, view.body) else writer.update_pull(view.number, None, body)
        )


def _unmoved(kit: DeskKit, work: _Work) -> None:
    """Nothing is shown to people under evidence that speaks of another commit."""
    commit = work.run.publication.commit
    with kit.read(work.run) as reader:
        require_base(reader, work.contract)
        try:
            head = reader.branch(work.branch)
        except Missing as gone:
            raise Halt(
                Reason.CANCELLED,
                f"Somebody deleted the branch `{work.branch}`, so no pull request was opened.",
                "Set the label `agent:fix` on the issue for a new run.",
            ) from gone
    if head != commit and kit.hold.intent("pull") is None:
        raise IntegrityError(
            f"The branch {work.branch} shows {head}, not the commit {commit} that was checked: "
            "somebody pushed to it. No pull request was opened."
        )


def _uncertified(writer: GitHubWriter, run: Run, view: PullView) -> None:
    """Take our words about another commit back, title and body."""
    title, ours = report.uncertified(run, view.title, view.head_sha)
    writer.update_pull(view.number, title, report.merge_body(view.body, ours))


def _template(kit: DeskKit, work: _Work) -> str:
    """The repository's own template as it is at base, where the configuration wants it and the
    pull request is still to be opened."""
    if not work.contract.config.pull_request.template or done(kit.hold, "pull") is not None:
        return ""
    with kit.read(work.run) as reader:
        for path in TEMPLATES:
            found = reader.file(path, work.contract.base_commit)
            if found is not None:
                return report.template(found[0].decode("utf-8", "replace"))
    return ""


def _opened(writer: GitHubWriter, work: _Work, facts: report.Facts, template: str) -> Record:
    title, ours = report.pull_title(work.run), report.pull_body(work.run, facts)
    body = report.merge_body(template, ours)
    view = writer.open_pull(title, body, work.branch, work.contract.base_branch)
    return {"number": view.number, "url": view.url, "draft": view.draft}


def _found(writer: GitHubWriter, work: _Work) -> Record | None:
    view = writer.find_pull(work.branch)
    return None if view is None else {"number": view.number, "url": view.url, "draft": view.draft}


def _pull_labels(run: Run) -> tuple[str, ...]:
    return run.contract.config.pull_request.labels if run.contract else ()


def _told(kit: DeskKit, run: Run, labels: tuple[str, ...], verdict: Verdict) -> Run:
    """Sticky comment and labels, after everything that they speak of was read back."""
    label = DONE if verdict.result is Result.PASSED else INCOMPLETE
    with kit.write(run, Phase.STATUS) as writer:
        comment = sticky(kit.hold, writer, run, kit.now())
        tolerant(kit.hold, lambda: relabel(kit, writer, run, labels, label))
        wanted, pull = _pull_labels(run), run.publication.pull
        if wanted and pull:
            tolerant(kit.hold, lambda: writer.add_labels(pull, wanted))
    return replace(run, status_comment=comment or run.status_comment)
