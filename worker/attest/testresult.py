"""The same evidence in the words of in-toto's own predicate for tests, for tools that know it.

See in-toto.io, predicate test-result v0.1. Only a passed verdict is PASSED: what is partial or
unknown is FAILED here, since a reader of this form could take WARNED for good enough.
"""

from __future__ import annotations

from typing import Any

from app.domain.check import CheckResult, Standing
from app.domain.errors import IntegrityError
from app.domain.evidence import Result
from app.domain.run import Run
from worker.attest.canonical import canonical
from worker.attest.statement import STATEMENT_TYPE, subject

TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
ROOM = 8_000  # bytes
_IDS = (100, 20, 4, 0)
_WARNED = (Standing.SKIPPED, Standing.UNAVAILABLE)


def build(run: Run, commit: str) -> bytes:
    """The statement as canonical JSON of at most `ROOM` bytes. Raises `IntegrityError`."""
    about = subject(run, commit)
    for most in _IDS:
        made = canonical(
            {
                "_type": STATEMENT_TYPE,
                "subject": [about],
                "predicateType": TEST_RESULT_TYPE,
                "predicate": _predicate(run, most),
            }
        )
        if len(made) <= ROOM:
            return made
    raise IntegrityError(f"The test result of run {run.id} is longer than {ROOM} bytes.")


def _predicate(run: Run, most: int) -> dict[str, Any]:
    """Checks by name; of their tests the ids that did not pass, as `check: id`."""
    assert run.verdict is not None
    tree = run.verdict.tree
    required = [check.name for check in run.snapshot.checks] if run.snapshot else []
    results = {one.check: one for one in run.results if one.tree == tree}
    failed = [one for one in results.values() if one.standing is Standing.FAILED]
    return {
        "result": "PASSED" if run.verdict.result is Result.PASSED else "FAILED",
        "configuration": _configuration(run),
        "passedTests": sorted(
            name for name, one in results.items() if one.standing is Standing.PASSED
        ),
        "warnedTests": sorted(
            {name for name, one in results.items() if one.standing in _WARNED}
            | {name for name in required if name not in results}
        ),
        "failedTests": sorted({one.check for one in failed}) + _ids(failed, most),
    }


def _ids(failed: list[CheckResult], most: int) -> list[str]:
    return sorted({f"{one.check}: {bad.test}"[:400] for one in failed for bad in one.failures})[
        :most
    ]


def _configuration(run: Run) -> list[dict[str, Any]]:
    """What the checks depended on, as resource descriptors."""
    found: list[dict[str, Any]] = []
    if run.contract is not None and run.contract.config_source:
        found.append(
            {"name": ".github/agent.yml", "digest": {"gitBlob": run.contract.config_source}}
        )
    if run.snapshot is not None:
        image = run.snapshot.image.removeprefix("sha256:")
        found.append({"name": "sandbox image", "digest": {"sha256": image}})
        found.append({"name": "sandbox profile", "digest": {"sha256": run.snapshot.profile}})
        found += [
            {"name": f"check {check.name}", "digest": {"sha256": check.digest()}}
            for check in run.snapshot.checks
        ]
    return found
