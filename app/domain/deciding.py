"""Which changed paths decide about the change, beside those that a rule knows by name.

Looked at is what the base's checks start and name, what its settings and tests name, which tests
ran, and what kind of file a path is. What decides for one check alone (its program, its scripts)
is put back for that check alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.aids import Aids, foreign_modules, import_places
from app.domain.base_files import MOUNT, BaseFiles
from app.domain.check import Check
from app.domain.doctest_examples import lost_examples, with_examples
from app.domain.edit import Delta
from app.domain.kinds import deciding_kind
from app.domain.policy import Rules
from app.domain.runner_settings import add_settings
from app.domain.started import SOURCE, Trail, trail_of
from app.domain.usurpers import usurpers

_ASSERTS = re.compile(r"assert|\bdef test|\b(?:it|test|describe|expect|specify|should)\b|Test\b")
_LAST = re.compile(r"[^:>]+$")


@dataclass(frozen=True)
class Deciding:
    """`every` decide for all checks, `own` for the checks whose digests they are listed under;
    each with the words that say why. `tests` are those of `every` that are tests, `fresh` new test
    files (put back like all tests, and nothing to accuse). `spliced` are product files that carry
    tests of the base, with their text as it is with the base's tests put back, None where that
    cannot be done."""

    every: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tests: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()
    spliced: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def paths(self) -> frozenset[str]:
        """All that decide for some check."""
        own = (path for paths in self.own.values() for path in paths)
        return frozenset((*self.every, *own, *self.spliced))

    def why(self, path: str) -> str:
        found = (self.every, *self.own.values())
        return next((paths[path] for paths in found if path in paths), "")

    def of(self, check: Check, deltas: Iterable[Delta], rules: Rules) -> tuple[str, ...]:
        """The changed paths to put back when `check` runs."""
        mine = {*self.every, *self.fresh, *self.own.get(check.digest(), ())}
        return tuple(
            d.path for d in deltas if rules.test(d.path) or rules.referee(d.path) or d.path in mine
        )

    def touches(self, check: Check, deltas: Iterable[Delta], rules: Rules) -> bool:
        """Whether something that decides for `check` is touched; a new test is none of that."""
        if self.every or self.spliced or self.own.get(check.digest()):
            return True
        return any(
            rules.referee(d.path) or (d.old_mode != 0 and rules.test(d.path)) for d in deltas
        )


def deciding(
    base: BaseFiles,
    after: Collection[str],
    deltas: Sequence[Delta],
    rules: Rules,
    checks: Sequence[Check],
    ids: Collection[str],
    missing: Collection[str] = (),
    new: Callable[[str], str] = lambda _path: "",
) -> Deciding:
    """What decides about `deltas`. `after` are the candidate's paths, `ids` the tests that ran on
    base or candidate, `missing` names of modules that the base itself could not import; `new` gives
    a regular file's text in the candidate."""
    changed = {delta.path: delta for delta in deltas}
    trails = {check.digest(): trail_of(check, base) for check in checks}
    shared = Trail()
    for trail in trails.values():
        shared.places |= trail.places
        shared.options += trail.options
        shared.files |= {
            p: w for p, w in trail.files.items() if p.endswith((".ini", ".cfg", ".toml"))
        }
    add_settings(base, shared)
    for trail in trails.values():
        shared.globs |= trail.globs
        shared.scripts |= trail.scripts
    ran = _ran(base, ids, shared.places)
    globbed = {path for glob, folder in shared.globs for path in base.matching(glob, (folder, ""))}
    globbed = {path for path in globbed if _plain_test(base, path)}
    tests = {path for path in changed if path in ran or path in globbed}
    every = {path: why for path, why in shared.files.items() if path in changed}
    every |= {path: "tests ran from it" for path in tests if changed[path].old_mode}
    for path, delta in changed.items():
        if words := deciding_kind(delta) or _linked(base, rules, path):
            every.setdefault(path, f"it {words}")
    every |= dict.fromkeys(
        _usurping(base, after, deltas, rules, checks, shared, missing),
        "it could be imported instead of another module",
    )
    every |= _aids(base, rules, shared, ran, set(changed) - every.keys())
    own = {
        digest: {path: why for path, why in trail.files.items() if path in changed}
        for digest, trail in trails.items()
    }
    spliced = _examples(base, rules, shared, ids, set(changed) - every.keys(), new)
    return Deciding(
        every,
        {digest: paths for digest, paths in own.items() if paths},
        frozenset(path for path in tests if changed[path].old_mode),
        frozenset(path for path in tests if not changed[path].old_mode),
        spliced,
    )


