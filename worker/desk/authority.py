"""Who may have work done here: asked from the API, at the trigger and again before publishing."""

from __future__ import annotations

from app.domain.errors import Halt, Reason, Refused
from app.domain.ports.reader import GitHubReader
from app.domain.repo_config import Roles, reaches
from app.domain.run import Run
from app.domain.state import Kind

AGAIN = "Then set the label `agent:fix` again."


def require_role(run: Run, reader: GitHubReader, roles: Roles | None = None) -> None:
    """Raise `Halt(REFUSED_ROLE)` unless the requester may do this here now; unclear means no.

    An explanation changes nothing, so that triage is enough for it. `roles` is what the repository
    says about it, without it the contract's. An answer that did not come raises `Unavailable`.
    """
    login, role = run.requester.login, role_of(run, reader)
    least = least_role(run, roles)
    if not reaches(role, least):
        raise Halt(
            Reason.REFUSED_ROLE,
            f"{login} has the role `{role}` here, and a run needs {least} access.",
            f"Somebody with {least} access sets the label `agent:fix`.",
        )


def least_role(run: Run, roles: Roles | None = None) -> str:
    """The least role for what `run` does, by its contract where `roles` are not given."""
    held = roles or (run.contract.config.roles if run.contract else Roles())
    return held.ask if run.kind is Kind.EXPLAIN else held.change


def role_of(run: Run, reader: GitHubReader) -> str:
    """The requester's role now, by login and id; "unknown" where GitHub refused to say."""
    try:
        return reader.role(run.requester.login, run.requester.id)
    except Refused:
        return "unknown"


def require_repository(reader: GitHubReader, owners: frozenset[str]) -> str:
    """The default branch of a repository that is in use and whose owner the operator allows."""
    repository, default, archived = reader.repository()
    if repository.owner.casefold() not in owners:
        raise owner_refused(repository.owner)
    if archived:
        raise Halt(
            Reason.INSTALLATION,
            f"{repository.full_name} is archived, so nothing can be published there.",
            f"Unarchive it. {AGAIN}",
        )
    return default


def owner_refused(owner: str) -> Halt:
    return Halt(
        Reason.REFUSED_OWNER,
        f"The operator of this App has not allowed the owner `{owner}`.",
        f"The operator adds the owner to PATCHWARRANT_OWNERS. {AGAIN}",
    )
