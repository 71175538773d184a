"""A range of commits as a run of kind verify: its head is the candidate, all rules are base's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.budget import Limits
from app.domain.contract import Contract, Request
from app.domain.edit import Delta
from app.domain.errors import Halt, Reason
from app.domain.event import Person
from app.domain.event import Repository as Named
from app.domain.ports.objects import Objects
from app.domain.redact import without_secrets
from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig
from app.domain.run import Run
from app.domain.setup import SetupError
from app.domain.state import Kind, State
from worker.config_file import placed
from worker.local.repository import NotFound, Repository
from worker.runner.checks.environment import planned
from worker.runner.stages.foreign import candidate_of
from worker.runner.stages.prepare import checks_at


@dataclass(frozen=True)
class Range:
    """What is looked at: two commits with their trees, how the base is called, what was noted on
    the way (another base than the one that was named), and what lies beside the head, uncommitted.
    """

    base: str
    head: str
    base_tree: str
    tree: str
    base_name: str
    notes: tuple[str, ...] = ()
    beside: str = ""


def ranged(repository: Repository, words: str) -> Range:
    """`BASE..HEAD`, `BASE` (to HEAD) or nothing (the default branch to HEAD). The base is where
    both parted, as a pull request compares. Raises `NotFound`."""
    left, dots, right = words.partition("..")
    right = right.lstrip(".")
    name = left or repository.default_branch()
    head = repository.commit(right if dots and right else "HEAD")
    named = repository.commit(name)
    base = repository.merge_base(named, head)
    notes: tuple[str, ...] = ()
    if base != named:
        notes = (f"{name} has moved on since: compared with {base[:12]}, where both parted.",)
    beside = repository.uncommitted() if head == repository.head() else ""
    if base == head:
        said = f"Nothing lies between {name} and {head[:12]}: name another range."
        raise NotFound(f"{said} {beside}".rstrip())
    base_tree, tree = repository.tree_of(base), repository.tree_of(head)
    if base_tree == tree:
        said = f"{name}..{head[:12]} changes no file: name another range."
        raise NotFound(f"{said} {beside}".rstrip())
    short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    return Range(base, head, base_tree, tree, short, notes, beside)


def valid(objects: Objects, found: Range) -> None:
    """Raise `Halt` for a tree of either side that no check could be given; it says which."""
    objects.validate(found.base_tree)
    try:
        objects.validate(found.tree)
    except Halt as halt:
        one = halt.record
        said = one.message.replace("The base commit", f"The head {found.head[:12]}", 1)
        raise Halt(one.reason, said, "Change it in a further commit.", one.details) from halt


def runnable(run: Run, objects: Objects, base_tree: str) -> None:
    """Raise what prepare would raise of the base alone, before any sandbox is asked: no checks, a
    set-up that is none."""
    config = run.contract.config if run.contract else RepoConfig()
    entries = objects.entries(base_tree)
    checks_at(objects, config, base_tree, entries)
    try:
        planned(objects, base_tree, config, entries)
    except SetupError as wrong:
        said = f"The set-up at the base commit is wrong: {wrong}"
        raise Halt(Reason.CONFIG_ERROR, said, f"Change it in {CONFIG_PATH}.") from wrong


def run_of(
    found: Range,
    repository: Repository,
    objects: Objects,
    config_of: Callable[[bytes], RepoConfig],
    who: str,
    now: int,
) -> tuple[Run, tuple[Delta, ...]]:
    """(a run that is ready to be prepared, what the range changes). Raises `ConfigError` for a
    configuration at base that cannot be read, and names it."""
    source = next((e.oid for e in objects.entries(found.base_tree) if e.path == CONFIG_PATH), "")
    where = f"{CONFIG_PATH} at the base commit {found.base[:12]}"
    try:
        config = config_of(objects.read(found.base_tree, CONFIG_PATH)) if source else RepoConfig()
    except ConfigError as wrong:
        said = placed(wrong, where).rstrip(".")
        raise ConfigError(f"{said}. Correct it in a commit on the base.") from None
    deltas = objects.deltas(found.base_tree, found.tree)
    title, author, day = map(without_secrets, repository.message(found.head))
    digest = hashlib.sha256(found.head.encode()).hexdigest()
    name = f"local-{found.head[:12]}"
    run = Run(
        id=name,
        kind=Kind.VERIFY,
        change=name,
        event="local",
        installation=0,
        repository=Named(0, "local", repository.path.resolve().name),
        issue=0,
        requester=Person(0, who),
        created=now,
        state=State.PREPARE,
        contract=Contract(
            request=Request(title, "", digest, 0, author, who, day),
            criteria=(),
            base_branch=found.base_name,
            base_commit=found.base,
            config=config,
            config_source=source,
            limits=Limits(),
        ),
        candidate=candidate_of(objects, found.base_tree, found.tree),
    )
    return run, deltas
