"""Admit: who asks, may they, is the request good enough, what does the run stand on -> Contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.domain.branch import tail_of
from app.domain.commands import Word
from app.domain.contract import Contract, Request
from app.domain.errors import Halt, Missing, Park, Reason, Waiting
from app.domain.event import Event
from app.domain.intake import (
    LARGE_LABEL,
    adopting,
    criteria_of,
    edited,
    links_of,
    listed_files,
    request_of,
    require,
    require_size,
)
from app.domain.permissions import Phase
from app.domain.ports.reader import GitHubReader
from app.domain.ports.views import IssueView
from app.domain.ports.writer import GitHubWriter
from app.domain.repo_config import CONFIG_PATH, RepoConfig, Roles, large_limits_of, limits_of
from app.domain.run import Run
from app.domain.state import Kind, Signal
from worker.desk.authority import AGAIN, require_repository, require_role
from worker.desk.faults import guarded
from worker.desk.ground import by_its_rules, by_our_rules, config_at, event_of, settings_seen, tip
from worker.desk.intents import done
from worker.desk.kit import RUNNING, DeskKit
from worker.desk.notices import courteous, relabel, sticky, tolerant

AT_ONCE_MS = 10_000  # an event may reach us so long after what it tells of
LOOK_AGAIN = 5.0  # seconds
LABELS = "labels"  # intent: agent:fix was replaced by agent:running


def admit(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage: acknowledges, authorises, reads what the run stands on, finds the criteria.

    Ends with a Contract, or `Halt` (refused, needs-info, config-error, …), or `Park` (GitHub).
    """

    def stage(run: Run) -> Run:
        by_our_rules(kit, run)
        event = event_of(kit, run)
        with kit.write(run, Phase.STATUS) as writer:
            if not run.word:  # a command's own comment has its reaction already
                courteous(kit.hold, lambda: writer.react(run.issue, "eyes"))
            with kit.read(run) as reader:
                default = require_repository(reader, kit.owners)
                issue = _issue(kit, run, reader, event)
                require_role(run, reader)
                run = replace(run, status_comment=_acknowledged(kit, run, writer, issue))
                commit, branch, config, source = _base(kit, reader, default)
                by_its_rules(kit, run, config)
                if config.roles != Roles():
                    require_role(run, reader, config.roles)
                request = _request(kit, run, reader, event)
        criteria = criteria_of(request)
        large = LARGE_LABEL in {label.casefold() for label in issue.labels}
        if run.kind is not Kind.EXPLAIN:
            require(request, criteria)
            require_size(request, large=large, possible=kit.large is not None)
        if run.kind is not Kind.EXPLAIN:  # it signs nothing
            settings_seen(kit, run)
        asks = run.word == Word.PLAN or config.plan_approval or large
        contract = Contract(
            request, criteria, branch, commit, config, source, limits_of(config, kit.ceiling), asks,
            tail=_tail(kit, run, request, config),
        )  # fmt: skip
        if run.kind is not Kind.EXPLAIN:  # it plans nothing
            contract = _sized(kit, contract, large=large)
        return replace(run, contract=contract).moved(Signal.DONE)

    return guarded(stage)


def _sized(kit: DeskKit, contract: Contract, *, large: bool) -> Contract:
    """The contract with its size class (B4): large by the label. Without a list of files of its own
    the task may still become that by its plan."""
    if kit.large is None:
        return contract
    most = large_limits_of(contract.config, kit.large)
    if large:
        return replace(contract, limits=most, large=True)
    return contract if listed_files(contract.request) else replace(contract, larger=most)


def _tail(kit: DeskKit, run: Run, request: Request, config: RepoConfig) -> str:
    """The tail of the branch's name. One Change has one branch: what its first contract settled
    stays, whatever title or configuration say by now."""
    for earlier in kit.history(run):
        if earlier.id != run.id and earlier.kind is Kind.FIX and earlier.contract is not None:
            return earlier.contract.tail
    return tail_of(config.pull_request.branch, request.title) if run.kind is Kind.FIX else ""


