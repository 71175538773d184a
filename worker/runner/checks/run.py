"""Runs one check on one tree in a fresh container and makes of it a recorded result.

Every result is in the journal before it is used; a new worker takes it from there instead of
running the check again (docs: the evidence is what was measured, never what was said).
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from app.domain.check import Case, Check, CheckResult, Outcome, Standing
from app.domain.errors import (
    SERVICE_NOT_READY,
    Halt,
    IntegrityError,
    Park,
    Reason,
    Refused,
    Unavailable,
    Waiting,
)
from app.domain.ports.hold import Hold
from app.domain.ports.objects import Objects
from app.domain.ports.sandbox import Job, Sandbox
from app.domain.record import Kept
from app.domain.redact import without_secrets
from app.domain.repo_config import CONFIG_PATH
from worker.runner.checks.again import doubtful, settled
from worker.runner.checks.compare import compare, packed, subset_of, unpacked
from worker.runner.checks.heard import Source, hear, source_of
from worker.runner.checks.narrow import narrowed, selectable
from worker.runner.checks.output import log_of, tail_of
from worker.runner.checks.quiet import quiet, quiet_failures, quiet_source
from worker.runner.checks.remember import remember, remembered
from worker.runner.checks.rules import Seen, stand

FAILURES_KEPT = 12
BASELINE = "baseline"  # the phase whose results later runs on the same tree may use
PAUSE = 30.0  # seconds until a sandbox that gave no time of its own is asked again


@dataclass(frozen=True)
class Certifier:
    """Certifies checks for one held run."""

    hold: Hold
    objects: Objects
    sandbox: Sandbox

    def __call__(
        self,
        run: str,
        phase: str,
        check: Check,
        tree: str,
        image: str,
        baseline: CheckResult | None = None,
        attempt: int = 0,
        extra: Mapping[str, bytes] | None = None,
        selectors: Sequence[str] = (),
    ) -> CheckResult:
        """The result of `check` on `tree`: taken from the journal, else measured and recorded.

        `phase` says what it is run for and, with `attempt`, is part of its name in the journal.
        `baseline` is the same check's result on the base tree, None when this is it; a baseline
        that an earlier run measured on the same tree, command and image is taken over. `extra`
        files are laid over the tree, `selectors` narrow the check. What fails newly against
        `baseline` is run once more: what then passes is flaky. Raises
        `Park(SANDBOX)` while no container can be had (never charged), `Halt(INFRASTRUCTURE)` when
        the sandbox refuses, and what `hold.look` raises.
        """
        key: dict[str, Any] = {
            "phase": phase,
            "check": check.name,
            "digest": check.digest(),
            "tree": tree,
            "image": image,
            "attempt": attempt,
        }
        plain = not extra and not selectors
        if not plain:
            key["extra"] = {path: _digest(data) for path, data in (extra or {}).items()}
            key["selectors"] = list(selectors)
        for result in _recorded(self.hold, key):
            return result
        first = plain and phase == BASELINE and baseline is None
        found = remembered(self.hold, check, tree, image) if first else None
        if found is None:
            with sandbox_faults(first=first):
                outcome = self._measured(run, check, tree, image, extra or {}, selectors)
            found = self._result(check, tree, image, outcome, baseline)
            if first:
                remember(self.hold, check, found)
            elif plain:
                found = self._settled(run, check, tree, image, found)
        self.hold.note(Kept.CHECK, {**key, "result": msgspec.to_builtins(found)})
        return found

    def _measured(
        self,
        run: str,
        check: Check,
        tree: str,
        image: str,
        extra: Mapping[str, bytes],
        selectors: Sequence[str],
    ) -> Outcome:
        tar = self.objects.tar(tree, extra)
        job = job_of(check, narrowed(check.selector, selectors) if selectors else ())
        return self.sandbox.certify(run, image, job, tar, self.hold.look)

    def _settled(
        self, run: str, check: Check, tree: str, image: str, result: CheckResult
    ) -> CheckResult:
        """The result with its new failures seen twice: narrowed where the check can be."""
        tests = doubtful(result)
        if not tests:
            return result
        selectors = selectable(tests) if check.selector else ()
        with sandbox_faults():
            outcome = self._measured(run, check, tree, image, {}, selectors)
        paths = frozenset(entry.path for entry in self.objects.entries(tree))
        again = hear(check, quiet(outcome), paths, source_of(self.objects, tree, paths))
        return settled(result, again.cases or (), outcome.ms)

    def _result(
        self, check: Check, tree: str, image: str, outcome: Outcome, baseline: CheckResult | None
    ) -> CheckResult:
        paths = frozenset(entry.path for entry in self.objects.entries(tree))
        source = source_of(self.objects, tree, paths)
        known = self._known(baseline)
        return read_outcome(check, tree, image, outcome, paths, self.hold, source, baseline, known)

    def _known(self, baseline: CheckResult | None) -> tuple[Case, ...] | None:
        """The baseline's cases, None where there is nothing to compare with."""
        if baseline is None or not baseline.cases:
            return None
        return unpacked(self.hold.get(baseline.cases))


