"""Commands of people: who may say what is asked live, each is acknowledged and answered once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from app.domain import cancelled, plan_approval, told
from app.domain.branch import BRANCH
from app.domain.commands import FOR_BOTS, Command, Word, command_of
from app.domain.errors import Halt, Refused, Waiting
from app.domain.event import Event
from app.domain.intake import request_of
from app.domain.ports.reader import GitHubReader
from app.domain.run import Run
from app.domain.state import FOLLOWING, Kind, State
from worker.desk.authority import role_of
from worker.desk.front import EventDesk, begin, note_of, run_for, runs_of
from worker.desk.greeting import asks, greet, may
from worker.desk.publishing import let_publish
from worker.desk.revising import revise, revised_again
from worker.desk.said import Said
from worker.desk.update_command import gone_on
from worker.store.rows import Opening

log = logging.getLogger(__name__)
STARTS = {Word.FIX: Kind.FIX, Word.PLAN: Kind.FIX, Word.EXPLAIN: Kind.EXPLAIN}


def conversed(event: Event, desk: EventDesk) -> str | None:
    """Do what a command says; the id of the run to wake, None where there is none."""
    command = command_of(event.text)
    if command is None or desk.read is None or not desk.allows(event):
        desk.ledger.event_done(event.key, "no command of an allowed owner")
        return None
    asking = run_for(event, desk, word=command.said or "?")
    try:
        with desk.read(asking) as reader:
            role = role_of(asking, reader)
            said = replace(_about(event, command, desk, asking, reader), role=role)
    except (Refused, Halt) as amiss:  # the App may not look here any more: nobody can be told
        log.info("command %s of issue %s: %s", command.said, event.issue, amiss)
        desk.ledger.event_done(event.key, "unreadable")
        return None
    if not may(command, role):
        needs = "triage access" if asks(command) else "write access"
        text = told.refused(event.sender, role, command.said or "help", needs)
        said.once(text, f"refused:{event.issue}:{event.sender.id}")
        if said.change is not None:  # a review comment does not wait for its turn any longer
            desk.ledger.taken(said.change.id, [event.key])
        desk.ledger.event_done(event.key, f"refused-role:{role}")
        return None
    if event.sender.kind != "User" and command.word not in FOR_BOTS:
        text = told.persons_only(event.sender, command.said or "help")
        said.once(text, f"bot:{event.issue}:{event.sender.id}")
        desk.ledger.event_done(event.key, "refused-bot")
        return None
    greet(event, asking, desk)
    woken = _done(said)
    desk.ledger.event_done(event.key, f"command:{command.said}")
    return woken


def _about(
    event: Event, command: Command, desk: EventDesk, asking: Run, reader: GitHubReader
) -> Said:
    """What the command is about. A pull request is ours only if the ledger says so, its head is
    our branch, and that branch is in this very repository."""
    if not event.pull:
        change = desk.ledger.open_change(event.repository.id, event.issue)
        return Said(event, command, desk, asking, event.issue, change)
    view = reader.pull(event.issue)
    name = BRANCH.fullmatch(view.head_ref)
    mine = view.head_repository == event.repository.id and name is not None
    found = desk.ledger.change(name["change"]) if mine and name is not None else None
    ours = (
        found is not None
        and found.repository == event.repository.id
        and found.pull == view.number
        and found.branch == view.head_ref
    )
    if found is None or not ours:  # somebody else's: its Change holds looks at it, if any
        looks = desk.ledger.open_change(event.repository.id, event.issue)
        return Said(event, command, desk, asking, event.issue if looks else 0, looks)
    return Said(event, command, desk, asking, found.issue, found, ours=True)


def _done(said: Said) -> str | None:
    word = said.command.word
    if word is None:
        who = said.event.sender
        said.once(told.unknown(who, said.command.said), f"help:{said.event.issue}:{who.id}")
        return None
    return _DOERS[word](said)


def _help(said: Said) -> None:
    said.reply(told.helped(said.event.sender))


def _status(said: Said) -> None:
    desk = said.desk
    runs = runs_of(said.change, said.event, said.issue, desk) if said.issue else ()
    said.reply(told.status(said.event.sender, runs, desk.now()))


def _cancel(said: Said) -> str | None:
    """Within seconds: a run at work looks at its flag, one that waits is woken to end."""
    run = said.active()
    if run is not None and not said.may_steer(run):
        return None
    if run is None or not said.desk.ledger.cancel(run.id, _asked_by(said)):
        said.reply(f"{told.mention(said.event.sender)}no run of mine is at work here.")
        return None
    if run.state is State.PUBLISH:
        said.reply(
            f"{told.mention(said.event.sender)}the run is publishing already. What it has not sent "
            "yet it may still leave out; what it opened stays, and you can close it."
        )
    return run.id if run.wait is not None else None


def _asked_by(said: Said) -> str:
    again = "Say `/agent revise` again." if said.ours else cancelled.NEXT
    return cancelled.kept(f"{said.event.sender.login} said `/agent {said.command.said}`.", again)


def _start(said: Said) -> str | None:
    """fix, plan, explain: like the label, or the answer that a run waits for."""
    event, desk, word = said.event, said.desk, said.command.word
    assert word is not None
    if event.pull:
        said.reply(
            f"{told.mention(event.sender)}`/agent {word}` is said on an issue, and this is a pull "
            "request, so nothing was done."
        )
        return None
    run = replace(said.asking, kind=STARTS[word], word=word)
    opened = begin(event, run, desk)
    if opened is None:
        return None
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    if word is Word.FIX and opened.waiting == Waiting.ANSWER and _answers(said, opened.run_id):
        request = request_of(event)
        answer = f"{request.title}\n\n{request.body}"
        if desk.ledger.answer(opened.run_id, event.key, answer):
            return opened.run_id
    _, text = note_of(opened)
    said.reply(f"{told.mention(event.sender)}{text}")
    return None


def _answers(said: Said, run_id: str) -> bool:
    """Whether a `fix` says anything that the waiting run does not know: words of its own, or an
    issue that was edited since. The bare word is no answer to a question."""
    run, request = said.desk.ledger.run(run_id), request_of(said.event)
    if request.said or run is None or run.contract is None:
        return True
    asked = run.contract.request
    before = (asked.title, asked.body.removesuffix(f"\n\n{asked.said}" if asked.said else ""))
    return (request.title, request.body) != before


def _verify(said: Said) -> str | None:
    """Evidence about the pull request that this is said on, whoever made it. What comes of it,
    also that a run is at work already, stands in the one sticky comment."""
    event, desk = said.event, said.desk
    if not event.pull:
        said.reply(
            f"{told.mention(event.sender)}`/agent verify` is said on a pull request, and this is "
            "an issue, so nothing was done."
        )
        return None
    if said.change is not None and said.change.pull == event.issue:
        return _gone_on(said, Kind.RECHECK, Word.VERIFY)
    run = replace(said.asking, kind=Kind.VERIFY, word=Word.VERIFY)
    opened = begin(event, run, desk)
    new = opened is not None and opened.outcome in (Opening.NEW, Opening.KNOWN)
    return opened.run_id if opened is not None and new else None


def _update(said: Said) -> str | None:
    return _gone_on(said, Kind.UPDATE, Word.UPDATE)


def _ci(said: Said) -> str | None:
    return _gone_on(said, Kind.UNHOLD, Word.CI)


def _gone_on(said: Said, kind: Kind, word: Word) -> str | None:
    """Go on with the pull request of ours that this is said on, or whose issue this is."""
    woken, answer = gone_on(said.event, said.asking, said.change, said.desk, kind, word)
    if answer:
        said.reply(answer)
    return woken


def _retry(said: Said) -> str | None:
    """The last run's request once more, as it was signed then."""
    event, desk = said.event, said.desk
    runs = runs_of(said.change, event, said.issue, desk) if said.issue else ()
    if not runs:
        starts = Word.VERIFY if event.pull else Word.FIX
        said.reply(
            f"{told.mention(event.sender)}there is no run of mine here to do again; "
            f"`/agent {starts}` starts one."
        )
        return None
    if said.ours and said.change is not None and not said.change.open:
        text = told.not_followed(Word.RETRY, said.change.pull)
        said.reply(f"{told.mention(event.sender)}{text}")
        return None
    last = runs[-1]
    if last.kind in FOLLOWING and said.change is not None and said.change.open:
        return _gone_on(said, last.kind, Word(last.word or Word.VERIFY))
    last = next((run for run in reversed(runs) if run.kind not in FOLLOWING), last)
    again = replace(
        said.asking, kind=last.kind, word=last.word or Word.RETRY, event=last.event,
        issue=last.issue,
    )  # fmt: skip
    if last.kind is Kind.REVISE:
        again = revised_again(said, again, last)
    opened = begin(event, again, desk)
    if opened is None:
        return None
    if opened.outcome in (Opening.NEW, Opening.KNOWN):
        return opened.run_id or None
    _, text = note_of(opened, on_pull=event.pull)
    said.reply(f"{told.mention(event.sender)}{text}")
    return None


