"""A checked tree as a commit of ours on a Change's branch: its base merged in, with two parents,
or the head's own tree once more, without the words that hold the repository's workflows back."""

from __future__ import annotations

from app.domain import report_commit
from app.domain.contract import Contract
from app.domain.edit import Candidate
from app.domain.errors import Halt, IntegrityError, Missing, Reason, Refused
from app.domain.permissions import Phase
from app.domain.ports.writer import GitHubWriter
from app.domain.run import Run
from app.domain.state import Kind
from worker.desk.content import change_set
from worker.desk.evidence import signed
from worker.desk.intents import Record, done, once
from worker.desk.kit import DeskKit

NOT_FORWARD = "not a fast forward"
NO_WORKFLOWS = "create or update workflow"


def merged(kit: DeskKit, run: Run, contract: Contract, candidate: Candidate) -> str:
    """The commit's id: objects, commit, signed statements, then the ref, each read back.

    Raises `Halt(HEAD_MOVED)` where somebody pushed meanwhile and `Halt(WORKFLOW_FILES)` where
    GitHub does not let an App move a branch over changed workflow files; the branch is then as it
    was.
    """
    ready = done(kit.hold, "branch")
    if ready is not None:
        signed(kit, run, str(ready["commit"]))
        return str(ready["commit"])
    with kit.write(run, Phase.GIT) as writer:
        record = once(
            kit.hold,
            "commit",
            {"tree": candidate.tree},
            lambda: _committed(kit, run, contract, candidate, writer),
            lambda: _there(writer, run, contract, candidate),
        )
        commit = str(record["commit"])
        signed(kit, run, commit)
        once(
            kit.hold,
            "branch",
            {"branch": run.publication.branch, "commit": commit},
            lambda: _moved(writer, run, contract, commit),
            lambda: _adopted(kit, writer, run, commit),
        )
        if writer.commit_view(commit).tree != candidate.tree:
            raise IntegrityError(f"The commit {commit} does not show the tree that was checked.")
    return commit


def _committed(
    kit: DeskKit, run: Run, contract: Contract, candidate: Candidate, writer: GitHubWriter
) -> Record:
    if run.kind is Kind.UNHOLD:  # the tree is there already: it is the head's
        message = report_commit.unhold_message(run)
        commit, verified = writer.commit(message, candidate.tree, contract.head)
        return {"commit": commit, "verified": verified}
    base = writer.commit_view(contract.base_commit).tree
    writer.tree(base, change_set(kit, candidate), candidate.tree)
    message = report_commit.update_message(run)
    commit, verified = writer.commit(message, candidate.tree, contract.head, contract.base_commit)
    return {"commit": commit, "verified": verified}


def _there(
    writer: GitHubWriter, run: Run, contract: Contract, candidate: Candidate
) -> Record | None:
    """Our commit if the branch shows it already. A commit that no ref shows harms nobody."""
    found = writer.find_branch(run.publication.branch)
    if found is None or found == contract.head:
        return None
    view = writer.commit_view(found)
    ours = (
        view.tree == candidate.tree
        and view.parents == _parents(run, contract)
        and f"Agent-Run: {run.id}" in view.message.splitlines()
    )
    return {"commit": found, "verified": view.verified} if ours else None


def _parents(run: Run, contract: Contract) -> tuple[str, ...]:
    alone = run.kind is Kind.UNHOLD
    return (contract.head,) if alone else (contract.head, contract.base_commit)


def _moved(writer: GitHubWriter, run: Run, contract: Contract, commit: str) -> Record:
    branch = run.publication.branch
    there = writer.find_branch(branch)
    if there is None:
        raise Halt(
            Reason.CANCELLED,
            f"Somebody deleted the branch `{branch}`, so nothing was pushed. It is not made again.",
            "Bring the branch back, or label the issue for a new start.",
        )
    if there != contract.head:
        raise head_moved(contract.head)
    try:
        writer.advance_branch(branch, commit, contract.head)
    except Refused as refusal:
        said = str(refusal).lower()
        if NO_WORKFLOWS in said:
            raise _workflows(contract, refusal) from refusal
        if NOT_FORWARD in said:
            raise head_moved(contract.head) from refusal
        raise
    return {"commit": commit}


def _adopted(kit: DeskKit, writer: GitHubWriter, run: Run, commit: str) -> Record | None:
    """The branch if it shows our commit, or what somebody built upon it meanwhile."""
    found = writer.find_branch(run.publication.branch)
    if found is None or found == commit:
        return None if found is None else {"commit": commit}
    with kit.read(run) as reader:
        try:
            contained = reader.parting(commit, found)[0] == commit
        except Missing:
            contained = False
    return {"commit": commit} if contained else None


def head_moved(head: str) -> Halt:
    return Halt(
        Reason.HEAD_MOVED,
        f"Somebody pushed while {head[:12]} was being checked, so what was found out about it is "
        "about an outdated head and was dropped.",
        "What is there now is checked by itself.",
    )


def _workflows(contract: Contract, refusal: Refused) -> Halt:
    return Halt(
        Reason.WORKFLOW_FILES,
        f"`{contract.base_branch}` changed workflow files since, and GitHub lets no App without "
        f"the permission `workflows` put such a merge onto a branch: {refusal}",
        'Press GitHub\'s own "Update branch" button on the pull request, or merge '
        f"`{contract.base_branch}` yourself; what is there then is checked by itself.",
    )
