"""The statement about one candidate: an in-toto Statement v1 over its git tree and git commit.

Lists become a count, a digest and the ids that did not pass, and what does not fit into a check
run is left to the bundle, which the statement names part by part. The bytes are canonical JSON, so
that the same run and commit give the same bytes (in-toto.io, Statement v1; subject digests
`gitTree` and `gitCommit` of in-toto's DigestSet).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from app.domain import doctor
from app.domain.check import Check, CheckResult, Standing
from app.domain.errors import IntegrityError
from app.domain.evidence import Finding, Holds
from app.domain.plan import Plan
from app.domain.record import JournalEntry
from app.domain.run import Run
from app.domain.state import Kind
from worker.attest import parts
from worker.attest.canonical import IDS, builtins, canonical, digest, ids

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://patchwarrant.dev/evidence/v1"
ROOM = 24_000  # bytes of the statement, so that both envelopes fit into one check run

_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NAME = 100  # characters of an account's name
_PEOPLE = 10  # of people's commits that are named in the statement itself
_TEXT = 2_000  # characters of one sentence


@dataclass(frozen=True)
class _Room:
    """How much is said in the statement itself: ids a list, which findings, commands, results."""

    ids: int
    findings: str  # all | open | none
    commands: bool
    whole: bool


_LADDER = (
    _Room(IDS, "all", commands=True, whole=True),
    _Room(40, "all", commands=True, whole=True),
    _Room(12, "open", commands=True, whole=True),
    _Room(6, "open", commands=False, whole=True),
    _Room(3, "open", commands=False, whole=False),
    _Room(0, "none", commands=False, whole=False),
)


def subject(run: Run, commit: str) -> dict[str, Any]:
    """What is spoken of: one tree, one commit. Raises `IntegrityError` where there is no verdict
    on the very candidate, or an id is no id."""
    if run.contract is None or run.verdict is None or run.candidate is None:
        raise IntegrityError(f"Run {run.id} has no contract, candidate and verdict to attest.")
    tree = run.verdict.tree
    if tree != run.candidate.tree:
        raise IntegrityError(
            f"The verdict of run {run.id} is about tree {tree}, its candidate is "
            f"{run.candidate.tree}; nothing was signed."
        )
    for name in (tree, commit, run.verdict.base_commit):
        if not _OBJECT.fullmatch(name):
            raise IntegrityError(f"{name!r} is no git object id; nothing was signed.")
    issue = f"#{run.issue}" if run.issue else ""
    return {
        "name": f"{run.repository.full_name}{issue}",
        "digest": {"gitTree": tree, "gitCommit": commit},
    }


def build(run: Run, commit: str, entries: Sequence[JournalEntry] = ()) -> bytes:
    """The statement about `run`'s verdict and its published `commit`, as canonical JSON of at most
    `ROOM` bytes; `entries` is the journal as it is when the statement is made.

    Raises `IntegrityError` as `subject` does, and when no wording is short enough."""
    about = subject(run, commit)
    named = {
        "journal": parts.journal(run.id, entries),
        "parts": parts.digests(parts.parts(run)),
        "settings": doctor.noted(entries) or {"points": 0},
    }
    for room in _LADDER:
        made = canonical(
            {
                "_type": STATEMENT_TYPE,
                "subject": [about],
                "predicateType": PREDICATE_TYPE,
                "predicate": {**_predicate(run, room), **named},
            }
        )
        if len(made) <= ROOM:
            return made
    raise IntegrityError(f"The statement about run {run.id} is longer than {ROOM} bytes.")


def _predicate(run: Run, room: _Room) -> dict[str, Any]:
    assert run.contract is not None
    assert run.verdict is not None
    contract, verdict, snapshot = run.contract, run.verdict, run.snapshot
    return {
        "run": {"id": run.id, "kind": str(run.kind), "change": run.change, "event": run.event},
        "repository": {"id": run.repository.id, "name": run.repository.full_name},
        "requester": {"id": run.requester.id, "login": run.requester.login},
        "result": str(verdict.result).upper(),
        "wall": verdict.wall[:_TEXT],
        "base": {
            "branch": contract.base_branch,
            "gitCommit": verdict.base_commit,
            "gitTree": snapshot.base_tree if snapshot else "",
        },
        "request": {
            "digest": contract.request.digest,
            "updatedAt": contract.request.updated_at,
            "hiddenCharacters": contract.request.hidden,
            "adoptedBy": contract.request.adopted_by,
            "criteria": len(contract.criteria),
            "criteriaDigest": digest([[one.source, one.text] for one in contract.criteria]),
        },
        "configuration": {
            "source": contract.config_source,
            "digest": digest(builtins(contract.config)),
            "image": snapshot.image if snapshot else "",
            "profile": snapshot.profile if snapshot else "",
            "assumed": ids([one[:_TEXT] for one in snapshot.assumed], room.ids)
            if snapshot
            else {"count": 0},
            "hints": [[one.path, one.blob] for one in snapshot.hints] if snapshot else [],
        },
        "head": {
            "before": contract.before,
            "rewritten": contract.rewritten,
            "others": ids(
                [
                    f"{one.sha} {one.author.login if one.author.id else '-'}"
                    for one in contract.others
                ],
                room.ids,
            ),
        },
        "plan": _plan(run.plan),
        **_revision(run),
        **({"unhold": {"parent": run.onto}} if run.kind is Kind.UNHOLD else {}),
        "ci": {"held": run.ci.held, "started": len(run.ci.started)} if run.ci else {},
        "checks": _checks(run, room),
        "attempts": [
            {"gitTree": one.tree, "signature": one.signature, "standings": _standings(one.results)}
            for one in run.attempts[-20 if room.whole else -3 :]
        ],
        "findings": _findings(verdict.findings, room),
        "limits": vars(run.limits or contract.limits),
        "spend": _spend(run),
        "model": {"id": run.model, "prompts": run.prompts},
    }


def _revision(run: Run) -> dict[str, Any]:
    """Of a revision: the commit that its own stands on, what was asked, and people's commits."""
    asked = run.contract.revision if run.contract else None
    if asked is None:
        return {}
    people = [[one.sha, one.author.id, one.author.login[:_NAME]] for one in run.people]
    return {
        "revision": {
            "parent": run.onto,
            "threads": len(asked.threads),
            "threadsDigest": digest(builtins(asked.threads)),
            "people": {"count": len(people), "digest": digest(people), "first": people[:_PEOPLE]},
        }
    }


