"""Examine: admits a look at somebody else's pull request: its head, where it parted, base's rules.

Author and head repository do not matter: the head is one that GitHub itself names as a pull request
of this repository, and all that decides about it comes from the commit where it parted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.contract import Contract
from app.domain.errors import Halt, Missing, Reason
from app.domain.intake import request_of
from app.domain.permissions import Phase
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullView
from app.domain.repo_config import CONFIG_PATH, RepoConfig, Roles, limits_of
from app.domain.run import Run
from app.domain.state import Signal
from worker.desk.authority import require_repository, require_role
from worker.desk.faults import guarded
from worker.desk.ground import by_its_rules, by_our_rules, config_at, event_of, settings_seen, tip
from worker.desk.kit import DeskKit
from worker.desk.notices import sticky
from worker.desk.still_open import still_open

ABSENT = "it is not there any more, or it is no pull request"


def examine(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage: authorises, reads the pull request live, shows the one sticky comment.

    Ends with a Contract that names the head, or `Halt` (refused, config-error, no-change, …), or
    `Park` (GitHub). No label is touched.
    """

    def stage(run: Run) -> Run:
        by_our_rules(kit, run)
        request = replace(request_of(event_of(kit, run)), adopted_by=run.requester.login)
        with kit.read(run) as reader:
            require_repository(reader, kit.owners)
            require_role(run, reader)
            view = still_open(reader, run.issue, _none, ABSENT)
            with kit.write(run, Phase.STATUS) as writer:
                run = replace(run, status_comment=sticky(kit.hold, writer, run, kit.now()))
            base, config, source = _base(kit, reader, view)
            by_its_rules(kit, run, config)
            if config.roles != Roles():
                require_role(run, reader, config.roles)
        settings_seen(kit, run)
        limits = limits_of(config, kit.ceiling)
        contract = Contract(
            request, (), view.base_ref, base, config, source, limits, head=view.head_sha
        )
        return replace(run, contract=contract).moved(Signal.DONE)

    return guarded(stage)


def _none(why: str) -> Halt:
    return Halt(
        Reason.REFUSED_ISSUE,
        f"This pull request cannot be examined: {why}.",
        "Say it on an open pull request.",
    )


def _base(kit: DeskKit, reader: GitHubReader, view: PullView) -> tuple[str, RepoConfig, str]:
    """(where the head parted from its base branch, configuration there, its blob id).

    As a pull request is compared: what the base did since then is no part of the change. Nobody
    may choose older rules by building on an older commit, so the configuration there must be that
    of the branch as it is now.
    """
    newest = tip(reader, view.base_ref)
    try:
        base, behind = reader.parting(newest, view.head_sha)
    except Missing as gone:
        raise Halt(
            Reason.BASE_LOST,
            f"The head {view.head_sha[:12]} has no history in common with `{view.base_ref}`.",
            f"Build it on `{view.base_ref}`.",
        ) from gone
    if base == view.head_sha:
        raise Halt(
            Reason.NO_CHANGE,
            f"The head {view.head_sha[:12]} is part of `{view.base_ref}` already.",
            "Push a commit.",
        )
    config, source = config_at(kit, reader, base)
    if behind and config_at(kit, reader, newest)[1] != source:
        raise Halt(
            Reason.CONFIG_ERROR,
            f"The change stands on {base[:12]}, whose {CONFIG_PATH} is not the present one of "
            f"`{view.base_ref}` ({behind} commits on), so it would be judged by outdated rules.",
            f"Merge `{view.base_ref}` into it, or rebase it.",
        )
    return base, config, source
