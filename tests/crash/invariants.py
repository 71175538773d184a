"""The one checker: what must hold after every fault, whatever the fault was.

The invariants are those of the threat page, by their names:
I1 each event has one run, and the run has ended and said so; I2 at most one branch and one pull
request, only forward, made ready at most once, a review asked of each person at most once, and
neither after somebody took it back; I3 the published tree is the checked tree is the signed tree;
I4 no recorded reply is paid again, and faults of the infrastructure cost no attempt and no budget;
I5 no container and no token past the run; I6 what people see names the true end; I7 no secret
anywhere it should not be. Beside them: the journal's chain is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.evidence import Result
from app.domain.ready import ASKED, MADE_DRAFT, MADE_READY
from app.domain.record import JournalEntry, Kept
from app.domain.run import Run
from app.domain.state import ENDS, Kind, State
from tests.crash.town import Town
from worker.attest.signing import Signer
from worker.attest.verify import NotVerified, public_key, subjects, verify
from worker.store.ledger import Ledger

TOKEN = b"ghs_"


@dataclass(frozen=True)
class Told:
    """What the fault itself allows: `lost` requests to the model beyond one repeated one, `orphan`
    tokens whose answer nobody got. Where a call's fate is `unknown`, the operator's cap of the day
    counts its worst case; the run's own budget never does."""

    lost: int = 0
    orphans: int = 0
    partial: bool = False  # a broken stream's own price is charged
    quarantined: bool = False
    aside: bool = False  # telling the ending is what kills: over, with the least said about it
    unknown: bool = False  # a call was about to be sent, and nobody knows whether it was
    taken_back: bool = False  # a person may have made it a draft before a review was asked for


@dataclass(frozen=True)
class Expected:
    """How the story ends without a fault, as measured by a clean run of this very world."""

    state: State
    result: Result | None
    reason: str
    pulls: int
    labels: frozenset[str]
    comments: int  # on its issue and on its pull request
    runs: int
    turns: int
    repairs: int
    calls: int
    dollars: int
    tree: str
    looked: bool  # the desk's look at its pull request belongs to it, which then was
    ready: int = 0  # so often made ready by us
    asked: tuple[str, ...] = ()  # and a review asked of these by us


def expected(town: Town, name: str, looked: bool = False) -> Expected:
    """Read off a clean run."""
    numbers = [one["number"] for one in town.hub.pulls(name)] if looked else []
    acts = [act for number in numbers for act in town.hub.pull_history(name, number)]
    runs = town.ledger.runs(9)
    run = runs[0]
    labels = {one["name"] for one in town.hub.issue(name, run.issue)["labels"]}
    return Expected(
        state=run.state,
        result=run.verdict.result if run.verdict else None,
        reason=str(run.halt.reason) if run.halt else "",
        pulls=len(town.hub.pulls(name)) - _others(town, name),
        labels=frozenset(labels),
        comments=len(_comments(town, name, run)),
        runs=len(runs),
        turns=run.spend.turns,
        repairs=run.spend.repairs,
        calls=run.spend.calls,
        dollars=run.spend.dollars,
        tree=run.candidate.tree if run.candidate else "",
        looked=looked,
        ready=len(_ready(acts)),
        asked=tuple(_asked(acts)),
    )


def broken(town: Town, name: str, wanted: Expected, told: Told, log: Path) -> list[str]:
    """Every invariant that does not hold, in words; [] when all do."""
    ledger = town.ledger
    runs = ledger.runs(9)
    if len(runs) != wanted.runs:
        return [f"I1: {len(runs)} runs, not {wanted.runs}: {[one.kind for one in runs]}"]
    run = runs[0]
    if told.quarantined:
        wanted = replace(wanted, state=run.state, result=None, reason="quarantined", tree="")
    found = _of_run(town, name, run, wanted, told)
    found += _still_open(ledger)
    found += _money(town, ledger, run, wanted, told)
    found += _leftovers(town, run, told)
    found += secrets_shown(town, log)
    return found