def _plan(plan: Plan | None) -> dict[str, Any]:
    if plan is None:
        return {"digest": "", "files": 0, "amendments": 0}
    listed = [[one.path, str(one.action), one.lines] for one in plan.files]
    return {"digest": digest(listed), "files": len(listed), "amendments": len(plan.amendments)}


def _checks(run: Run, room: _Room) -> list[dict[str, Any]]:
    """One entry a check: what was to run, its baseline, its result on the subject's tree, and what
    it said with the base's own tests put back, where that was run."""
    assert run.verdict is not None
    wanted = {check.name: check for check in run.snapshot.checks} if run.snapshot else {}
    before = {result.check: result for result in run.baseline}
    after = {one.check: one for one in run.results if one.tree == run.verdict.tree}
    back = {one.check: one for one in run.restored}
    return [
        {
            "name": name,
            "command": _command(wanted.get(name), room),
            "baseline": _result(before.get(name), room),
            "after": _result(after.get(name), room),
            **({"baseTests": _restored(back[name], room)} if name in back else {}),
        }
        for name in sorted({*wanted, *before, *after, *back})
    ]


def _restored(result: CheckResult, room: _Room) -> dict[str, Any] | None:
    """Where there is little room the standing alone: the journal's record holds all of it."""
    return _result(result, room) if room.whole else {"standing": str(result.standing)}


