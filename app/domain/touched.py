"""What a change did to what decides about it: tests, their settings, the runner (A20).

Sentences for the reviewer, made from the old and the new bytes of one path. They name what was
done; whether it helped is answered by the base's own version, which is run over the change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from app.domain.changed_tests import hidden_tests
from app.domain.check import Check

MOST = 6  # names or lines in one sentence
TEXT_CAP = 1 << 20  # bytes of a file that are looked at

_TEST_NAME = re.compile(
    r"^\s*(?:async\s+)?def\s+(test\w*)|^\s*func\s+(Test\w*)\(|^\s*(?:it|test|specify)\(\s*[\"'`]"
    r"([^\"'`\n]{1,120})|^\s*(?:public\s+)?void\s+(test\w*)\(|^\s*fn\s+(test\w*)\(",
    re.MULTILINE,
)
_SKIP = re.compile(
    r"\bskip(?:if|_if|Test|TestIf|Unless)?\b|\bxfail\b|\bexpectedFailure\b|\bx(?:it|test|describe)\("
    r"|\.(?:skip|todo|failing)\b|\bt\.Skip|#\[ignore|@(?:Ignore|Disabled)\b|\bpending\b"
    r"|\bimportorskip\b|\bcollect_ignore|__test__\s*=\s*False",
    re.IGNORECASE,
)
_ASSERT = re.compile(
    r"\bassert|\bexpect\(|\.should\b|\braises\(|\bt\.(?:Error|Fatal)|\brequire\.\w"
)
_HOLLOW = re.compile(
    r"\bassert\s+(?:True|1|not\s+False)\b|\bassert\s+.*\bor\s+True\b|assertTrue\(\s*True\s*\)"
    r"|expect\(\s*true\s*\)\.toBe\(\s*true\s*\)|assert!\(\s*true\s*\)|assert\.ok\(\s*true\s*\)"
)
_END = re.compile(
    r"\bos\._exit\b|\bsys\.exit\b|\batexit\b|\bSystemExit\b|\bprocess\.exit\b|\bexit\s+0\b"
    r"|\|\|\s*(?:true|:|exit\s+0)|\bpytest\.exit\b|\breturn\s*0\b|;\s*true\b|^\t-|^\s*set \+e"
)
_HOOK = re.compile(
    r"\bpytest_\w+|\bhookwrapper\b|\bmonkeypatch\b|\bsetattr\(|\bexitstatus\b|\boutcome\b"
    r"|\bsys\.modules\b|\bsettrace\b|\bmock\b|\bpatch\b|\bglobalThis\b|\bautouse\b"
)
_SELECT = re.compile(
    r"--(?:ignore|deselect|maxfail|exitfirst|collect-only|co|noconftest|passWithNoTests)\b"
    r"|\baddopts\b|\btestpaths\b|\bpython_(?:files|classes|functions)\b|\bnorecursedirs\b|(?<![\w-])-[kmp]\s"
    r"|\btestMatch\b|\btestPathIgnorePatterns\b|\bexclude\b|\bomit\b|\bnoqa\b|\bfilterwarnings\b"
)
_ENVIRON = re.compile(
    r"\b(?:PYTEST_ADDOPTS|PYTEST_PLUGINS|NODE_OPTIONS|GOFLAGS|RUSTFLAGS|PYTHON[A-Z]{3,20})\b"
    r"|\bos\.(?:environ\b|putenv\()|\bprocess\.env\.\w+\s{0,4}=(?!=)|\bexport\s+\w{1,60}="
)
_NUMBER = re.compile(
    r"([A-Za-z_][\w.-]{1,60})[\"']?\s{0,8}(?:=|:=|:|\?=|\s)\s{0,8}(\d{1,9}(?:\.\d{1,6})?)\b"
)
_RUNS = re.compile(r"(?:^|/)(?:scripts?|tools?|bin|ci|hack|build-aux)/|\.(?:sh|bash|bat|ps1|mk)$")
_RUNNER = re.compile(r"(?:^|/)(?:run[-_]?tests?|runtests?|check|test)[^/]*$")


def touches(path: str, old: bytes | None, new: bytes | None, *, test: bool) -> tuple[str, ...]:
    """What was done to one deciding path; None where it does not exist. Never empty."""
    kind = "test" if test else "what decides how tests or builds run"
    if new is None:
        gone = _names(_text(old))
        return (f"`{path}` ({kind}) is deleted{_tests(gone, ' with')}.",)
    if old is None:
        return tuple(_new(path, _text(new), test=test))
    return tuple(_changed(path, _text(old), _text(new), kind, test=test))


def _new(path: str, text: str, *, test: bool) -> Iterable[str]:
    said = "test" if test else "a file that decides how tests or builds run"
    yield f"`{path}` is new: {said}."
    yield from _lines(path, text.splitlines())


def _changed(path: str, old: str, new: str, kind: str, *, test: bool) -> Iterable[str]:
    before = frozenset(old.splitlines())
    added = [line for line in new.splitlines() if line not in before]
    after = frozenset(new.splitlines())
    removed = [line for line in old.splitlines() if line not in after]
    yield f"`{path}` ({kind}) is changed."
    hidden = [name for name in hidden_tests(new) if name not in hidden_tests(old)]
    if path.endswith(".py") and hidden:
        yield f"`{path}`: a later one of the same name hides{_tests(hidden, '')}."
    gone = [name for name in _names(old) if name not in set(_names(new))]
    if gone:
        yield f"`{path}`: removed or renamed{_tests(gone, '')}."
    fewer = len(_ASSERT.findall(old)) - len(_ASSERT.findall(new))
    if test and fewer > 0:
        yield f"`{path}`: {fewer} assertion{'s are' if fewer > 1 else ' is'} gone."
    elif test and any(_ASSERT.search(line) for line in removed):
        yield f"`{path}`: an assertion of the base reads otherwise now."
    yield from _numbers(path, removed, added)
    yield from _lines(path, added)


def _lines(path: str, added: Sequence[str]) -> Iterable[str]:
    """One sentence a kind of added line that could keep a test from counting."""
    for what, pattern in (
        ("skips or expects failures", _SKIP),
        ("asserts what is always true", _HOLLOW),
        ("ends early or hides an exit code", _END),
        ("hooks into the runner or patches what is tested", _HOOK),
        ("selects which tests run or count", _SELECT),
        ("sets the environment of tests", _ENVIRON),
    ):
        seen = [line.strip()[:100] for line in added if pattern.search(line[:2_000])]
        if seen:
            more = f" and {len(seen) - 2} more" if len(seen) > 2 else ""
            yield f"`{path}` {what}: {'; '.join(seen[:2])}{more}."


def _numbers(path: str, removed: Sequence[str], added: Sequence[str]) -> Iterable[str]:
    """Thresholds: a name that had another number before."""
    before = {m[1]: m[2] for line in removed for m in _NUMBER.finditer(line[:2_000])}
    for line in added:
        for found in _NUMBER.finditer(line[:2_000]):
            old = before.get(found[1])
            if old is not None and float(old) != float(found[2]):
                way = "lowered" if float(found[2]) < float(old) else "raised"
                yield f"`{path}`: `{found[1]}` is {way} from {old} to {found[2]}."


def runners(checks: Sequence[Check], texts: Sequence[str], changed: Collection[str]) -> set[str]:
    """The changed paths that the checks start: scripts that a command, or one of the base's
    `texts` (Makefile, package.json, …), names. What is only imported is product code."""
    words = "\n".join(" ".join(check.argv) for check in checks)
    said = "\n".join((words, *texts))
    return {path for path in changed if _starts(path) and _named(path, said)}


def _starts(path: str) -> bool:
    return bool(_RUNS.search(path) or _RUNNER.search(path))


def _named(path: str, text: str) -> bool:
    """Whether the path is in the text, or the script's own name (its folder may be entered)."""
    return any(
        re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text)
        for word in (path, path.rpartition("/")[2])
    )


def _names(text: str) -> list[str]:
    return [next(filter(None, found)) for found in _TEST_NAME.findall(text)]


def _tests(names: Sequence[str], before: str) -> str:
    if not names:
        return ""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    shown = ", ".join(f"`{name}`" for name in names[:MOST])
    return f"{before} {len(names)} test{'s' if len(names) > 1 else ''}: {shown}{more}"


def _text(data: bytes | None) -> str:
    return (data or b"")[:TEXT_CAP].decode("utf-8", "replace")


def shadows(path: str, known: Collection[str]) -> str:
    """A sentence where the new Python file `path` has the name of a module elsewhere, which it
    could be imported instead of; "" otherwise. `known` are the base's paths."""
    name = path.rpartition("/")[2]
    if not name.endswith(".py") or name.startswith("__"):
        return ""
    stem = name.removesuffix(".py")
    for other in sorted(known):
        if other != path and (
            other.endswith((f"/{name}", f"/{stem}/__init__.py")) or other == name
        ):
            return f"`{path}` is new and has the name of `{other}`: it could be imported instead."
    return ""
