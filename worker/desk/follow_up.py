"""The follow-up commit of a revision: made on the live head, the branch moved forward to it, once.

A branch that somebody moved meanwhile is never pushed over: it is found where it is now, and the
edits have to be judged on that head first.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.domain import report
from app.domain.contract import Contract
from app.domain.edit import Candidate
from app.domain.errors import IntegrityError, Missing, Refused
from app.domain.evidence import Verdict
from app.domain.permissions import Phase
from app.domain.ports.writer import GitHubWriter
from app.domain.run import Run
from worker.desk.content import change_set
from worker.desk.evidence import signed
from worker.desk.intents import Record, done, once
from worker.desk.kit import DeskKit

NO_FORWARD = "fast forward"  # GitHub's words for a branch that went another way
FAR = 100  # commits that are looked through for ours below a head


@dataclass(frozen=True)
class Pushed:
    """`commit` is ours, read back, "" where the branch went another way; `head` is where the branch
    is by then."""

    commit: str
    head: str


def key_of(run: Run, what: str) -> str:
    """The intent's name: each head that the edits were judged on has a write of its own."""
    return f"{what}:{len(run.heads)}"


def begun(kit: DeskKit, run: Run) -> bool:
    """Whether the branch may have been moved already by an earlier attempt."""
    return kit.hold.intent(key_of(run, "branch")) is not None


def pushed(
    kit: DeskKit, run: Run, contract: Contract, candidate: Candidate, verdict: Verdict
) -> Pushed:
    """Objects, signed statements, then the ref, each read back; an unknown outcome is looked for
    and adopted. Raises `IntegrityError` and what GitHub's adapter raises."""
    ready = done(kit.hold, key_of(run, "branch"))
    if ready is not None:
        return _told(kit, run, ready)
    branch, onto = run.publication.branch, run.onto
    with kit.write(run, Phase.GIT) as writer:
        made = once(
            kit.hold,
            key_of(run, "commit"),
            {"tree": candidate.tree, "parent": onto},
            lambda: _committed(kit, run, candidate, writer),
            lambda: None,  # an orphan commit of an earlier attempt harms nobody
        )
        commit = str(made["commit"])
        signed(kit, run, commit)
        record = once(
            kit.hold,
            key_of(run, "branch"),
            {"branch": branch, "commit": commit, "onto": onto},
            lambda: _moved(writer, branch, commit, onto),
            lambda: _found(writer, branch, commit, onto),
        )
        if record["commit"] and writer.commit_view(commit).tree != verdict.tree:
            raise IntegrityError(f"The commit {commit} does not show the tree that was checked.")
    return _told(kit, run, record)


def _told(kit: DeskKit, run: Run, record: Record) -> Pushed:
    commit = str(record["commit"])
    if commit:
        signed(kit, run, commit)
    return Pushed(commit, str(record["head"]))


def _committed(kit: DeskKit, run: Run, candidate: Candidate, writer: GitHubWriter) -> Record:
    below = writer.commit_view(run.onto).tree
    if run.snapshot is None or below != run.snapshot.start:
        raise IntegrityError(f"The head {run.onto} has the tree {below}, not the one worked on.")
    writer.tree(below, change_set(kit, candidate), candidate.tree)
    commit, verified = writer.commit(report.commit_message(run), candidate.tree, run.onto)
    return {"commit": commit, "verified": verified}


def _moved(writer: GitHubWriter, branch: str, commit: str, onto: str) -> Record:
    """The branch moved forward to our commit; where it went another way, where it is."""
    try:
        return {"commit": commit, "head": writer.advance_branch(branch, commit, onto)}
    except Refused as no:
        if NO_FORWARD not in str(no).lower():
            raise
        record = _found(writer, branch, commit, onto)
        if record is None:
            raise
        return record


def _found(writer: GitHubWriter, branch: str, commit: str, onto: str) -> Record | None:
    """What an earlier attempt left: our commit on the branch or below its head, None where the
    branch is as before, else the head that somebody else pushed."""
    head = writer.find_branch(branch)
    if head is None:
        raise Missing(f"The branch {branch} is not there any more", 404)
    if head == onto:
        return None
    at = [head]
    for _ in range(FAR):
        if commit in at:
            return {"commit": commit, "head": head}
        if not at or onto in at:
            break
        at = [parent for one in at for parent in writer.commit_view(one).parents][:8]
    return {"commit": "", "head": head}
