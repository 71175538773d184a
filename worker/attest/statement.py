"""The statement about one candidate: an in-toto Statement v1 over its git tree and git commit.

Lists become a count, a digest and the ids that did not pass. The bytes are canonical JSON, so that
the same run and commit give the same bytes (in-toto.io, Statement v1; subject digests `gitTree`
and `gitCommit` of in-toto's DigestSet).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from app.domain.check import Check, CheckResult, Standing
from app.domain.errors import IntegrityError
from app.domain.evidence import Finding
from app.domain.plan import Plan
from app.domain.run import Run

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://patchwarrant.dev/evidence/v1"

IDS = 200  # ids of a list that did not pass; more are counted
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no blanks, in ASCII; no floats are ever in it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(value: Any) -> str:
    """SHA-256 in hex over the canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


def build(run: Run, commit: str) -> bytes:
    """The statement about `run`'s verdict and its published `commit`, as canonical JSON.

    Raises `IntegrityError` where there is no verdict on the very candidate, or an id is no id."""
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
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {
                    "name": f"{run.repository.full_name}#{run.issue}",
                    "digest": {"gitTree": tree, "gitCommit": commit},
                }
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": _predicate(run),
        }
    )


def _predicate(run: Run) -> dict[str, Any]:
    assert run.contract is not None
    assert run.verdict is not None
    contract, verdict, snapshot = run.contract, run.verdict, run.snapshot
    return {
        "run": {"id": run.id, "kind": str(run.kind), "change": run.change, "event": run.event},
        "repository": {"id": run.repository.id, "name": run.repository.full_name},
        "requester": {"id": run.requester.id, "login": run.requester.login},
        "result": str(verdict.result).upper(),
        "wall": verdict.wall,
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
            "image": snapshot.image if snapshot else "",
            "profile": snapshot.profile if snapshot else "",
            "assumed": list(snapshot.assumed) if snapshot else [],
        },
        "plan": _plan(run.plan),
        "checks": _checks(run),
        "attempts": [
            {"gitTree": one.tree, "signature": one.signature, "standings": _standings(one.results)}
            for one in run.attempts
        ],
        "findings": [_finding(one) for one in verdict.findings],
        "limits": vars(contract.limits),
        "spend": _spend(run),
        "model": {"id": run.model, "prompts": run.prompts},
    }


def _plan(plan: Plan | None) -> dict[str, Any]:
    if plan is None:
        return {"digest": "", "files": 0, "amendments": 0}
    files = [[one.path, str(one.action), one.lines] for one in plan.files]
    return {"digest": digest(files), "files": len(files), "amendments": len(plan.amendments)}


def _checks(run: Run) -> list[dict[str, Any]]:
    """One entry a check: what was to run, its baseline, and its result on the subject's tree."""
    assert run.verdict is not None
    wanted = {check.name: check for check in run.snapshot.checks} if run.snapshot else {}
    before = {result.check: result for result in run.baseline}
    after = {one.check: one for one in run.results if one.tree == run.verdict.tree}
    return [
        {
            "name": name,
            "command": _command(wanted.get(name)),
            "baseline": _result(before.get(name)),
            "after": _result(after.get(name)),
        }
        for name in sorted({*wanted, *before, *after})
    ]


def _command(check: Check | None) -> dict[str, Any] | None:
    if check is None:
        return None
    return {
        "digest": check.digest(),
        "argvDigest": digest(list(check.argv)),
        "tier": str(check.tier),
        "timeout": check.timeout,
    }


def _result(result: CheckResult | None) -> dict[str, Any] | None:
    """None where the check did not run on that tree: never to be read as a pass."""
    if result is None:
        return None
    counts, compared = result.counts, result.comparison
    return {
        "gitTree": result.tree,
        "image": result.image,
        "digest": result.digest,
        "standing": str(result.standing),
        "reason": result.reason,
        "exitCode": result.exit_code,
        "milliseconds": result.ms,
        "counts": None
        if counts is None
        else {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped},
        "casesDigest": result.cases,
        "logDigest": result.log,
        "failed": _ids(sorted({failure.test for failure in result.failures})),
        "comparison": None
        if compared is None
        else {
            "newlyFailing": _ids(compared.newly_failing),
            "fixed": _ids(compared.fixed),
            "alreadyFailing": _ids(compared.already_failing),
            "newlySkipped": _ids(compared.newly_skipped),
            "gone": _ids(compared.gone),
            "new": len(compared.new),
        },
    }


def _ids(ids: Sequence[str]) -> dict[str, Any]:
    return {"count": len(ids), "digest": digest(list(ids)), "ids": list(ids[:IDS])}


def _standings(results: Sequence[CheckResult]) -> dict[str, int]:
    return {
        str(standing): sum(result.standing is standing for result in results)
        for standing in Standing
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "claim": finding.claim,
        "standing": str(finding.standing),
        "exhibits": list(finding.exhibits[:IDS]),
        "parts": [_finding(part) for part in finding.parts],
    }


def _spend(run: Run) -> dict[str, Any]:
    spend = run.spend
    return {
        "calls": spend.calls,
        "turns": spend.turns,
        "repairs": spend.repairs,
        "tryOuts": spend.try_outs,
        "microDollars": spend.dollars,
        "rateCard": spend.card,
        "inputTokens": spend.usage.total_input,
        "outputTokens": spend.usage.output,
        "sandboxMilliseconds": spend.sandbox_ms,
        "activeMilliseconds": spend.active_ms,
    }
