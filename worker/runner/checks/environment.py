"""The environment of a run's checks: set up from the base, and refused to changes of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from app.domain.check import Check, CheckResult, Standing
from app.domain.ecosystems import plan_setup
from app.domain.edit import Entry
from app.domain.errors import Halt, Park, Reason, Refused, Unavailable, Waiting
from app.domain.ports.hold import Hold
from app.domain.ports.objects import Objects
from app.domain.ports.sandbox import Sandbox
from app.domain.record import Kept
from app.domain.repo_config import CONFIG_PATH, RepoConfig
from app.domain.setup import SetupError, SetupOutcome, SetupPlan
from app.domain.text import printable

NEEDS = "needs-dependency"
PAUSE = 30.0
TAIL = 2_000  # characters of a log shown to people
LINES = 30
NOTE = "setup"
# As OpenSSL, Node and others say it of a certificate that none of their CAs signed.
UNTRUSTED = (
    b"CERTIFICATE_VERIFY_FAILED",
    b"self-signed certificate",
    b"SELF_SIGNED_CERT",
    b"unable to get local issuer certificate",
    b"UNABLE_TO_GET_ISSUER_CERT",
)


class Seams(Protocol):
    """What is needed of a held run."""

    @property
    def hold(self) -> Hold: ...

    @property
    def objects(self) -> Objects: ...

    @property
    def sandbox(self) -> Sandbox: ...


def planned(
    objects: Objects, tree: str, config: RepoConfig, entries: tuple[Entry, ...]
) -> SetupPlan:
    """What the tree's checks need. Raises `SetupError`."""
    return plan_setup(
        entries,
        lambda path: objects.read(tree, path),
        config.setup,
        config.services,
        config.egress,
        default_image=not config.image,
    )


def set_up(
    kit: Seams, run: str, config: RepoConfig, tree: str, entries: tuple[Entry, ...], image: str
) -> tuple[str, tuple[str, ...]]:
    """(image of the environment, sentences for people) for the base tree over a base image.

    Recorded in the journal with its log. Raises `Halt(SETUP_FAILED)` with the log's end before any
    model call, `Halt(CONFIG_ERROR)` for what the operator does not allow, `Park(SANDBOX)`."""
    try:
        plan = planned(kit.objects, tree, config, entries)
    except SetupError as wrong:
        raise Halt(Reason.CONFIG_ERROR, str(wrong), f"Change it in {CONFIG_PATH}.") from wrong
    known = {NOTE: plan.digest(), "tree": tree, "base": image}
    if plan.empty:
        kit.hold.note(Kept.NOTE, {**known, "image": image})
        return image, ()
    made = _made(kit, run, image, plan)
    log = kit.hold.put(made.log)
    told = {"key": made.key, "ms": made.ms, "reused": made.reused, "log": log}
    kit.hold.note(Kept.NOTE, {**known, "image": made.image, **told, "error": made.error})
    if not made.image:
        turned = f" These hosts are not allowed: {', '.join(made.refused)}." if made.refused else ""
        raise Halt(
            Reason.SETUP_FAILED,
            f"The set-up of the checks' environment failed: {made.error}.{turned}"
            f"{_trust(made.log)}",
            f"Correct the dependencies or `setup` in {CONFIG_PATH} on the default branch (hosts "
            "belong under `egress`; a set-up sees manifests, lock files and what its `setup.files` "
            "name), then label the issue again. Nothing was asked of the model.",
            tuple(_tail(made.log).splitlines()[-LINES:]),
        )
    how = "made before" if made.reused else f"made in {made.ms / 1000:.1f} s"
    return made.image, (*plan.assumed, f"Set-up: environment {made.key[:12]}, {how}.")


def _made(kit: Seams, run: str, image: str, plan: SetupPlan) -> SetupOutcome:
    try:
        return kit.sandbox.set_up(run, image, plan, kit.hold.look)
    except Unavailable as away:
        raise Park(Waiting.SANDBOX, away.retry_after or PAUSE, str(away)) from away
    except Refused as refused:
        raise Halt(
            Reason.CONFIG_ERROR,
            f"The set-up is refused: {refused}.",
            f"Change `setup`, `services` or `egress` in {CONFIG_PATH}, or ask the operator.",
        ) from refused


def _trust(log: bytes) -> str:
    """What helps where a client did not trust the certificate that it was shown."""
    if not any(word in log for word in UNTRUSTED):
        return ""
    return " A certificate was not trusted: its CA belongs into PATCHWARRANT_SETUP_CERTIFICATES."


def _tail(log: bytes) -> str:
    return printable(log[-2 * TAIL :])[-TAIL:]


@dataclass(frozen=True)
class InEnvironment:
    """A `Certify` before another one: a tree whose set-up differs from the base's is not run in the
    base's environment. It gets one of its own where the base's configuration says `again`."""

    hold: Hold
    objects: Objects
    sandbox: Sandbox
    config: RepoConfig
    certify: Callable[..., CheckResult]

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
        rest = (baseline, attempt, extra, selectors)
        known = self._known(image)
        if known is None or tree == known["tree"]:
            return self.certify(run, phase, check, tree, image, *rest)
        try:
            plan = planned(self.objects, tree, self.config, self.objects.entries(tree))
        except SetupError as wrong:
            return self._unavailable(phase, check, tree, image, attempt, str(wrong))
        if plan.digest() == known[NOTE]:
            return self.certify(run, phase, check, tree, image, *rest)
        again = self.config.setup is not None and self.config.setup.again
        if not again:
            why = (
                "needs new dependencies: the change alters what set-up installs, and checks run "
                "in the environment of the base commit. `setup: {again: true}` would allow it."
            )
            return self._unavailable(phase, check, tree, image, attempt, why)
        made = _made(self, run, str(known["base"]), plan)
        if not made.image:
            why = f"the set-up of the change failed: {made.error}\n{_tail(made.log)}"
            return self._unavailable(phase, check, tree, image, attempt, why)
        return self.certify(run, phase, check, tree, made.image, *rest)

    def _known(self, image: str) -> Mapping[str, Any] | None:
        """The newest note of a set-up that made `image`."""
        for entry in reversed(self.hold.entries()):
            if entry.kind is Kept.NOTE and NOTE in entry.data and entry.data.get("image") == image:
                return entry.data
        return None

    def _unavailable(
        self, phase: str, check: Check, tree: str, image: str, attempt: int, why: str
    ) -> CheckResult:
        result = CheckResult(
            check=check.name,
            digest=check.digest(),
            tree=tree,
            image=image,
            standing=Standing.UNAVAILABLE,
            reason=NEEDS,
            exit_code=None,
            ms=0,
            counts=None,
            failures=(),
            log=self.hold.put(why.encode()),
            tail=why,
        )
        told = {
            "phase": phase,
            "check": check.name,
            "digest": result.digest,
            "tree": tree,
            "image": image,
            "attempt": attempt,
            "result": msgspec.to_builtins(result),
        }
        self.hold.note(Kept.CHECK, told)
        return replace(result)