def _approve(said: Said) -> str | None:
    event, desk = said.event, said.desk
    run, given = said.active(), (said.command.text.split() or [""])[0]
    waits = run is not None and run.wait is not None and run.wait.waiting is Waiting.PLAN
    entry = plan_approval.pending(desk.ledger.journal(run.id)) if run and waits else None
    if run is None or entry is None:
        said.reply(f"{told.mention(event.sender)}no plan waits for an approval here.")
        return None
    digest = str(entry.data["plan_hash"])
    if not plan_approval.fits(given, digest):
        said.reply(
            f"{told.mention(event.sender)}that is not the hash of the plan that waits, so nothing "
            "was approved. Read the newest plan above: its hash stands below it."
        )
        return None
    if not said.may_steer(run):
        return None
    by = f"{event.sender.login} ({event.sender.id})"
    return run.id if desk.ledger.approve(run.id, event.key, digest, by) else None


def _publish(said: Said) -> str | None:
    run, desk = said.active(), said.desk
    if run is not None and not said.may_steer(run):
        return None
    runs = runs_of(said.change, said.event, said.issue, desk) if said.issue else ()
    return let_publish(said, run, runs)


_DOERS: dict[Word, Callable[[Said], str | None]] = {
    Word.HELP: _help,
    Word.STATUS: _status,
    Word.CANCEL: _cancel,
    Word.FIX: _start,
    Word.PLAN: _start,
    Word.EXPLAIN: _start,
    Word.REVISE: revise,
    Word.VERIFY: _verify,
    Word.UPDATE: _update,
    Word.CI: _ci,
    Word.RETRY: _retry,
    Word.APPROVE: _approve,
    Word.PUBLISH: _publish,
}
