"""Reads a change's files for the gate: secrets, signs in product code, what the referee lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from app.domain.check import Check
from app.domain.deciding import Deciding
from app.domain.edit import EXECUTABLE, FILE, LINK, Delta
from app.domain.errors import Halt, Reason
from app.domain.policy import Rules
from app.domain.redact import secret_kinds
from app.domain.repo_config import CONFIG_PATH, ConfigError, RepoConfig
from app.domain.signs import signs
from app.domain.strange import aims_at, large, strange
from app.domain.touched import runners, shadows, touches
from worker.runner.stages.check_kit import CheckKit

REGULAR = (FILE, EXECUTABLE)
OWN = "one of this service's own secrets"
PROSE = (".md", ".rst", ".txt", ".adoc")
STARTERS = frozenset(
    {
        "gnumakefile",
        "justfile",
        "makefile",
        "noxfile.py",
        "package.json",
        "setup.cfg",
        "taskfile.yml",
        "tox.ini",
    }
)
STARTER_CAP = 256 << 10  # bytes of a manifest that is looked at for the scripts that it starts
SIGNS = 60  # sentences about product code


def secrets_in(
    kit: CheckKit, old: str, new: str, deltas: Sequence[Delta]
) -> Iterator[tuple[str, str]]:
    """(path, kind) of what looks like a secret in the added lines, or is one of ours."""
    for delta in deltas:
        lines = [text for _, text in added(kit, old, new, delta)]
        yield from ((delta.path, kind) for kind in secret_kinds((delta.path, *lines)))
        if kit.knows("\n".join((delta.path, *lines))):
            yield delta.path, OWN


def free_of_secrets(kit: CheckKit, old: str, new: str, deltas: Sequence[Delta]) -> None:
    """Raise `Halt(SECRET_FOUND)`, which names the path and the kind and never the secret."""
    found = list(secrets_in(kit, old, new, deltas))
    if found:
        path = found[0][0]
        where = "a path" if any(kit.knows(path) for path, _ in found) else f"`{path}`"
        raise Halt(
            Reason.SECRET_FOUND,
            f"The change adds what looks like a secret to {where}; nothing of it is published or "
            "shown.",
            "Look whether the issue or the repository holds a real secret, and revoke it.",
            tuple(f"{where}: {kind}" for path, kind in found if f"`{path}`" == where)
            or tuple(kind for _, kind in found),
        )


def added(kit: CheckKit, old: str, new: str, delta: Delta) -> list[tuple[int, str]]:
    """The lines (number, text) that the candidate adds to one file, however long; none for what is
    no file."""
    if delta.new_mode not in REGULAR:
        return []
    lines = kit.objects.read(new, delta.path).splitlines()
    regular = delta.old_mode in REGULAR
    known = frozenset(kit.objects.read(old, delta.path).splitlines()) if regular else frozenset()
    return [
        (number, line.decode("utf-8", "replace"))
        for number, line in enumerate(lines, 1)
        if line not in known
    ]


def started(kit: CheckKit, base: str, deltas: Sequence[Delta], checks: Sequence[Check]) -> set[str]:
    """Changed scripts that the checks start, directly or through the base's manifests."""
    changed = {delta.path for delta in deltas}
    texts = [
        kit.objects.read(base, entry.path).decode("utf-8", "replace")
        for entry in kit.objects.entries(base)
        if entry.mode in REGULAR
        and entry.path.rpartition("/")[2].lower() in STARTERS
        and entry.size <= STARTER_CAP
    ]
    found: set[str] = set()
    while more := runners(checks, texts, changed - found):
        found |= more
        there = [d.path for d in deltas if d.path in more and d.old_mode in REGULAR]
        texts += [kit.objects.read(base, path).decode("utf-8", "replace") for path in there]
    return found


def referee_sentences(
    kit: CheckKit,
    old: str,
    new: str,
    deltas: Sequence[Delta],
    rules: Rules,
    decided: Deciding,
    silent: Collection[str] = (),
) -> tuple[str, ...]:
    """What the change did to what decides about it. A new test is none of that. Of `silent` paths
    no line is quoted."""
    said: list[str] = []
    known = {entry.path for entry in kit.objects.entries(old)}
    more = decided.paths
    for delta in deltas:
        path = delta.path
        test = rules.test(path) or path in decided.tests
        if not delta.old_mode and (test or path.endswith(".py")):
            said += [sentence] if (sentence := shadows(path, known)) else []
        if rules.referee(path) or path in more or (test and delta.old_mode):
            said += [f"`{path}` decides: {why}."] if (why := decided.why(path)) else []
            if path in decided.spliced:
                said.append(
                    f"`{path}`: an example in its documentation, which is run as a test, "
                    "is gone or reads otherwise now."
                )
                continue
            if delta.new_mode not in (0, *REGULAR):
                kind = "link" if delta.new_mode == LINK else "submodule"
                said.append(f"`{path}` is a {kind} now.")
                continue
            before = kit.objects.read(old, path) if delta.old_mode in REGULAR else None
            after = kit.objects.read(new, path) if delta.new_mode in REGULAR else None
            told = touches(path, before, after, test=test)
            said += told[:1] if path in silent or delta.added < 0 else told
            if path == CONFIG_PATH:
                said += _own_rules(kit, before, after)
    return tuple(said)


def _own_rules(kit: CheckKit, before: bytes | None, after: bytes | None) -> list[str]:
    """What a changed configuration would mean once it is merged; this run keeps to the base's."""
    if after is None:
        return []
    try:
        now = kit.config_of(after)
    except ConfigError as wrong:
        return [f"`{CONFIG_PATH}` cannot be used as it is in this change: {str(wrong)[:300]}"]
    try:
        was = kit.config_of(before) if before is not None else RepoConfig()
    except ConfigError:
        return []
    left = {one.name for one in now.checks}
    gone = [f"`{one.name}`" for one in was.checks if one.name not in left]
    return [f"`{CONFIG_PATH}` has no check {', '.join(gone)} any more."] if gone else []


def sign_sentences(
    kit: CheckKit,
    old: str,
    new: str,
    deltas: Sequence[Delta],
    rules: Rules,
    checks: Sequence[Check],
    silent: Collection[str] = (),
) -> tuple[str, ...]:
    """Static signs in the product code that the change adds; of `silent` paths no line is
    quoted."""
    reports = [check.report for check in checks if check.report]
    said: list[str] = []
    for delta in deltas:
        path = delta.path
        if rules.test(path) or rules.referee(path) or path.lower().endswith(PROSE):
            continue
        found = signs(path, added(kit, old, new, delta), reports)
        said += [str(replace(one, text="(not shown)") if path in silent else one) for one in found]
    return tuple(said[:SIGNS])


def strange_sentences(
    kit: CheckKit, old: str, new: str, deltas: Sequence[Delta]
) -> tuple[str, ...]:
    """What the difference does not show: hidden characters, links, binaries, modes, size."""
    entries = {entry.path: entry.oid for entry in kit.objects.entries(new)}
    folders = {path[:at] for path in entries for at, char in enumerate(path) if char == "/"}
    said = list(large(deltas))
    for delta in deltas:
        target = ""
        if delta.new_mode == LINK:
            target = kit.objects.blob(entries[delta.path]).decode("utf-8", "replace")
        aim = aims_at(delta.path, target)
        lines = added(kit, old, new, delta) if delta.added >= 0 else ()
        said += strange(delta, lines, target, aim in entries or aim in folders or aim == ".")
    return tuple(said)
