"""What every admission rests on: the operator's rules, the signed event, base and configuration."""

from __future__ import annotations

from app.domain import doctor
from app.domain.errors import Halt, Missing, Reason, Refused
from app.domain.event import Event
from app.domain.ports.reader import GitHubReader
from app.domain.record import Kept
from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig
from app.domain.run import Run
from app.domain.state import Kind
from worker.desk.authority import AGAIN, owner_refused
from worker.desk.kit import DeskKit


def by_our_rules(kit: DeskKit, run: Run) -> None:
    """What needs no request to anybody."""
    owner = run.repository.owner
    # A push needs nobody's leave to be looked at: that writes nothing but evidence.
    heard = run.requester.kind == "User" or run.requester.id in kit.bots
    if not heard and run.kind is not Kind.RECHECK:
        raise Halt(
            Reason.REFUSED_ROLE,
            f"{run.requester.login} is a {run.requester.kind.lower()}, and only people start runs.",
            "A person with write access sets the label `agent:fix`.",
        )
    if owner.casefold() not in kit.owners:
        raise owner_refused(owner)
    if kit.paused():
        raise Halt(
            Reason.REFUSED_PAUSED,
            "The operator has paused all work.",
            f"Wait until it is resumed. {AGAIN}",
        )


def by_its_rules(kit: DeskKit, run: Run, config: RepoConfig) -> None:
    """What the repository itself says about who may, and how often; never looser than ours."""
    person = run.requester
    pushed = run.kind is Kind.RECHECK  # looked at whoever did it
    if person.kind != "User" and person.id not in config.bots and not pushed:
        raise Halt(
            Reason.REFUSED_ROLE,
            f"The bot {person.login} ({person.id}) is not among `bots` in {CONFIG_PATH}.",
            f"Somebody with write access adds the id there, or sets the label. {AGAIN}",
        )
    full = kit.over_cap(run, config.caps) if config.caps else ""
    if config.caps and full:
        raise Halt(
            Reason.REFUSED_CAP,
            f"{CONFIG_PATH} allows {config.caps[full]} runs an hour for each {full}, and that many "
            "were begun.",
            f"Ask again later, or raise `caps.{full}` there. {AGAIN}",
        )


def settings_seen(kit: DeskKit, run: Run) -> None:
    """Keep for the evidence what the doctor says about the repository, once a run. A look that
    fails stops nothing."""
    if doctor.noted(kit.hold.entries()) is None:
        found = kit.settings_of(run)
        if found:
            kit.hold.note(Kept.NOTE, {doctor.NOTE: dict(found)})


def event_of(kit: DeskKit, run: Run) -> Event:
    """The signed trigger. Raises `Halt(NEEDS_OPERATOR)` where it is gone."""
    event = kit.event(run.event)
    if event is None:
        raise Halt(
            Reason.NEEDS_OPERATOR,
            "The signed request of this run is not in the ledger any more.",
            "Set the label `agent:fix` again.",
        )
    return event


def tip(reader: GitHubReader, branch: str) -> str:
    """A branch's commit, from the refs API. Raises `Halt(BASE_LOST)`, `Halt(EMPTY_REPOSITORY)`."""
    try:
        return reader.branch(branch)
    except Missing as gone:
        raise Halt(
            Reason.BASE_LOST,
            f"There is no branch `{branch}` to stand on.",
            f"Create it, or name another one as `base` in {CONFIG_PATH}. {AGAIN}",
        ) from gone
    except Refused as refusal:
        if refusal.status != 409:
            raise
        raise Halt(
            Reason.EMPTY_REPOSITORY,
            "The repository has no commit yet, so there is nothing to change.",
            f"Push a first commit. {AGAIN}",
        ) from refusal


def config_at(kit: DeskKit, reader: GitHubReader, commit: str) -> tuple[RepoConfig, str]:
    """(configuration at a commit, its blob id or ""). Raises `Halt(CONFIG_ERROR)`."""
    found = reader.file(CONFIG_PATH, commit)
    if found is None:
        return RepoConfig(), ""
    data, blob = found
    try:
        return kit.config_of(data), blob
    except ConfigError as error:
        raise Halt(
            Reason.CONFIG_ERROR,
            f"{CONFIG_PATH} cannot be used: {error}",
            f"Mend that line on the default branch. {AGAIN}",
        ) from error