def _request(kit: DeskKit, run: Run, reader: GitHubReader, event: Event) -> Request:
    """The request as signed, with the comments that its person adopted by link, and when its text
    was edited last. Comments of anybody else are no part of it."""
    request = replace(request_of(event), adopted_by=run.requester.login)
    comments = []
    where = (run.repository.owner, run.repository.name, run.issue)
    # To adopt takes write access, which an explanation does not ask for.
    linked = () if run.kind is Kind.EXPLAIN else links_of(request.said, *where)
    for number in linked:
        try:
            view = reader.comment(number)
        except Missing:
            continue
        if view.issue == run.issue:
            comments.append((f"#issuecomment-{number}", view.author.login, view.body))
    at, by = kit.last_edit(run.repository.id, run.issue)
    return replace(adopting(request, comments), edited=edited(at, by, event.updated_at))


def _issue(kit: DeskKit, run: Run, reader: GitHubReader, event: Event) -> IssueView:
    try:
        issue = reader.issue(run.issue)
    except Missing as gone:
        raise _no_issue("it is not there any more (deleted or transferred)") from gone
    labels = {label.casefold() for label in issue.labels}
    replaced = kit.hold.intent(LABELS) is not None
    if issue.is_pull:
        raise _no_issue("it is a pull request")
    if issue.state != "open":
        raise _no_issue(f"it is {issue.state}")
    if issue.locked:
        raise _no_issue("its conversation is locked, so nothing could be asked or reported")
    if not run.word and not replaced and event.label.casefold() not in labels:
        _taken_off(kit, run, event)
    return issue


def _taken_off(kit: DeskKit, run: Run, event: Event) -> None:
    """The trigger's label is not there: we took it off ourselves, or a person did.

    What we took off after the event was told is what that event had put on. A person may be at it
    just now, so the issue is looked at once more before this counts as taken back.
    """
    ours = kit.taken_off(run.repository.id, run.issue)
    if ours and ours >= kit.heard(event.key) - AT_ONCE_MS:
        return
    if run.wait is None:
        note = f"The label `{event.label}` is not there; perhaps it comes back."
        raise Park(Waiting.GITHUB, LOOK_AGAIN, note)
    raise _no_issue(f"the label `{event.label}` was taken off before the run began")


def _no_issue(why: str) -> Halt:
    return Halt(
        Reason.REFUSED_ISSUE,
        f"This issue cannot be worked on: {why}.",
        "Label an open issue with `agent:fix`.",
    )


def _acknowledged(kit: DeskKit, run: Run, writer: GitHubWriter, issue: IssueView) -> int:
    """Replace the trigger's label, show the sticky comment; its id, 0 where none is possible.

    An explanation shows neither: it is one comment at its end.
    """
    if run.kind is Kind.EXPLAIN:
        return 0
    if done(kit.hold, LABELS) is None:
        kit.hold.intend(LABELS, {"add": RUNNING})
        tolerant(kit.hold, lambda: relabel(kit, writer, run, issue.labels, RUNNING))
        kit.hold.fulfil(LABELS, {})
    return sticky(kit.hold, writer, run, kit.now())


def _base(kit: DeskKit, reader: GitHubReader, default: str) -> tuple[str, str, RepoConfig, str]:
    """(base commit, base branch, configuration, its blob id), from the refs API alone."""
    commit = tip(reader, default)
    config, source = config_at(kit, reader, commit)
    if not config.base or config.base == default:
        return commit, default, config, source
    other = tip(reader, config.base)
    _, same = config_at(kit, reader, other)
    if same != source:
        raise Halt(
            Reason.CONFIG_ERROR,
            f"`base` names `{config.base}`, whose {CONFIG_PATH} differs from that of `{default}`.",
            f"Make both files equal, or remove `base`. {AGAIN}",
        )
    return other, config.base, config, source
