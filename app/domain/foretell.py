"""What an event would start, told without asking anybody; and what would be asked live before it.

For the operator who wonders why nothing happened: the receiver's own reading of a payload goes in,
sentences come out. What only GitHub knows at that moment (roles, labels, states) is named, never
guessed.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.commands import TRIAGE, Word, command_of
from app.domain.errors import Halt
from app.domain.event import Event, EventKind, Ignored
from app.domain.intake import criteria_of, request_of, require, require_size
from app.domain.repo_config import CONFIG_PATH

STARTS, ANSWERS, LOOKS, IGNORED, REFUSED = "starts", "answers", "looks", "ignored", "refused"
ON_ISSUES = frozenset({Word.FIX, Word.PLAN, Word.EXPLAIN})
ON_PULLS = frozenset({Word.VERIFY, Word.REVISE})
PRESSED = "check_run.rerequested"
EDITED = "issues.edited"

_DOES = {
    Word.FIX: "a run that fixes the issue",
    Word.PLAN: "a run that stops after its plan and asks",
    Word.EXPLAIN: "a run that only reads and answers",
    Word.VERIFY: "a run that checks this pull request as it is",
    Word.REVISE: "a run that changes our pull request as is said, or it waits for the next one,",
    Word.UPDATE: "a run that merges the base into our pull request and checks it",
    Word.CI: "a run that lets the repository's own workflows run on our pull request's head",
    Word.RETRY: "the last request's run once more",
}


@dataclass(frozen=True)
class Foretold:
    """`what` is one of starts, answers, looks, ignored, refused; `summary` one sentence; `live`
    what the desk reads from GitHub or the ledger first, each of which can still say no."""

    what: str
    summary: str
    key: str = ""
    live: tuple[str, ...] = ()


def foretell(found: Event | Ignored, owners: frozenset[str] | None = None) -> Foretold:
    """What `found` would do. `owners` is the operator's allow-list in lower case, None where it is
    not known here."""
    if isinstance(found, Ignored):
        return Foretold(IGNORED, f"Nothing: {found.why}.")
    if owners is not None and found.repository.id and _stranger(found, owners):
        return Foretold(
            REFUSED,
            f"Nothing: the owner {found.repository.owner} is not in PATCHWARRANT_OWNERS.",
            found.key,
        )
    if found.kind is EventKind.NUDGE:
        return _nudge(found)
    if found.kind is EventKind.ISSUE_LABELED:
        return _labeled(found, owners)
    return _said(found, owners)


def _stranger(event: Event, owners: frozenset[str]) -> bool:
    return event.repository.owner.casefold() not in owners


def _nudge(event: Event) -> Foretold:
    if event.told == PRESSED:
        what = "a look at the pull request once more, if that check run was one of `/agent verify`"
        return Foretold(STARTS, f"It starts {what}.", event.key, _live(event, None, "write"))
    if event.told == EDITED:
        words = "Nothing is started; the time of the edit is kept for the next request."
        return Foretold(LOOKS, words, event.key)
    return Foretold(
        LOOKS,
        f"Nothing is started by it alone; {event.told} makes the desk read again what is true: "
        "runs that may not go on are ended, approvals and pushes to our branches looked at anew.",
        event.key,
        ("runs and pull requests of ours that this is about: what GitHub says of them now",),
    )


def _labeled(event: Event, owners: frozenset[str] | None) -> Foretold:
    missing = _missing(event)
    if missing:
        return Foretold(
            ANSWERS, f"A run ends at once, at no model cost: {missing}", event.key,
            _live(event, owners, "write", label=True),
        )  # fmt: skip
    return Foretold(
        STARTS,
        f"It starts {_DOES[Word.FIX]} {_where(event)}, asked for by {event.sender.login}.",
        event.key,
        _live(event, owners, "write", label=True),
    )


def _said(event: Event, owners: frozenset[str] | None) -> Foretold:
    command = command_of(event.text)
    if command is None:  # the parser that made the event found one: it cannot be gone
        return Foretold(IGNORED, "Nothing: the words are no command.", event.key)
    word = command.word
    least = "triage" if word is None or word in TRIAGE else "write"
    live = _live(event, owners, least)
    said = f"`/agent {command.said}`".replace(" `", "`")
    if word is None:
        return Foretold(ANSWERS, f"{said} is no word: the help is answered.", event.key, live)
    wrong = _wrong_place(event, word)
    if wrong:
        return Foretold(ANSWERS, f"{said} is answered: {wrong}", event.key, live)
    if word not in _DOES:
        return Foretold(ANSWERS, f"{said} is done and answered {_where(event)}.", event.key, live)
    missing = _missing(event) if word in (Word.FIX, Word.PLAN) else ""
    if missing:
        summary = f"A run ends at once, at no model cost: {missing}"
        return Foretold(ANSWERS, summary, event.key, live)
    summary = f"It starts {_DOES[word]} {_where(event)}, asked for by {event.sender.login}."
    return Foretold(STARTS, summary, event.key, live)


def _wrong_place(event: Event, word: Word) -> str:
    if event.pull and word in ON_ISSUES:
        return "it is said on an issue, and this is a pull request."
    if not event.pull and word in ON_PULLS:
        return "it is said on a pull request, and this is an issue."
    return ""


def _missing(event: Event) -> str:
    """What intake would ask for, "" where the request is good enough as it is."""
    request = request_of(event)
    try:
        require(request, criteria_of(request))
        require_size(request, large=False)
    except Halt as halt:
        return f"{halt.record.message} {halt.record.next_step}"
    return ""


def _where(event: Event) -> str:
    kind = "pull request" if event.pull else "issue"
    return f"on {kind} {event.repository.full_name}#{event.issue}"


def _live(
    event: Event, owners: frozenset[str] | None, least: str, *, label: bool = False
) -> tuple[str, ...]:
    """What is asked before anything happens, in the desk's own order."""
    sender = event.sender
    asked = [
        f"whether {event.repository.owner} is in PATCHWARRANT_OWNERS" if owners is None else "",
        f"whether the bot {sender.login} ({sender.id}) is among `bots` of {CONFIG_PATH}, too"
        if sender.kind == "Bot"
        else "",
        "whether this event, or one of the same act, was handled before (its key decides)",
        f"whether {sender.login} has {least} access now",
        "whether the issue is open, not locked, and still has the label" if label else "",
        "whether a run is at work here already, and the caps on runs an hour",
        "whether the operator paused all work",
        f"what {CONFIG_PATH} says on the base branch",
    ]
    return tuple(one for one in asked if one)