@contextmanager
def sandbox_faults(*, first: bool = False) -> Iterator[None]:
    """Turns what the sandbox cannot do into a wait or an ending; neither is charged.

    A service that does not get ready for the `first` check of a base is the configuration's
    fault; later, beside the same checks, it is the machine's, and waited for."""
    try:
        yield
    except Unavailable as away:
        raise Park(Waiting.SANDBOX, away.retry_after or PAUSE, str(away)) from away
    except (Refused, IntegrityError) as refused:
        if isinstance(refused, Refused) and refused.status == SERVICE_NOT_READY:
            if not first:
                raise Park(Waiting.SANDBOX, PAUSE, str(refused)) from refused
            raise Halt(
                Reason.CHECKS_UNAVAILABLE,
                f"No check can run without its services: {refused}",
                f"Correct `services` in {CONFIG_PATH} on the default branch (what is in memory, "
                "without root and without a network, docs/setup.md tells), then label the issue "
                "again. Nothing was asked of the model.",
            ) from refused
        raise Halt(
            Reason.INFRASTRUCTURE,
            f"The sandbox could not run a check: {refused}",
            "The operator's log says more; label the issue again when it is put right.",
        ) from refused


def read_outcome(
    check: Check,
    tree: str,
    image: str,
    outcome: Outcome,
    paths: frozenset[str],
    hold: Hold,
    source: Source,
    baseline: CheckResult | None = None,
    known: Sequence[Case] | None = None,
) -> CheckResult:
    """What an outcome says, with its log and cases kept as artifacts.

    `paths` are the tree's files, `source` reads one, `known` are the baseline's cases where there
    are any.
    """
    outcome = quiet(outcome)
    heard = hear(check, outcome, paths, quiet_source(source))
    cases = heard.cases
    comparison = compare(known, cases) if cases is not None and known is not None else None
    standing, reason = stand(Seen(check, outcome, heard, comparison, names_of(paths), baseline))
    return CheckResult(
        check=check.name,
        digest=check.digest(),
        tree=tree,
        image=image,
        standing=standing,
        reason=reason,
        exit_code=outcome.exit_code,
        ms=outcome.ms,
        counts=heard.counts,
        failures=quiet_failures(heard.failures) if standing is not Standing.PASSED else (),
        log=hold.put(log_of(outcome)),
        tail=without_secrets(tail_of(outcome)),
        cases="" if cases is None else hold.put(packed(cases)),
        comparison=comparison,
        subset=subset_of(outcome, cases, known),
        parsed=heard.by,
        limit=outcome.limit_words,
    )


def job_of(check: Check, argv: tuple[str, ...] = (), seconds: int = 0) -> Job:
    """The check as a job of the sandbox; `argv` and `seconds` replace the check's own."""
    return Job(
        argv=argv or check.argv,
        env=dict(check.env),
        workdir=check.workdir,
        report=check.report,
        seconds=min(seconds, check.timeout) if seconds else check.timeout,
        name=check.name,
    )


def names_of(paths: frozenset[str]) -> frozenset[str]:
    """Names that an import inside the repository may begin with: its folders and modules."""
    found: set[str] = set()
    for path in paths:
        *folders, name = path.split("/")
        found.update(folders)
        found.add(posixpath.splitext(name)[0])
    return frozenset(found)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _recorded(hold: Hold, key: Mapping[str, Any]) -> Iterator[CheckResult]:
    for entry in hold.entries():
        if entry.kind is Kept.CHECK and all(entry.data.get(k) == v for k, v in key.items()):
            yield msgspec.convert(entry.data["result"], CheckResult)
