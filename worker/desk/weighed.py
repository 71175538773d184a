"""The facts about one approval: everything read live just now, evidence from the ledger's runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.domain.approval import APPROVED, BARRED, Facts, Part, Proof, Took, deciding, latest
from app.domain.contributors import WEB_FLOW
from app.domain.errors import Missing, Refused
from app.domain.event import Event, Person
from app.domain.ports.approval import ApprovalReader, WeighedCommit
from app.domain.ports.views import PullView
from app.domain.record import JournalEntry, Kept
from app.domain.repo_config import CONFIG_PATH, Approval, ConfigError, RepoConfig
from app.domain.run import Run
from app.domain.state import Kind
from app.domain.told import skip_directive
from app.domain.two_looks import evidence_of, made_here
from worker.desk.evidence import CHECK as EVIDENCE

LISTED = 250  # commits of a pull request that GitHub lists at most


@dataclass(frozen=True)
class Known:
    """What the ledger knows about a Change: its runs, oldest first, each one's trigger and journal,
    and who pushed to its branch as signed events said."""

    runs: Sequence[Run]
    event: Callable[[str], Event | None]
    journal: Callable[[str], Sequence[JournalEntry]]
    pushers: Sequence[Person] = ()


def proof_of(runs: Sequence[Run]) -> Proof | None:
    """The newest evidence about the branch, None where none was published as a check run."""
    run = evidence_of(runs)
    if run is None or run.verdict is None or run.contract is None or not run.publication.check_run:
        return None
    return Proof(
        run=run.id,
        commit=run.publication.commit,
        tree=run.verdict.tree,
        base_branch=run.contract.base_branch,
        base_commit=run.verdict.base_commit,
        result=run.verdict.result,
        wall=run.verdict.wall,
    )


def facts_of(
    reader: ApprovalReader,
    view: PullView,
    known: Known,
    config_of: Callable[[bytes], RepoConfig],
) -> Facts:
    """The facts about a pull request of ours, read now; what cannot matter is not read."""
    proof = proof_of(known.runs)
    state = "merged" if view.merged else view.state
    config, amiss = _config(reader, view.base_ref, config_of)
    facts = Facts(
        state=state,
        head=view.head_sha,
        base=view.base_ref,
        mode=config.approval,
        least=config.roles.change,
        ready=config.ready,
        reviewers=config.pull_request.reviewers,
        proof=proof,
        took=tuple(prompted(known, config.approval)),
        amiss=amiss,
    )
    if state != "open" or proof is None or proof.commit != view.head_sha:
        return facts
    proof = replace(proof, since=_since(reader, proof))
    moved, unclear = _moved(reader, proof, view)
    shared = tuple(
        one.number
        for one in reader.pulls_with(view.head_sha)
        if one.number != view.number and one.state == "open" and one.head_sha == view.head_sha
    )
    facts = replace(
        facts,
        proof=proof,
        held=skip_directive(reader.message(view.head_sha)),
        moved=moved,
        unclear=unclear,
        shared=shared,
        reviews=reader.votes(view.number),
    )
    return _with_people(reader, view, facts, known)


def _with_people(reader: ApprovalReader, view: PullView, facts: Facts, known: Known) -> Facts:
    """Roles of those who said yes or no, and who took part in the branch, as it is now."""
    roles = {one.id: _role(reader, one) for one in deciding(facts.reviews)}
    if not any(one.state == APPROVED for one in latest(facts.reviews)):
        return replace(facts, roles=roles)
    commits = reader.weighed_commits(view.number)
    foreign = [one for one in commits if not _ours(one, known.runs)]
    unknown = [one.sha for one in foreign if one.author is None or one.committer is None]
    if known.pushers:  # whoever it was is barred by what the signed event said
        unknown = []
    if len(commits) >= LISTED:
        unknown.append(f"and those after the first {LISTED}")
    return replace(
        facts,
        roles=roles,
        took=(*facts.took, *_pushed(foreign)),
        unknown=tuple(unknown),
    )


def _role(reader: ApprovalReader, person: Person) -> str:
    try:
        return reader.role(person.login, person.id)
    except Refused:
        return "unknown"


def _config(
    reader: ApprovalReader, branch: str, config_of: Callable[[bytes], RepoConfig]
) -> tuple[RepoConfig, str]:
    """The configuration of the base branch as it is now, and why it cannot be read, if so."""
    try:
        found = reader.file(CONFIG_PATH, reader.branch(branch))
        return (RepoConfig() if found is None else config_of(found[0])), ""
    except Missing:
        return RepoConfig(), f"there is no branch {branch!r} any more."
    except ConfigError as error:
        return RepoConfig(), f"{CONFIG_PATH} on {branch!r}: {error}"


def _since(reader: ApprovalReader, proof: Proof) -> str:
    """When the evidence was shown on its commit, "" where it is not there any more."""
    shown = reader.checks(proof.commit, EVIDENCE)
    return next((one.since for one in shown if one.external_id == proof.run), "")


def _moved(reader: ApprovalReader, proof: Proof, view: PullView) -> tuple[tuple[str, ...], str]:
    """(touched paths that the base changed since the evidence, why that is unclear)."""
    try:
        tip = reader.branch(view.base_ref)
        if tip == proof.base_commit:
            return (), ""
        base = reader.compared(proof.base_commit, tip)
        change = reader.compared(proof.base_commit, view.head_sha)
    except Missing:
        return (), "The base has no history in common with what was checked any more."
    if base.parted != proof.base_commit:
        return (), "The base's history was rewritten since the evidence."
    if not base.whole or not change.whole:
        return (
            (),
            "The base moved on in more files than GitHub lists, so it has to be checked anew.",
        )
    return tuple(sorted(base.paths & change.paths)), ""


def _ours(commit: WeighedCommit, runs: Sequence[Run]) -> bool:
    """Whether we made a commit: the ledger knows it, or GitHub itself signed it for a bot and it
    names a run of this Change. An address alone proves nothing."""
    if commit.sha in made_here(runs):
        return True
    lines = commit.message.splitlines()
    named = any(f"Agent-Run: {run.id}" in lines for run in runs)
    bot = commit.author is not None and commit.author.kind == "Bot"
    return named and bot and commit.verified


def _pushed(foreign: Sequence[WeighedCommit]) -> Iterator[Took]:
    for one in foreign:
        for person in (one.author, one.committer):
            if person is not None and person.kind == "User" and person.id != WEB_FLOW:
                yield Took(person, Part.PUSHED)


def _words(run: Run, known: Known) -> Iterator[str]:
    """Keys of the events whose words went into a run: review comments, answers to its questions."""
    revision = run.contract.revision if run.contract is not None else None
    yield from revision.events if revision is not None else ()
    for entry in known.journal(run.id):
        if entry.kind is Kept.NOTE and "answer" in entry.data:
            yield str(entry.data.get("event", ""))


def prompted(known: Known, mode: Approval) -> Iterator[Took]:
    """Who asked for the change or steered it, from the runs' signed triggers and answers; journals
    are long, and read only where an answer counts."""
    counts = Part.STEERED in BARRED[mode]
    first = True
    for run in known.runs:
        # None of these says what the change should be; who pushed is known by the commits.
        if run.kind in (Kind.EXPLAIN, Kind.UNHOLD, Kind.RECHECK):
            continue
        steers = not first and run.kind is not Kind.FIX
        yield Took(run.requester, Part.STEERED if steers else Part.ASKED)
        trigger = known.event(run.event)
        if trigger is not None and first:
            yield Took(trigger.author, Part.STEERED)
        said = [known.event(key) for key in _words(run, known)] if counts else []
        yield from (Took(one.sender, Part.STEERED) for one in said if one is not None)
        first = False
    for person in known.pushers:
        yield Took(person, Part.PUSHED)
