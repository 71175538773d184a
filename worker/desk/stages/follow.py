"""Follow: admits another look at a Change's own pull request, or the merge of its base into it.

The request and its criteria are the Change's; head, base branch and commits are what GitHub says
now; the configuration is that of the commit that the tree is compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.domain.commits import LISTED, of_others
from app.domain.contract import Contract
from app.domain.errors import Halt, Missing, Reason
from app.domain.permissions import Phase
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import PullView
from app.domain.repo_config import CONFIG_PATH, Roles, limits_of
from app.domain.run import Run
from app.domain.state import Kind, Signal
from app.domain.two_looks import evidence_of, made_here
from worker.desk.authority import require_repository, require_role
from worker.desk.faults import guarded
from worker.desk.ground import by_its_rules, by_our_rules, config_at, tip
from worker.desk.kit import DeskKit
from worker.desk.notices import sticky
from worker.desk.still_open import own_pull, there


@dataclass(frozen=True)
class _Known:
    """What the ledger knows of the Change: its newest contract, the base that it began on, the
    commit that its evidence is about ("" without any), the commits that this app made."""

    contract: Contract
    origin: str
    before: str
    ours: frozenset[str]


def follow(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends with a Contract that names the head, or `Halt` (refused, base-lost,
    no-change, config-error, …), or `Park`. A push needs nobody's leave; an update needs a writer's.
    """

    def stage(run: Run) -> Run:
        by_our_rules(kit, run)
        known = _known(kit, run)
        with kit.read(run) as reader:
            default = require_repository(reader, kit.owners)
            if run.kind is Kind.UPDATE or run.word:
                require_role(run, reader)
            view = own_pull(run, reader)
            run = replace(run, publication=there(view))
            with kit.write(run, Phase.STATUS) as writer:
                run = replace(run, status_comment=sticky(kit.hold, writer, run, kit.now()))
            contract = _contract(kit, reader, known, run, view, default)
            by_its_rules(kit, run, contract.config)
            if run.word and contract.config.roles != Roles():
                require_role(run, reader, contract.config.roles)
        return replace(run, contract=contract).moved(Signal.DONE)

    return guarded(stage)


def _known(kit: DeskKit, run: Run) -> _Known:
    runs = kit.history(run)
    last = evidence_of(runs)
    with_contract = [one.contract for one in runs if one.contract is not None]
    if not with_contract:
        raise Halt(
            Reason.NEEDS_OPERATOR,
            "The ledger does not know any more what this pull request was made for.",
            "Close it and label the issue again.",
        )
    contract = last.contract if last is not None and last.contract else with_contract[-1]
    before = last.publication.commit if last is not None else ""
    return _Known(contract, with_contract[0].base_commit, before, made_here(runs))


def _contract(
    kit: DeskKit,
    reader: GitHubReader,
    known: _Known,
    run: Run,
    view: PullView,
    default: str,
) -> Contract:
    head, newest = view.head_sha, tip(reader, view.base_ref)
    _still_ours(reader, known, head)
    fork = _parting(reader, newest, head, view.base_ref)
    updates = run.kind is Kind.UPDATE
    if updates and fork == newest:
        raise Halt(
            Reason.NO_CHANGE,
            f"The branch contains `{view.base_ref}` at {newest[:12]} already: there is nothing to "
            "merge, and nothing was done.",
        )
    if fork == head:
        raise Halt(
            Reason.NO_CHANGE,
            f"The head {head[:12]} is part of `{view.base_ref}` already, so there is no change to "
            "look at.",
            "Push a commit, or close the pull request.",
        )
    base = newest if updates else fork
    config, source = config_at(kit, reader, base)
    _no_older_rules(reader, known, view, base, source)
    _own_rules(kit, reader, known, view, default, source)
    others = of_others(reader.commits(base, head), known.ours)
    return replace(
        known.contract,
        base_branch=view.base_ref,
        base_commit=base,
        config=config,
        config_source=source,
        limits=limits_of(config, kit.ceiling),
        large=False,
        larger=None,
        plan_approval=False,
        head=head,
        fork=fork if updates else "",
        others=others[:LISTED],
        before=known.before,
        rewritten=_rewritten(reader, known.before, head),
    )


def _still_ours(reader: GitHubReader, known: _Known, head: str) -> None:
    """Whoever pushes by force may take the base away that the change was admitted on."""
    origin = known.origin
    if not _contains(reader, head, origin):
        raise Halt(
            Reason.BASE_LOST,
            f"The branch's history was rewritten: {head[:12]} does not contain the base "
            f"{origin[:12]} that this change was made on, so it is not this app's change any more. "
            "Nothing was checked.",
            f"Rebuild the branch on a commit that contains {origin[:12]}. Otherwise close the pull "
            "request and label the issue for a new start.",
        )


def _parting(reader: GitHubReader, newest: str, head: str, branch: str) -> str:
    try:
        return reader.parting(newest, head)[0]
    except Missing as gone:
        raise Halt(
            Reason.BASE_LOST,
            f"The head {head[:12]} has no history in common with `{branch}`.",
            f"Build it on `{branch}`, or change the pull request's base back.",
        ) from gone


def _contains(reader: GitHubReader, newer: str, older: str) -> bool:
    try:
        return reader.parting(older, newer)[0] == older
    except Missing:
        return False


def _no_older_rules(
    reader: GitHubReader, known: _Known, view: PullView, base: str, source: str
) -> None:
    """Whoever takes an update back by force does not get the rules of before it."""
    last = known.contract
    if view.base_ref != last.base_branch or source == last.config_source:
        return
    if not _contains(reader, base, last.base_commit):
        raise Halt(
            Reason.CONFIG_ERROR,
            f"The branch stands on {base[:12]} now, whose {CONFIG_PATH} is older than that of "
            f"{last.base_commit[:12]}, by which it was judged before.",
            "Say `/agent update`, or merge the base: then the present rules hold.",
        )


def _own_rules(
    kit: DeskKit,
    reader: GitHubReader,
    known: _Known,
    view: PullView,
    default: str,
    source: str,
) -> None:
    """Another base branch brings no rules of its own: those of the default branch hold."""
    if view.base_ref in (known.contract.base_branch, default):
        return
    if config_at(kit, reader, tip(reader, default))[1] != source:
        raise Halt(
            Reason.CONFIG_ERROR,
            f"The pull request goes to `{view.base_ref}` now, whose {CONFIG_PATH} differs from "
            f"that of `{default}`.",
            "Make both files equal, or change the base back. `/agent verify` looks again.",
        )


def _rewritten(reader: GitHubReader, before: str, head: str) -> bool:
    """Whether the commit of the evidence before is no part of the history any more."""
    return bool(before) and not _contains(reader, head, before)