def _examples(
    base: BaseFiles,
    rules: Rules,
    shared: Trail,
    ids: Iterable[str],
    changed: Iterable[str],
    new: Callable[[str], str],
) -> dict[str, str | None]:
    """Product files whose documentation lost examples of the base, where examples are run; None
    where the base's words cannot be put back over the new code."""
    found: dict[str, str | None] = {}
    for path in changed:
        if not path.endswith(".py") or path not in base.paths or rules.test(path):
            continue
        old = base.read(path)
        text = new(path) if ">>>" in old else ""
        if text and lost_examples(old, text):
            found[path] = with_examples(old, text)
    return found if found and _doctested(base, rules, shared, ids) else {}


def _doctested(base: BaseFiles, rules: Rules, shared: Trail, ids: Iterable[str]) -> bool:
    if any("doctest" in word for words, _ in shared.options for word in words):
        return True
    if any(_documented(*_halves(test)) for test in ids):
        return True
    named = (*shared.scripts, *(path for path in base.paths if rules.test(path)))
    return any("doctest" in base.read(path) for path in named)


def _halves(test: str) -> tuple[str, str]:
    file, _, rest = test.partition("::")
    return file, rest


def _plain_test(base: BaseFiles, path: str) -> bool:
    """Whether a path that a pattern of tests matches can be a test: a new file, a document, or a
    source that asserts something."""
    if "." not in path.rpartition("/")[2]:
        return False
    return (
        path not in base.paths
        or not SOURCE.search(path)
        or _ASSERTS.search(base.read(path)) is not None
    )


def _linked(base: BaseFiles, rules: Rules, path: str) -> str:
    """Words where a link of the base makes `path` a test or a setting under another name. The
    link's own name counts: a link among the tests may well lead to the product."""
    for link, target in base.links.items():
        name = posixpath.basename(link)
        if path == target and (rules.test(name) or rules.referee(name)):
            return f"is what the base's link `{link}` leads to"
        if path.startswith(f"{target}/") and rules.test(f"{name}/{posixpath.basename(path)}"):
            return f"lies where the base's link `{link}` leads to"
    return ""


def _usurping(
    base: BaseFiles,
    after: Collection[str],
    deltas: Sequence[Delta],
    rules: Rules,
    checks: Sequence[Check],
    shared: Trail,
    missing: Collection[str],
) -> set[str]:
    if all(delta.old_mode for delta in deltas):
        return set()
    tests = [path for path in after if path.endswith(".py") and rules.test(path)]
    places = shared.places | import_places(base, (path for path in tests if path in base.paths))

    def wanted(names: set[str]) -> set[str]:
        return foreign_modules(base, names - set(missing))

    return usurpers(deltas, base.paths, tests, checks, places, wanted)


def _aids(
    base: BaseFiles, rules: Rules, shared: Trail, ran: Collection[str], changed: Iterable[str]
) -> dict[str, str]:
    """Helpers of tests: the changed modules that tests and check scripts import, and no product."""
    deciders = frozenset((*shared.scripts, *shared.files, *ran))
    aids = Aids(base, sorted(shared.places), rules.test, deciders)
    found: dict[str, str] = {}
    for path in changed:
        if not rules.test(path) and not rules.referee(path) and (user := aids.helper(path)):
            found[path] = f"`{user}` uses it, and no product code does"
    return found


def _ran(base: BaseFiles, ids: Iterable[str], places: Iterable[str]) -> frozenset[str]:
    """The files that ids of tests name and whose text holds the test's own name. A file whose
    documentation is tested, or that a linter names, holds none."""
    found: set[str] = set()
    texts: dict[str, str] = {}
    where = tuple(sorted(places))
    for test in ids:
        file, rest = _halves(test.removeprefix(MOUNT))
        if file not in base.every:
            file, rest = _of_module(base, test, where) if "/" not in test else ("", "")
        if not file or file in found or not rest or _documented(file, rest):
            continue
        if file not in texts:
            texts[file] = base.read(file)
        last = _LAST.search(rest.partition("[")[0].partition("(")[0].strip())
        name = last[0].strip() if last else ""
        if file not in base.paths or (name and name in texts[file]):
            found.add(file)
    return frozenset(found)


def _of_module(base: BaseFiles, test: str, places: Sequence[str]) -> tuple[str, str]:
    """The file and the rest of an id such as `checks.check_price.TestPrice.test_total`."""
    parts = test.partition(" ")[0].split(".")
    for count in range(len(parts) - 1, 0, -1):
        for path in base.module(".".join(parts[:count]), places):
            return path, parts[-1]
    return "", ""


def _documented(file: str, rest: str) -> bool:
    """Whether an id names an example of a module's documentation: `a/b.py::a.b.f`."""
    if not file.endswith(".py"):
        return False
    parts = posixpath.splitext(file)[0].split("/")
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    dotted = {".".join(parts[at:]) for at in range(len(parts))}
    return any(rest == name or rest.startswith(f"{name}.") for name in dotted)
