"""What every publication rests on: the bytes by their hash, the base, the wish for a draft."""

from __future__ import annotations

import hashlib

from app.domain.contract import Contract
from app.domain.edit import Candidate
from app.domain.errors import Halt, IntegrityError, Missing, Reason
from app.domain.evidence import Result
from app.domain.ports.reader import GitHubReader
from app.domain.ports.writer import FileWrite
from app.domain.repo_config import OnStop
from app.domain.run import Run
from worker.desk.kit import DeskKit


def wanted_as_draft(run: Run) -> None:
    """Partial work becomes a draft only where the repository's configuration wants that. Raises
    `Halt` with the run's own reason, else `MERGE_GATE`."""
    verdict, on_stop = run.verdict, run.contract.config.on_stop if run.contract else OnStop.DRAFT
    if on_stop is OnStop.DRAFT or (verdict is not None and verdict.result is Result.PASSED):
        return
    raise Halt(
        run.halt.reason if run.halt else Reason.MERGE_GATE,
        (verdict.wall if verdict else "") or "The required checks did not all pass.",
        f"`on_stop: {on_stop}` is configured, so nothing was pushed.",
    )


def require_base(reader: GitHubReader, contract: Contract) -> None:
    """A pull request needs its base branch, wherever that points by now."""
    try:
        reader.branch(contract.base_branch)
    except Missing as gone:
        raise Halt(
            Reason.BASE_LOST,
            f"The base branch `{contract.base_branch}` is not there any more.",
            "Bring it back or configure another `base`, then label the issue again.",
        ) from gone


def change_set(kit: DeskKit, candidate: Candidate) -> list[FileWrite]:
    """The bytes of every changed path, from the artifact store by their hash."""
    files = []
    for change in candidate.changes:
        data = kit.hold.get(change.blob) if change.blob else None
        if data is not None and hashlib.sha256(data).hexdigest() != change.blob:
            raise IntegrityError(f"The artifact of {change.path!r} is not what it is named after.")
        files.append(FileWrite(change.path, change.mode, data))
    return files
