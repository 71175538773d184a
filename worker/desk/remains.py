"""What a publishing run that stopped left on GitHub: from its records, else looked for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from app.domain.errors import Fault, Fenced, Halt
from app.domain.permissions import Phase
from app.domain.run import Publication, Run
from app.domain.state import Kind
from worker.desk.follow_up import key_of
from worker.desk.intents import Record, done
from worker.desk.kit import DeskKit

log = logging.getLogger(__name__)


def remains(kit: DeskKit) -> Callable[[Run], Run]:
    """The run with `Publication` as far as it came, so that its ending cannot deny what is there.

    A write that was sent and not confirmed is looked for. Where nobody can look, a branch without
    a commit means that it may be there. Foreign work under our name is not claimed.
    """

    def rebuilt(run: Run) -> Run:
        return replace(run, publication=_published(kit, run))

    return rebuilt


def of_update(kit: DeskKit) -> Callable[[Run], Run]:
    """The run with the merge's commit, where the branch shows it by now."""

    def rebuilt(run: Run) -> Run:
        if kit.hold.intent("branch") is None:
            return run
        branch = done(kit.hold, "branch") or _branch(kit, run, run.publication.branch)
        if branch is None:
            return run
        commit = str(branch["commit"])
        return replace(run, publication=replace(run.publication, commit=commit))

    return rebuilt


def _published(kit: DeskKit, run: Run) -> Publication:
    if run.kind is Kind.REVISE:
        return _pushed(kit, run)
    if kit.hold.intent("branch") is None:
        return run.publication
    name = run.branch
    branch = done(kit.hold, "branch") or _branch(kit, run, name)
    if branch is None:
        return run.publication
    there = Publication(branch=name, commit=str(branch["commit"]))
    pull = _pull(kit, run, name) if there.commit else None
    if pull is not None:
        there = replace(
            there,
            pull=int(pull["number"]),
            pull_url=str(pull["url"]),
            draft=bool(pull.get("draft", True)),
        )
    check = done(kit.hold, "check")
    return there if check is None else replace(there, check_run=int(check["id"]))


def _pushed(kit: DeskKit, run: Run) -> Publication:
    """The follow-up commit as recorded, else where the branch shows the very commit that was to be
    pushed."""
    asked = kit.hold.intent(key_of(run, "branch"))
    record = done(kit.hold, key_of(run, "branch"))
    if asked is not None and record is None:
        try:
            with kit.write(run, Phase.GIT) as writer:
                there = writer.find_branch(run.publication.branch)
        except Fenced:
            raise
        except (Fault, Halt) as unseen:
            log.info("run %s: its branch could not be looked for: %s", run.id, unseen)
            there = None
        record = asked if there == asked.get("commit") else None
    commit = str(record["commit"]) if record is not None else ""
    return replace(run.publication, commit=commit)


def _branch(kit: DeskKit, run: Run, name: str) -> Record | None:
    """The ref that was asked for: ours only if it shows the commit that we made."""
    made = done(kit.hold, "commit") or {}
    try:
        with kit.write(run, Phase.GIT) as writer:
            found = writer.find_branch(name)
    except Fenced:
        raise
    except (Fault, Halt) as unseen:
        log.info("run %s: its branch could not be looked for: %s", run.id, unseen)
        return {"commit": ""}
    return {"commit": found} if found is not None and found == made.get("commit") else None


def _pull(kit: DeskKit, run: Run, name: str) -> Record | None:
    """The pull request as recorded, else as GitHub knows it by our branch."""
    record = done(kit.hold, "pull")
    if record is not None or kit.hold.intent("pull") is None:
        return record
    try:
        with kit.write(run, Phase.PULL) as writer:
            view = writer.find_pull(name)
    except Fenced:
        raise
    except (Fault, Halt) as unseen:
        log.info("run %s: its pull request could not be looked for: %s", run.id, unseen)
        return None
    return None if view is None else {"number": view.number, "url": view.url, "draft": view.draft}
