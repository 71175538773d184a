"""Prepare: base (and a foreign head) into the object store, the image, every check's baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.domain.check import Check
from app.domain.contract import Contract
from app.domain.edit import Entry
from app.domain.errors import Halt, Missing, Park, Reason, Refused, Unavailable, Waiting
from app.domain.hints import hints_of
from app.domain.ports.objects import Objects
from app.domain.recognise import nothing_recognised, recognise
from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig, checks_of
from app.domain.run import Run, Snapshot
from app.domain.state import JUDGING, Kind, Signal
from app.domain.untested import Untested, untested
from worker.runner.checks.environment import set_up
from worker.runner.checks.missing import some_check_starts
from worker.runner.stages.check_kit import BASELINE, CheckKit, charged
from worker.runner.stages.foreign import candidate_of, merge_of

PAUSE = 30.0
UNKNOWN_TOKEN = 401


def prepare(kit: CheckKit) -> Callable[[Run], Run]:
    """The stage for one held run. Raises `Halt` with BASE_LOST, BASE_INVALID, INTEGRITY, NO_CHECKS,
    CHECKS_UNAVAILABLE, SETUP_FAILED, CONFIG_ERROR or NEEDS_OPERATOR, and `Park(SANDBOX)`."""

    def stage(run: Run) -> Run:
        contract = run.contract
        if contract is None:
            raise LookupError("a run without a contract cannot be prepared")
        tree, head, fork = _fetched(kit, run, contract)
        kit.objects.validate(tree)
        if head:
            _valid_head(kit, head)
        revises = run.kind is Kind.REVISE
        if head and not revises:  # a pull request as it is, or with its base merged in
            made = candidate_of(kit.objects, tree, head) if not fork else None
            trees = fork, head, tree
            made = made or merge_of(kit.objects, kit.hold.put, trees, contract.base_branch)
            run = replace(run, candidate=made)
        entries = kit.objects.entries(tree)
        config = _config(kit, contract, tree, entries)
        explains = run.kind is Kind.EXPLAIN
        found = NO_CHECK if explains else checks_at(kit.objects, config, tree, entries)
        checks, assumed = found.checks, found.assumed
        image, profile = _image(kit, config.image)
        if explains:  # nothing will be compared
            snapshot = Snapshot(tree, image, profile, (), (), hints_of(entries))
            return replace(run, snapshot=snapshot).moved(Signal.DONE)
        image, told = set_up(kit, run.id, config, tree, entries, image)
        hints = () if run.kind in JUDGING else hints_of(entries)  # no model reads them there
        snapshot = Snapshot(tree, image, profile, checks, (*assumed, *told), hints)
        snapshot = replace(snapshot, untested=found.untested)
        if revises:  # its edits begin at the head; what they are compared with is the base
            snapshot = replace(snapshot, head_tree=head, head=contract.head)
        run = replace(run, snapshot=snapshot)
        run = _baseline(kit, run, tree, image, checks)
        if run.kind not in JUDGING:  # what others made costs no model call
            some_check_starts(checks, run.baseline)
        return run.moved(Signal.DONE)

    return stage


def _fetched(kit: CheckKit, run: Run, contract: Contract) -> tuple[str, str, str]:
    """Trees of the base, of a pull request's head, and of where both parted if they are to be
    merged; "" where the contract names none. A token that ended before its time (expired, revoked)
    is asked for anew, once."""
    try:
        return _trees(kit, run, contract)
    except Refused as refusal:
        if refusal.status != UNKNOWN_TOKEN:
            raise
    return _trees(kit, run, contract)


def _trees(kit: CheckKit, run: Run, contract: Contract) -> tuple[str, str, str]:
    """GitHub serves a fork's head from the repository that its pull request is in."""
    wanted = (
        ("base commit", contract.base_commit),
        ("head", contract.head),
        ("merge base", contract.fork),
    )
    found, name = list[str](), wanted[0]
    try:
        with kit.fetch(run) as (url, token):
            for name in wanted:
                found.append(kit.objects.fetch(url, token, name[1]) if name[1] else "")
            return found[0], found[1], found[2]
    except Missing as gone:
        raise Halt(
            Reason.BASE_LOST,
            f"The {name[0]} {name[1][:12]} could not be fetched: {gone}",
            "Label the issue again: the run then starts from the branch as it is now.",
        ) from gone


