"""Readmit: admits a revision of our own pull request: who asks, what, from which head -> Contract.

All review comments that wait for the Change are taken together. The run begins from the live head;
what it is compared with, the base and its configuration, is the Change's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.domain.ci_repair import TOLD as RED
from app.domain.ci_repair import head_of
from app.domain.contract import Contract, Criterion, Request
from app.domain.contributors import by_people
from app.domain.errors import Halt, Missing, Reason
from app.domain.event import Event
from app.domain.intake import BODY_CAP, TEXT_CAP, listed_files
from app.domain.permissions import Phase
from app.domain.ports.reader import GitHubReader
from app.domain.record import Kept
from app.domain.repo_config import Roles, large_limits_of, limits_of, reaches
from app.domain.revision import MOST_THREADS, Revision, Thread, scope_of
from app.domain.run import Run
from app.domain.state import Signal
from app.domain.two_looks import made_here
from worker.desk.authority import require_repository, require_role
from worker.desk.faults import guarded
from worker.desk.ground import by_its_rules, by_our_rules, event_of
from worker.desk.heads import goes_elsewhere
from worker.desk.kit import DeskKit
from worker.desk.notices import sticky
from worker.desk.still_open import still_open
from worker.desk.threads import Talk, numbered, threads_of

AGAIN = "Say `/agent revise` again on the open pull request."


def readmit(kit: DeskKit) -> Callable[[Run], Run]:
    """The stage. Ends with a Contract that names the head and the threads, or `Halt` (refused,
    needs-info, base-lost, …), or `Park` (GitHub)."""

    def stage(run: Run) -> Run:
        by_our_rules(kit, run)
        trigger = event_of(kit, run)
        earlier = [one for one in kit.history(run) if one.id != run.id]
        last = _last(earlier)
        with kit.read(run) as reader:
            require_repository(reader, kit.owners)
            require_role(run, reader, last.config.roles)
            by_its_rules(kit, run, last.config)
            view = still_open(reader, run.publication.pull, _none)
            with kit.write(run, Phase.STATUS) as writer:
                run = replace(run, status_comment=sticky(kit.hold, writer, run, kit.now()))
            goes_elsewhere(run, view, last, kit.tell_oneself)
            head = _head(run, reader)
            _same_head(trigger, head)
            events = _allowed(kit, run, reader, earlier, last.config.roles)
            threads = _threads(reader, view.number, events)
            files = reader.pull_files(view.number)
            commits = reader.pull_commits(view.number)
        revision = Revision(
            view.number,
            threads,
            scope_of(threads, files, listed_files(last.request)),
            tuple(one.key for one in events),
            _previous(earlier, head),
            tuple({one.sender.id: one.sender for one in events if one.told != RED}.values()),
        )
        contract = replace(
            last,
            request=_request(run, last, events, threads),
            criteria=(*_criteria(threads), *last.criteria),
            limits=limits_of(last.config, kit.ceiling),
            large=False,  # a revision has a size of its own, which its plan tells
            larger=large_limits_of(last.config, kit.large) if kit.large else None,
            plan_approval=last.config.plan_approval,
            head=head,
            revision=revision,
            fork="",
            others=(),
            before="",
            rewritten=False,
        )
        people = by_people(commits, made_here(earlier))
        return replace(run, contract=contract, people=people).moved(Signal.DONE)

    return guarded(stage)


def _last(earlier: Sequence[Run]) -> Contract:
    """The contract of the newest run that published: the Change's base and its original request.

    A revision's own words are not carried on: what it asked is done, or was said to be not."""
    for run in reversed(earlier):
        if run.contract is None or not run.publication.commit:
            continue
        first = next((one for one in earlier if one.contract and not one.contract.revision), run)
        if first.contract is None:
            break
        return replace(
            run.contract, request=first.contract.request, criteria=first.contract.criteria
        )
    raise Halt(
        Reason.NEEDS_OPERATOR,
        "The contract of this pull request is not in the ledger any more, so nothing could say "
        "what a revision is held to.",
        "Close the pull request and label its issue again.",
    )


def _none(why: str) -> Halt:
    return Halt(
        Reason.REFUSED_ISSUE,
        f"This pull request cannot be revised: {why}.",
        "Label the issue `agent:fix` for a new one.",
    )


def _head(run: Run, reader: GitHubReader) -> str:
    """The live head, from the refs API alone."""
    try:
        return reader.branch(run.publication.branch)
    except Missing as gone:
        raise _none("its branch is not there any more") from gone


