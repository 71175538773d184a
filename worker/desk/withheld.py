"""Before publishing with `publish: after-approval`: show diff and evidence, wait for a person."""

from __future__ import annotations

from app.domain import publish_approval
from app.domain.approval import could
from app.domain.errors import Halt, Missing, Park, Reason, Waiting
from app.domain.evidence import Verdict
from app.domain.permissions import Phase
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from worker.desk.evidence import facts_of
from worker.desk.intents import once
from worker.desk.kit import DeskKit
from worker.desk.notices import tolerant
from worker.desk.weighed import Known, prompted

SHOWN_CAP = 200_000  # bytes of a diff that are handed to the page's template


def let_go(kit: DeskKit, run: Run, verdict: Verdict) -> None:
    """Return once a person let this very tree be published, or where nobody has to.

    The first time it is shown on the issue, and `Park(PUBLISH)` is raised; after the deadline
    `Halt(UNPUBLISHED)`.
    """
    if not publish_approval.held_back(run):
        return
    journal = kit.hold.entries()
    if publish_approval.released(journal, verdict.tree):
        return
    asked = publish_approval.asked(journal, verdict.tree)
    if asked is None:
        _show(kit, run, verdict.tree)
        asked = kit.hold.note(Kept.NOTE, publish_approval.note_of(verdict.tree))
    left = asked.ms + publish_approval.WAIT * 1000 - kit.now()
    if left <= 0:
        raise Halt(
            Reason.UNPUBLISHED,
            "Nobody said within seven days that this may be published, so it was not.",
            "`/agent retry` does the work anew, on the base as it is then.",
        )
    word = publish_approval.words(verdict.tree)
    raise Park(Waiting.PUBLISH, left / 1000, f"a person has to say `{word}`")


def _show(kit: DeskKit, run: Run, tree: str) -> None:
    """One comment on the issue; where that is refused the journal says so, and the run waits."""
    assert run.contract is not None
    config = run.contract.config
    diff, kept = _diff(kit)
    may = could(config.approval, config.roles.change, prompted(_known(kit, run), config.approval))
    until = kit.now() + publish_approval.WAIT * 1000
    body = publish_approval.shown(run, facts_of(kit, run), diff, kept, may, until)
    mark = publish_approval.marker(run.id, tree)

    def act() -> None:
        with kit.write(run, Phase.STATUS) as writer:
            once(
                kit.hold,
                "withheld",
                {"tree": tree},
                lambda: {"comment": writer.comment(run.issue, body, mark)},
                lambda: None,  # the writer itself looks for the marker first
            )

    tolerant(kit.hold, act)


def _known(kit: DeskKit, run: Run) -> Known:
    """What this run alone shows of who took part: the words themselves are weighed by all runs."""
    journal: list[JournalEntry] = kit.hold.entries()
    return Known([run], kit.event, lambda _run: journal)


def _diff(kit: DeskKit) -> tuple[str, str]:
    """(the diff as the gate left it, the SHA-256 of its artifact); ("", "") without one."""
    for entry in reversed(kit.hold.entries()):
        digest = entry.data.get("patch") if entry.kind is Kept.NOTE else None
        if isinstance(digest, str):
            try:
                return kit.hold.get(digest)[:SHOWN_CAP].decode("utf-8", "replace"), digest
            except Missing:
                return "", ""
    return "", ""