def broken_run(town: Town, name: str, run: Run, wanted: Expected) -> list[str]:
    """What does not hold of one run among many: other issues of the repository have their own.

    `wanted.dollars` are no matter here: the model is paid by the length of what it is told."""
    found = _of_run(town, name, run, wanted, Told(), shared=True)
    kept = [e for e in town.ledger.journal(run.id) if e.kind is Kept.MODEL]
    return [*found, *_charged(run, kept), *_turns(run, kept, wanted)]


def _of_run(
    town: Town, name: str, run: Run, wanted: Expected, told: Told, shared: bool = False
) -> list[str]:
    ledger = town.ledger
    found = [*_ended(run, wanted)]
    if not found:
        if bool(run.untold) != told.aside:
            found.append(f"I6: it is set aside: {run.untold!r}")
        found += _github(town, name, run, wanted, told, shared)
        found += _evidence(town, ledger, run)
        found += _followed(town, name, run, wanted, told)
    row = ledger.row(run.id)
    if row is not None and (row.lease or row.owner):
        found.append(f"I5: the lease is still {row.owner}'s")
    fault = ledger.journal_fault(run.id)
    return [*found, f"journal: {fault}"] if fault else found


def _still_open(ledger: Ledger) -> Iterable[str]:
    if ledger.runs_without_end():
        yield "I1: a run has not ended"
    if ledger.unhandled_events(1):
        yield "I1: an event has no outcome"


def _ended(run: Run, wanted: Expected) -> Iterable[str]:
    reason = str(run.halt.reason) if run.halt else ""
    result = run.verdict.result if run.verdict else None
    if run.state not in ENDS or not run.explained:
        yield f"I1: the run has not ended: {run.state}, explained {run.explained}, {run.wait}"
    elif (run.state, reason) != (wanted.state, wanted.reason):
        yield f"I1: it ended {run.state} ({run.halt}), not {wanted.state} ({wanted.reason})"
    elif wanted.result is not None and result is not wanted.result:
        wall = run.verdict.wall if run.verdict else ""
        yield f"I1: its verdict is {result} ({wall}), not {wanted.result}"


def _comments(town: Town, name: str, run: Run) -> list[dict[str, Any]]:
    """All comments of the conversations on the run's issue and on its pull request."""
    places = {run.issue, run.publication.pull} - {0}
    return [one for number in sorted(places) for one in town.hub.comments(name, number)]


def _others(town: Town, name: str) -> int:
    """Pull requests that people opened themselves."""
    return sum(not pull["user"]["login"].endswith("[bot]") for pull in town.hub.pulls(name))


def _github(
    town: Town, name: str, run: Run, wanted: Expected, told: Told, shared: bool
) -> Iterable[str]:
    hub = town.hub
    mine = f"agent/issue-{run.issue}-" if shared else "agent/"
    pulls = [one for one in hub.pulls(name) if one["user"]["login"].endswith("[bot]")]
    if shared:
        pulls = [one for one in pulls if mine in one["head"]["ref"]]
    refs = {ref: sha for ref, sha in hub.refs(name).items() if mine in ref}
    if told.quarantined:
        if len(pulls) > 1 or len(refs) > 1:
            yield f"I2: {len(pulls)} pull requests, {len(refs)} branches"
    elif len(pulls) != wanted.pulls or len(refs) != wanted.pulls:
        yield f"I2: {len(pulls)} pull requests and {len(refs)} branches, not {wanted.pulls}"
    if any(one["head"]["sha"] not in refs.values() for one in pulls):
        yield "I2: the pull request shows another head than the branch"
    comments = _comments(town, name, run)
    sticky = [one for one in comments if "patchwarrant:status" in one["body"]]
    endings = [one for one in comments if f"patchwarrant:ending:{run.id}" in one["body"]]
    places = 2 if run.kind is Kind.REVISE else 1  # a revision has one on its pull request, too
    if len(sticky) > places or len(endings) > 1:
        yield f"I6: {len(sticky)} sticky comments, {len(endings)} endings"
    if not (told.quarantined or told.aside) and len(comments) != wanted.comments:
        yield f"I6: {len(comments)} comments, not {wanted.comments}"
    labels = frozenset(one["name"] for one in hub.issue(name, run.issue)["labels"])
    ending = "agent:incomplete" if pulls else "agent:failed"  # partial work is shown as such
    tells = told.quarantined and run.kind is Kind.FIX  # others leave the issue's label as it is
    if labels != (frozenset({ending}) if tells else wanted.labels):
        yield f"I6: the labels are {sorted(labels)}, not {sorted(wanted.labels)}"
    for one in sticky if places == 1 else ():
        if run.publication.pull and f"#{run.publication.pull}" not in one["body"]:
            yield "I6: the sticky comment does not name the pull request"


