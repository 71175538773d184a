"""Signed evidence about one commit: the statements, what a report shows of them, the check run."""

from __future__ import annotations

from app.domain import report
from app.domain.contract import Contract
from app.domain.edit import Candidate
from app.domain.errors import IntegrityError
from app.domain.evidence import Result, Verdict
from app.domain.permissions import Phase
from app.domain.report_facts import kept_facts
from app.domain.run import Run
from worker.desk.intents import Record, done, once
from worker.desk.kit import DeskKit, envelope_bytes

CHECK = "patchwarrant/evidence"
# A verdict that is not passed turns the check action_required: neutral or skipped would satisfy a
# required check, and failure is the word for the repository's own tests.
CONCLUSIONS = {
    Result.PASSED: "success",
    Result.PARTIAL: "action_required",
    Result.FAILED: "action_required",
}


def certified(run: Run) -> tuple[Contract, Candidate, Verdict]:
    """The run's parts; `IntegrityError` unless a verdict was recorded on that very tree."""
    contract, candidate, verdict = run.contract, run.candidate, run.verdict
    if contract is None or candidate is None or verdict is None:
        raise IntegrityError("There is no verdict on a candidate, and nothing else is published.")
    if verdict.tree != candidate.tree or verdict.base_commit != contract.base_commit:
        raise IntegrityError(
            f"The verdict speaks of tree {verdict.tree} on {verdict.base_commit}, the candidate is "
            f"tree {candidate.tree} on {contract.base_commit}."
        )
    if verdict.result is Result.PASSED and run.halt is not None:
        raise IntegrityError("A run that stopped early has a verdict that says passed.")
    return contract, candidate, verdict


def signed(kit: DeskKit, run: Run, commit: str) -> None:
    """Build and sign the statements about this commit; keep envelopes and bundle, once."""
    known = done(kit.hold, "statement")
    if known is not None and known.get("commit") == commit and known.get("bundle"):
        return
    fault = kit.journal_fault(run.id)
    if fault:
        raise IntegrityError(f"The journal was tampered with, so nothing was signed: {fault}.")
    entries = kit.hold.entries()
    envelopes = [kit.sign(one) for one in kit.statements(run, commit, entries)]
    lines = [envelope_bytes(one) for one in envelopes]
    signatures = envelopes[0].get("signatures") or [{}]
    signed = {
        "commit": commit,
        "envelope": kit.hold.put(lines[0]),
        "envelopes": kit.hold.put(b"\n".join(lines)),
        "bundle": kit.hold.put(kit.bundle(run, envelopes, entries)),
        "key": str(signatures[0].get("keyid", "")),
    }
    kit.hold.fulfil("statement", signed)


def facts_of(kit: DeskKit, run: Run) -> report.Facts:
    """What a report needs beside the run, from what was signed and noted."""
    hold = kit.hold
    return kept_facts(run, hold.entries(), done(hold, "statement") or {}, hold.get, kit.attach)


def shown(kit: DeskKit, run: Run, facts: report.Facts) -> int:
    """The evidence as a check run on the commit that was checked; its id."""
    known = done(kit.hold, "check")
    if known is not None:
        return int(known["id"])
    _, _, verdict = certified(run)
    title, summary, text = report.check_output(run, facts)
    notes = report.remarks(run, facts)
    conclusion = CONCLUSIONS[verdict.result]
    with kit.write(run, Phase.EVIDENCE) as writer:

        def make() -> Record:
            head = run.publication.commit
            made = writer.check_run(CHECK, head, run.id, conclusion, title, summary, text, notes)
            return {"id": made}

        # The writer itself looks for a check run with this external id before it makes one.
        return int(once(kit.hold, "check", {"name": CHECK}, make, lambda: None)["id"])