def _valid_head(kit: CheckKit, tree: str) -> None:
    """What is said of a base that cannot be kept, said of somebody's head."""
    try:
        kit.objects.validate(tree)
    except Halt as halt:
        one = halt.record
        said = one.message.replace("The base commit", "The head of the pull request", 1)
        raise Halt(one.reason, said, one.next_step, one.details) from halt


def _config(kit: CheckKit, contract: Contract, tree: str, entries: tuple[Entry, ...]) -> RepoConfig:
    """The configuration of the tree itself; it must be the one that the run was admitted with."""
    entry = next((one for one in entries if one.path == CONFIG_PATH), None)
    if (entry.oid if entry else "") != contract.config_source:
        raise _other(f"{CONFIG_PATH} at the base commit is another file than at admission")
    if entry is None:
        return contract.config
    try:
        config = kit.config_of(kit.objects.read(tree, CONFIG_PATH))
    except (ConfigError, Missing) as error:
        raise _other(
            f"{CONFIG_PATH} was read at admission and cannot be read now: {error}"
        ) from None
    if replace(config, assumed=()) != replace(contract.config, assumed=()):
        raise _other(f"{CONFIG_PATH} says something else than what the run was admitted with")
    return config


def _other(what: str) -> Halt:
    return Halt(Reason.INTEGRITY, what, "Label the issue again; nothing was run.")


@dataclass(frozen=True)
class ChecksFound:
    """The checks of a base tree, what was assumed, and folders with tests that none of them runs
    (looked for only where the checks were recognised)."""

    checks: tuple[Check, ...]
    assumed: tuple[str, ...] = ()
    untested: tuple[Untested, ...] = ()


NO_CHECK = ChecksFound(())


def checks_at(
    objects: Objects, config: RepoConfig, tree: str, entries: tuple[Entry, ...]
) -> ChecksFound:
    """The checks of a base tree: configured, else recognised. Raises `Halt(NO_CHECKS)`."""
    if config.checks:
        return ChecksFound(checks_of(config))

    def read(path: str) -> bytes:
        return objects.read(tree, path)

    found = recognise(entries, read)
    aside = untested(entries, read, found.checks)
    if not found.checks:
        raise Halt(
            Reason.NO_CHECKS,
            "No check is configured, and this is no project that is recognised by itself: nothing "
            "could show whether a change works.",
            nothing_recognised(),
            tuple(one.said for one in aside),
        )
    return ChecksFound(found.checks, found.assumed, aside)


def _image(kit: CheckKit, name: str) -> tuple[str, str]:
    try:
        return kit.sandbox.image(name)
    except Unavailable as away:
        raise Park(Waiting.SANDBOX, away.retry_after or PAUSE, str(away)) from away
    except Refused as refused:
        if name:
            raise Halt(
                Reason.CONFIG_ERROR,
                f"The image `{name}` of {CONFIG_PATH} cannot be used: {refused}",
                "Name an image that this installation allows, or remove the key `image`.",
            ) from refused
        raise Halt(
            Reason.NEEDS_OPERATOR,
            f"The sandbox has no image: {refused}",
            "The operator builds the default image; label the issue again afterwards.",
        ) from refused


def _baseline(kit: CheckKit, run: Run, tree: str, image: str, checks: tuple[Check, ...]) -> Run:
    """Every check on the base tree; one that cannot run there is kept as unavailable."""
    results = tuple(kit.certify(run.id, BASELINE, check, tree, image) for check in checks)
    ran = sum(result.ms for result in results if not result.cached)
    return charged(replace(run, baseline=results), ran)