def _ours(act: dict[str, Any]) -> bool:
    return str(act["by"]).endswith("[bot]")


def _ready(acts: list[dict[str, Any]]) -> list[int]:
    """Where among the acts on a pull request it was made ready by us."""
    return [at for at, one in enumerate(acts) if one["event"] == MADE_READY and _ours(one)]


def _asked(acts: list[dict[str, Any]]) -> list[str]:
    """Of whom a review was asked by us, each as often as that was done."""
    return [str(one["whom"]) for one in acts if one["event"] == ASKED and _ours(one)]


def _followed(town: Town, name: str, run: Run, wanted: Expected, told: Told) -> Iterable[str]:
    """What was done about the pull request after its run, as GitHub itself remembers it."""
    if not run.publication.pull:
        return
    acts = town.hub.pull_history(name, run.publication.pull)
    ready, asked = _ready(acts), _asked(acts)
    if len(ready) > 1 or len(asked) > len(set(asked)):
        yield f"I2: {len(ready)} times made ready, a review asked of {asked}"
    for at, one in enumerate(acts):
        if one["event"] == MADE_DRAFT and ready and ready[-1] > at:
            yield "I2: made ready after a person made it a draft again"
        if one["event"] == "review_request_removed" and one["whom"] in _asked(acts[at:]):
            yield f"I2: {one['whom']} is asked again after a person took that back"
    if not wanted.looked:
        return
    enough = tuple(asked) == wanted.asked or (told.taken_back and not asked)
    if len(ready) != wanted.ready or not enough:
        yield f"I1: {len(ready)} times made ready, asked {asked}; without the fault {wanted.asked}"
    checks = [one["name"] for one in town.hub.check_runs(name, run.publication.commit)]
    if sorted(checks) != [f"patchwarrant/{one}" for one in ("approval", "evidence", "gate")]:
        yield f"I2: the check runs are {checks}"


def _evidence(town: Town, ledger: Ledger, run: Run) -> Iterable[str]:
    commit = run.publication.commit
    if run.state is not State.COMPLETE or not commit:
        return
    name = run.repository.full_name
    checks = [
        one for one in town.hub.check_runs(name, commit) if one["name"] == "patchwarrant/evidence"
    ]
    if len(checks) != 1 or checks[0]["id"] != run.publication.check_run:
        yield f"I2: {len(checks)} check runs of evidence"
    statement = ledger.intent(run.id, "statement") or {}
    try:
        envelope = json.loads(ledger.artifact(str(statement.get("envelope", ""))))
        key = public_key(Signer.load(town.place.signing_key).public_pem)
        tree, signed = subjects(verify(envelope, key))
    except (NotVerified, KeyError, ValueError) as amiss:
        yield f"I3: the statement is not verified: {amiss}"
        return
    really = _tree(town, name, commit)
    local = run.candidate.tree if run.candidate else ""
    if not tree == really == local or signed != commit:
        yield f"I3: trees {tree} (signed), {really} (published), {local} (checked); {signed}"


