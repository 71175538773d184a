"""What a report is made from beside the run, and how much of it fits: sizes as a ladder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain import doctor
from app.domain.edit import Delta
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from app.domain.since import Since, of_note
from app.domain.two_looks import TwoLooks

BODY_CAP = 65_536  # characters that GitHub takes for a pull request's body or a comment
BODY_TARGET = 60_000
FIRST_ROWS = 6  # checks in the table of the first screen
FIRST_IDS = 4  # ids of tests a line there
OUTPUT_CAP = 65_000  # bytes of a check run's summary or text; GitHub takes 65,535
ENVELOPES = 46_000  # bytes of the signed envelopes there; the statements are made to fit
ATTACHED = 40_000  # characters of a bundle that is attached there
TEXT_LEAST = 12_000  # bytes of the text for people that no attachment takes away


@dataclass(frozen=True)
class Facts:
    """What the run itself does not hold; everything may be missing.

    `commit` is the published commit, `deltas` base against candidate, `logs` check name → readable
    end of its output on the candidate, `page` the address of the run's page, `statement` the
    SHA-256 of the signed statement's envelope, `bundle` that of the file that holds everything,
    `key` the id of the key that signed, `envelope` the envelopes themselves, one a line, which go
    into the check run, `attached` the bundle as text, which goes there where it fits, `looks` what
    differs from the evidence before. Of a revision `since` is the delta against the previous head,
    `lines` thread → what of it was changed. `settings` is what the doctor said about the repository
    when the run was admitted.
    """

    commit: str = ""
    deltas: tuple[Delta, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    statement: str = ""
    key: str = ""
    envelope: str = ""
    bundle: str = ""
    attached: str = ""
    since: Since | None = None
    lines: Mapping[str, str] = field(default_factory=dict)
    looks: TwoLooks | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def kept_facts(
    run: Run,
    entries: Sequence[JournalEntry],
    statement: Mapping[str, Any],
    fetch: Callable[[str], bytes],
    attach: Callable[[bytes], str],
) -> Facts:
    """What is kept of a run beside its row: `statement` is the intent of that name, `fetch` gives
    an artifact by its digest, `attach` makes text of a bundle."""
    lines, bundle = str(statement.get("envelopes", "")), str(statement.get("bundle", ""))
    return Facts(
        commit=run.publication.commit,
        deltas=_deltas(entries),
        logs={result.check: result.tail for result in run.results if result.tail},
        statement=str(statement.get("envelope", "")),
        key=str(statement.get("key", "")),
        envelope=fetch(lines).decode() if lines else "",
        bundle=bundle,
        attached=attach(fetch(bundle)) if bundle else "",
        since=_since(run, entries),
        lines=_lines(entries),
        settings=doctor.noted(entries) or {},
    )


def _since(run: Run, entries: Sequence[JournalEntry]) -> Since | None:
    """The delta against the head that a revision's edits stand on, as the gate noted it."""
    for entry in reversed(entries):
        told = of_note(entry.data) if entry.kind is Kept.NOTE else None
        if told is not None and told.head == run.onto:
            return told
    return None


def _lines(entries: Sequence[JournalEntry]) -> dict[str, str]:
    """What of each review thread was changed, as the gate noted it last."""
    for entry in reversed(entries):
        noted = entry.data.get("thread_lines") if entry.kind is Kept.NOTE else None
        if isinstance(noted, dict):
            return {str(name): str(word) for name, word in noted.items()}
    return {}


def _deltas(entries: Sequence[JournalEntry]) -> tuple[Delta, ...]:
    """Line counts as the gate noted them from the trees; without them () and paths alone."""
    for entry in reversed(entries):
        noted = entry.data.get("deltas") if entry.kind is Kept.NOTE else None
        if isinstance(noted, list):
            return tuple(Delta(str(one[0]), *(int(part) for part in one[1:5])) for one in noted)
    return ()


@dataclass(frozen=True)
class Sizes:
    """How much of each kind is shown: characters of a log and of the model's words, rows of
    checks, files, attempts and findings, ids of tests a line, characters of a sentence."""

    log: int
    words: int
    checks: int
    files: int
    findings: int
    ids: int
    line: int
    commands: int


# What a page of its own shows, where no cap of GitHub's holds.
WHOLE = Sizes(
    log=20_000, words=20_000, checks=1_000, files=3_000, findings=500, ids=200, line=1_000,
    commands=2_000,
)  # fmt: skip

# Logs are cut first, then the model's words, then lists. The last rung fits whatever the run is.
LADDER = (
    Sizes(
        log=8_000, words=6_000, checks=200, files=300, findings=100, ids=20, line=300, commands=600
    ),
    Sizes(
        log=2_000, words=4_000, checks=100, files=200, findings=60, ids=20, line=300, commands=400
    ),
    Sizes(log=600, words=2_000, checks=60, files=100, findings=40, ids=12, line=240, commands=200),
    Sizes(log=0, words=1_000, checks=30, files=40, findings=20, ids=8, line=200, commands=120),
    Sizes(log=0, words=400, checks=12, files=12, findings=8, ids=3, line=120, commands=60),
)