def _same_head(trigger: Event, head: str) -> None:
    """What CI said is about one head; a commit that people pushed since is theirs to repair."""
    if trigger.told == RED and head != head_of(trigger):
        raise Halt(
            Reason.HEAD_MOVED,
            f"The head moved to {head[:12]} before the repair of red CI began; what CI said is "
            "about another commit, so nothing was done.",
            AGAIN,
        )


def _allowed(
    kit: DeskKit, run: Run, reader: GitHubReader, earlier: Sequence[Run], roles: Roles
) -> tuple[Event, ...]:
    """The events that are taken: the run's own, then all that wait. One of a person who may not
    write any more is left out."""
    same = [one for one in earlier if one.event == run.event and one.contract is not None]
    again = [key for one in same[-1:] for key in _events_of(one)]
    keys = dict.fromkeys((*again, run.event, *kit.waiting(run.change)))
    found = sorted(filter(None, map(kit.event, keys)), key=lambda one: kit.heard(one.key))
    known = {(run.requester.id, run.requester.login): True}
    taken: list[Event] = []
    left: list[Event] = []
    for event in found:
        person = (event.sender.id, event.sender.login)
        if person not in known:
            known[person] = reaches(reader.role(event.sender.login, event.sender.id), roles.change)
        (taken if known[person] else left).append(event)
    if left:
        kit.hold.note(Kept.NOTE, {"left_out": [one.key for one in left]})
        kit.taken(run.change, [one.key for one in left])
    return tuple(taken)


def _events_of(run: Run) -> tuple[str, ...]:
    revision = run.contract.revision if run.contract else None
    return revision.events if revision is not None else ()


def _threads(reader: GitHubReader, pull: int, events: Sequence[Event]) -> tuple[Thread, ...]:
    talk = Talk.of(reader, pull)
    found = [thread for event in events for thread in threads_of(event, talk)]
    # An inline comment that is a command and part of a review that is one counts once.
    once = {(one.comment, one.path, one.line, one.text): one for one in found}
    threads = numbered(tuple(once.values()))
    if not threads:
        raise Halt(
            Reason.NEEDS_INFO,
            "The comment says nothing that could be done: there are no words after the command.",
            f"Say what should be different. {AGAIN}",
        )
    if len(threads) > MOST_THREADS:
        raise Halt(
            Reason.NEEDS_INFO,
            f"{len(threads)} comments are asked for at once; at most {MOST_THREADS} are taken "
            "together.",
            f"Ask for fewer at a time. {AGAIN}",
        )
    return threads


def _previous(earlier: Sequence[Run], head: str) -> str:
    """The newest run whose evidence is about `head`, "" where none is."""
    for run in reversed(earlier):
        if run.verdict is not None and head in (run.publication.commit, _examined(run)):
            return run.id
    return ""


def _examined(run: Run) -> str:
    """The head that a run looked at without a commit of its own, "" for any other."""
    revises = run.contract is not None and run.contract.revision is not None
    return run.contract.head if run.contract is not None and not revises else ""


def _criteria(threads: Sequence[Thread]) -> tuple[Criterion, ...]:
    return tuple(
        Criterion(f"{one.id}: {' '.join(one.text.split())}"[:TEXT_CAP], "review") for one in threads
    )


def _request(
    run: Run, last: Contract, events: Sequence[Event], threads: Sequence[Thread]
) -> Request:
    """The comments as the request, the original one below them."""
    first = last.request
    said = "\n\n".join(f"{told_place(one)}:\n{one.text}" for one in threads)
    body = f"{said}\n\nThe original request, which the pull request answers:\n\n{first.body}"
    original = "\n".join((first.digest, *(one.text for one in events), *(t.text for t in threads)))
    return replace(
        first,
        body=body[:BODY_CAP],
        digest=hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest(),
        adopted_by=run.requester.login,
        updated_at=max(one.updated_at for one in events),
        said=said[:BODY_CAP],
        hidden=first.hidden + sum(one.hidden for one in threads),
        edited="",
    )


def told_place(thread: Thread) -> str:
    """`t1, src/a.py lines 3-5, by mona`."""
    where = f", {thread.path}" if thread.path else ""
    if thread.line:
        lines = thread.line if thread.start == thread.line else f"{thread.start}-{thread.line}"
        where += f" line{'' if thread.start == thread.line else 's'} {lines}"
    return f"{thread.id}{where}, by {thread.author}"