def _tree(town: Town, name: str, commit: str) -> str:
    """The tree of a commit, by git itself in the stand-in's bare repository."""
    import subprocess

    bare = town.folder / "github" / f"{name}.git"
    words = ["git", "--git-dir", str(bare), "rev-parse", f"{commit}^{{tree}}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def _money(town: Town, ledger: Ledger, run: Run, wanted: Expected, told: Told) -> Iterable[str]:
    kept = [e for e in ledger.journal(run.id) if e.kind is Kept.MODEL]
    yield from _charged(run, kept)
    journalled = sum(int(e.data["dollars"]) for e in kept)
    whole = [e for e in kept if "failed" not in e.data]
    asked = len(town.model.requests())
    if asked > len(whole) + 1 + told.lost:
        yield f"I4: the model was asked {asked} times for {len(whole)} recorded replies"
    others = [e for one in ledger.runs(9)[1:] for e in ledger.journal(one.id)]
    before = sum(int(e.data["dollars"]) for e in others if e.kind is Kept.MODEL)
    left = ledger.spent_today() - before - journalled
    if left < 0 or (left and not told.unknown):
        yield f"I4: the day's account has {left} more than the journals' {before + journalled}"
    if told.quarantined:
        return
    yield from _turns(run, kept, wanted)
    if run.spend.dollars != wanted.dollars and not told.partial:
        yield f"I4: {run.spend.dollars} micro-dollars, without the fault {wanted.dollars}"


def _charged(run: Run, kept: Sequence[JournalEntry]) -> Iterable[str]:
    journalled = sum(int(e.data["dollars"]) for e in kept)
    broken = sum(int(e.data["dollars"]) for e in kept if not e.data.get("charged", True))
    if (run.spend.dollars, run.spend.broken) != (journalled - broken, broken):
        yield f"I4: {run.spend.dollars} are charged, {journalled - broken} journalled"


def _turns(run: Run, kept: Sequence[JournalEntry], wanted: Expected) -> Iterable[str]:
    whole = sum("failed" not in e.data for e in kept)
    turns = (run.spend.turns, run.spend.repairs, whole)
    if turns != (wanted.turns, wanted.repairs, wanted.calls):
        yield f"I4: turns, repairs, calls are {turns}, without the fault they are other"


def _leftovers(town: Town, run: Run, told: Told) -> Iterable[str]:
    name = run.repository.full_name
    alive = [one for one in town.hub.tokens() if one["alive"] and _of(one, name)]
    if len(alive) > told.orphans:
        yield f"I5: {len(alive)} live tokens: {[one['permissions'] for one in alive]}"
    yield from left_behind(town)


def left_behind(town: Town) -> Iterable[str]:
    """Tokens that the ledger still holds, boxes and checks that still live, of any run."""
    if shelf := town.ledger.tokens():
        yield f"I5: tokens on the shelf: {[one.name for one in shelf]}"
    state = town.boxes.state()
    if state["boxes"] or state["live"]:
        yield f"I5: boxes {state['boxes']}, checks {state['live']}"


def _of(token: dict[str, Any], name: str) -> bool:
    names = (one["full_name"] if isinstance(one, dict) else one for one in token["repositories"])
    return name in names


def secrets_shown(town: Town, log: Path) -> Iterable[str]:
    """I7: no key and no token in the ledger or in what the processes said."""
    texts = {"the log": log.read_bytes()}
    with town.redis.client() as client:
        for key in client.scan_iter(count=1_000):
            texts[f"ledger:{key.decode()}"] = key + b" " + (client.dump(key) or b"")
    wanted = [one.encode() for one in town.secrets] + [TOKEN]
    for where, text in texts.items():
        if any(one in text for one in wanted):
            yield f"I7: a secret in {where}"