def _command(check: Check | None, room: _Room) -> dict[str, Any] | None:
    """What is run, by its digest; the words too where they fit, so that it can be repeated."""
    if check is None:
        return None
    named: dict[str, Any] = {
        "digest": check.digest(),
        "argvDigest": digest(list(check.argv)),
        "tier": str(check.tier),
        "timeout": check.timeout,
    }
    if room.commands:
        named["argv"] = list(check.argv)
        named["env"] = dict(check.env)
        named["workdir"] = check.workdir
        named["report"] = check.report
    return named


def _result(result: CheckResult | None, room: _Room) -> dict[str, Any] | None:
    """None where the check did not run on that tree: never to be read as a pass."""
    if result is None:
        return None
    counts = result.counts
    told: dict[str, Any] = {
        "gitTree": result.tree,
        "standing": str(result.standing),
        "reason": result.reason[: _TEXT if room.whole else 60],
        "exitCode": result.exit_code,
        "counts": None if counts is None else builtins(counts),
        "record": digest(builtins(result)),
    }
    if room.whole:
        failed = sorted({failure.test for failure in result.failures})
        told |= {
            "digest": result.digest,
            "image": result.image,
            "milliseconds": result.ms,
            "casesDigest": result.cases,
            "logDigest": result.log,
            "failed": ids(failed, room.ids),
            "comparison": _comparison(result, room),
        }
    return told


def _comparison(result: CheckResult, room: _Room) -> dict[str, Any] | None:
    """The kinds of difference that there are; of new tests that pass, how many."""
    compared = result.comparison
    if compared is None:
        return None
    found: dict[str, Any] = {}
    for field in fields(compared):
        names = getattr(compared, field.name)
        if isinstance(names, tuple) and names:
            found[_camel(field.name)] = ids(names, 0 if field.name == "new" else room.ids)
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _standings(results: Sequence[CheckResult]) -> dict[str, int]:
    return {
        str(standing): sum(result.standing is standing for result in results)
        for standing in Standing
    }


def _findings(findings: Sequence[Finding], room: _Room) -> dict[str, Any]:
    """Digest and number of all claims, and the tree of those that there is room for."""
    told = [] if room.findings == "none" else [_finding(one, room) for one in findings]
    return {
        "digest": digest(builtins(tuple(findings))),
        "standings": _tally(findings),
        "tree": [one for one in told if one is not None],
    }


def _tally(findings: Sequence[Finding]) -> Mapping[str, int]:
    """How many leaves hold, fail, and are unknown."""
    leaves: list[Finding] = []
    waiting = list(findings)
    while waiting:
        one = waiting.pop()
        if one.parts:
            waiting += one.parts
        else:
            leaves.append(one)
    return {str(holds): sum(leaf.standing is holds for leaf in leaves) for holds in Holds}


def _finding(finding: Finding, room: _Room) -> dict[str, Any] | None:
    if room.findings == "open" and finding.standing is Holds.HOLDS:
        return None
    below = [_finding(part, room) for part in finding.parts]
    return {
        "claim": finding.claim[:_TEXT],
        "standing": str(finding.standing),
        "exhibits": [one[:_TEXT] for one in finding.exhibits[: room.ids]],
        "parts": [part for part in below if part is not None],
    }


def _spend(run: Run) -> dict[str, Any]:
    spend = run.spend
    return {
        "calls": spend.calls,
        "turns": spend.turns,
        "repairs": spend.repairs,
        "tryOuts": spend.try_outs,
        "microDollars": spend.dollars,
        "brokenMicroDollars": spend.broken,
        "rateCard": spend.card,
        "inputTokens": spend.usage.total_input,
        "outputTokens": spend.usage.output,
        "sandboxMilliseconds": spend.sandbox_ms,
        "activeMilliseconds": spend.active_ms,
    }
