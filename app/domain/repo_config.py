"""The repository configuration (`.github/agent.yml` at the base commit): mapping in, values out.

Every key is described in docs/configuration.md and in manifests/agent.schema.json; a test compares
the three. Strict on purpose: what is not understood is an error that names the key, never ignored.
"""

from __future__ import annotations

import difflib
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any

from app.domain.budget import Limits
from app.domain.check import Check, Tier

CONFIG_PATH = ".github/agent.yml"
TESTS = "{tests}"  # the item of a selector that stands for the test ids


class ConfigError(ValueError):
    """The configuration cannot be used; the text names the key, what is wrong, and what fits."""


class OnStop(StrEnum):
    """What becomes of partial work when a run stops before its goal."""

    DRAFT = "draft"
    PATCH = "patch"
    NOTHING = "nothing"


@dataclass(frozen=True)
class CheckConfig:
    """One check as configured. `run` is a string for `sh -euc`, or a list run as it is.

    `selector` is a template for test ids in which `{tests}` stands for the list (a string is split
    into words, no shell sees it); `report` is the path of a JUnit XML file that the command writes,
    relative to `workdir`; `paths` are globs: a candidate that touches none of them skips the check;
    `timeout` in seconds.
    """

    name: str
    run: str | tuple[str, ...]
    env: dict[str, str]
    workdir: str = ""
    selector: str | tuple[str, ...] = ""
    report: str = ""
    paths: tuple[str, ...] = ()
    tier: str = "required"
    timeout: int = 300


@dataclass(frozen=True)
class PathRules:
    """Globs: `allow` narrows where edits may go (empty: anywhere), `unlock` frees blocked paths."""

    allow: tuple[str, ...] = ()
    unlock: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """The least role for words that change something, and for those that only ask. Never looser
    than write and triage."""

    change: str = "write"
    ask: str = "triage"


@dataclass(frozen=True)
class RepoConfig:
    """All that a repository may say; defaults hold where the file or a key is missing.

    `limits` holds the configured ones alone, `dollars` in micro-dollars.
    """

    version: int = 1
    base: str = ""
    image: str = ""
    interpreter: tuple[str, ...] = ()
    checks: tuple[CheckConfig, ...] = ()
    paths: PathRules = PathRules()
    limits: dict[str, int] | None = None
    on_stop: OnStop = OnStop.DRAFT
    plan_approval: bool = False
    roles: Roles = Roles()
    assumed: tuple[str, ...] = ()  # what recognition assumed, in sentences for people


KEYS = (
    "version",
    "base",
    "image",
    "interpreter",
    "checks",
    "paths",
    "limits",
    "on_stop",
    "plan_approval",
    "roles",
)
CHECK_KEYS = (
    "name",
    "run",
    "env",
    "workdir",
    "selector",
    "report",
    "paths",
    "tier",
    "timeout",
)
PATHS_KEYS = ("allow", "unlock")
ROLES_KEYS = ("change", "ask")
# GitHub's roles that a word may need, from the least on.
RANKS = ("triage", "write", "maintain", "admin")
# name -> (lowest, highest); `dollars` in micro-dollars
LIMIT_RANGES: dict[str, tuple[int, int]] = {
    "turns": (1, 100),
    "calls": (1, 1_000),
    "repairs": (0, 20),
    "dollars": (10_000, 1_000_000_000),
    "wall": (30, 86_400),
    "try_outs": (0, 200),
    "changed_lines": (1, 100_000),
}
# Keys of the design that nothing obeys yet: accepting them would promise what is not done.
NOT_YET = (
    "mode",
    "setup",
    "caps",
    "bots",
    "approval",
    "publish",
    "ci",
    "ready",
    "services",
    "fixers",
    "egress",
    "evidence",
    "pull_request",
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}")


def read(mapping: Mapping[str, Any]) -> RepoConfig:
    """The configuration that `mapping` says. Raises `ConfigError` on the first thing amiss."""
    _known(mapping, KEYS, "", later=NOT_YET)
    version = _number(mapping.get("version", 1), "version", 1, 1)
    return RepoConfig(
        version=version,
        base=_base(mapping.get("base", "")),
        image=_fitting(mapping.get("image", ""), "image", _IMAGE, "an image name"),
        interpreter=_command(mapping.get("interpreter", ()), "interpreter"),
        checks=_checks(mapping.get("checks", ())),
        paths=_paths(mapping.get("paths", {})),
        limits=_limits(mapping["limits"]) if "limits" in mapping else None,
        on_stop=OnStop(_one_of(mapping.get("on_stop", "draft"), "on_stop", tuple(OnStop))),
        roles=_roles(mapping.get("roles", {})),
        plan_approval=_flag(mapping.get("plan_approval", False), "plan_approval"),
    )


def limits_of(config: RepoConfig, ceiling: Limits) -> Limits:
    """The run's limits: the repository's values where given, defaults else, none over `ceiling`.

    A ceiling of 0 for `changed_lines` is none.
    """
    default, asked = Limits(), config.limits or {}
    values: dict[str, int] = {}
    for field in fields(Limits):
        value = asked.get(field.name, getattr(default, field.name))
        most = getattr(ceiling, field.name)
        if field.name == "changed_lines":
            values[field.name] = min(value, most) if value and most else value or most
        else:
            values[field.name] = min(value, most)
    return Limits(**values)


def checks_of(config: RepoConfig) -> tuple[Check, ...]:
    """The checks as the sandbox runs them, in the configuration's order."""
    return tuple(_check_of(one) for one in config.checks)


def selector_words(selector: str | Sequence[str]) -> tuple[str, ...]:
    """A selector as argv; a string is split as a shell would, but no shell sees it.

    Raises `ValueError` where quotes are not closed.
    """
    return tuple(shlex.split(selector) if isinstance(selector, str) else selector)


def _check_of(one: CheckConfig) -> Check:
    argv = ("sh", "-euc", one.run) if isinstance(one.run, str) else tuple(one.run)
    return Check(
        name=one.name,
        argv=argv,
        env=dict(one.env),
        workdir=one.workdir,
        selector=selector_words(one.selector),
        report=posixpath.normpath(posixpath.join(one.workdir, one.report)) if one.report else "",
        tier=Tier(one.tier),
        timeout=one.timeout,
        paths=one.paths,
    )


def _checks(value: Any) -> tuple[CheckConfig, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ConfigError("`checks`: a list of checks is wanted")
    if len(value) > 20:
        raise ConfigError(f"`checks`: at most 20 are possible, not {len(value)}")
    found = tuple(_check(one, f"checks[{index}]") for index, one in enumerate(value))
    seen: set[str] = set()
    for one in found:
        if one.name.casefold() in seen:
            raise ConfigError(f"`checks`: two are called `{one.name}`; names must differ")
        seen.add(one.name.casefold())
    if found and all(one.tier != Tier.REQUIRED for one in found):
        raise ConfigError("`checks`: none has `tier: required`, so nothing could ever pass")
    return found


def _check(value: Any, where: str) -> CheckConfig:
    mapping = _known(value, CHECK_KEYS, where)
    for key in ("name", "run"):
        if key not in mapping:
            raise ConfigError(f"`{where}`: `{key}` is missing")
    workdir = _inside(mapping.get("workdir", ""), f"{where}.workdir", "")
    return CheckConfig(
        name=_fitting(
            mapping["name"], f"{where}.name", _NAME, "letters, digits, blank, dot, `_`, `-` (60)"
        ),
        run=_run(mapping["run"], f"{where}.run"),
        env=_env(mapping.get("env", {}), f"{where}.env"),
        workdir=workdir,
        selector=_selector(mapping.get("selector", ""), f"{where}.selector"),
        report=_inside(mapping.get("report", ""), f"{where}.report", workdir),
        paths=_globs(mapping.get("paths", ()), f"{where}.paths"),
        tier=_one_of(mapping.get("tier", "required"), f"{where}.tier", tuple(Tier)),
        timeout=_number(mapping.get("timeout", 300), f"{where}.timeout", 1, 3_600),
    )


def _run(value: Any, where: str) -> str | tuple[str, ...]:
    if isinstance(value, str):
        if not value.strip():
            raise ConfigError(f"`{where}`: a command is wanted, this is empty")
        return _text(value, where, 4_000)
    words = _command(value, where)
    if not words:
        raise ConfigError(f"`{where}`: a command is wanted, this is empty")
    return words


def _command(value: Any, where: str) -> tuple[str, ...]:
    """A command as words: a list, or a string of words without quotes."""
    if isinstance(value, str):
        return tuple(_text(value, where, 4_000).split())
    words = _texts(value, where, 100)
    if words and not words[0]:
        raise ConfigError(f"`{where}`: its first word, the program, is empty")
    return words


def _selector(value: Any, where: str) -> str | tuple[str, ...]:
    if value in ("", (), []):
        return ""
    kept = _text(value, where, 4_000) if isinstance(value, str) else _texts(value, where, 100)
    try:
        words = selector_words(kept)
    except ValueError as error:
        raise ConfigError(f"`{where}`: {error}".lower()) from None
    if words.count(TESTS) != 1:
        raise ConfigError(f"`{where}`: the word `{TESTS}` must stand in it once, on its own")
    if words[0] == TESTS or "=" in words[0]:
        raise ConfigError(
            f"`{where}`: its first word must be a program; no shell reads a selector, so variables "
            "belong under `env`"
        )
    return kept


def _env(value: Any, where: str) -> dict[str, str]:
    mapping = _mapping(value, where)
    if len(mapping) > 50:
        raise ConfigError(f"`{where}`: at most 50 variables are possible, not {len(mapping)}")
    for name in mapping:
        if not _ENV_NAME.fullmatch(name):
            raise ConfigError(f"`{where}`: `{name}` is no name of a variable")
    return {name: _text(one, f"{where}.{name}", 4_000) for name, one in mapping.items()}


def _inside(value: Any, where: str, start: str) -> str:
    """A path relative to `start` that stays inside the workspace; normalised, "" for none."""
    text = _text(value, where, 400)
    if not text:
        return ""
    joined = posixpath.normpath(posixpath.join(start, text))
    if text.startswith("/") or "\\" in text or joined == ".." or joined.startswith("../"):
        raise ConfigError(f"`{where}`: a relative path inside the repository is wanted: `{text}`")
    shown = posixpath.normpath(text)
    return "" if shown == "." else shown


def _paths(value: Any) -> PathRules:
    mapping = _known(value, PATHS_KEYS, "paths")
    return PathRules(
        allow=_globs(mapping.get("allow", ()), "paths.allow"),
        unlock=_globs(mapping.get("unlock", ()), "paths.unlock"),
    )


def _globs(value: Any, where: str) -> tuple[str, ...]:
    globs = _texts(value, where, 100)
    for one in globs:
        if not one or one.startswith("/") or "\\" in one or ".." in one.split("/"):
            raise ConfigError(f"`{where}`: `{one}` is no glob of paths inside the repository")
    return globs


def _limits(value: Any) -> dict[str, int]:
    mapping = _known(value, tuple(LIMIT_RANGES), "limits")
    found: dict[str, int] = {}
    for name, one in mapping.items():
        low, high = LIMIT_RANGES[name]
        if name == "dollars":
            found[name] = _dollars(one, low, high)
        else:
            found[name] = _number(one, f"limits.{name}", low, high)
    return found


def _dollars(value: Any, low: int, high: int) -> int:
    """Decimal dollars as micro-dollars."""
    if type(value) not in (int, float):
        raise ConfigError("`limits.dollars`: a number of dollars is wanted, such as 2.50")
    amount = Decimal(str(value)) * 1_000_000
    if not amount.is_finite() or not low <= amount <= high:
        raise ConfigError(
            f"`limits.dollars`: from {low / 1e6:.2f} to {high / 1e6:.2f} is possible, not {value}"
        )
    return int(amount)


def _base(value: Any) -> str:
    name = _fitting(value, "base", _BRANCH, "a branch name")
    if ".." in name or "//" in name or name.endswith(("/", ".", ".lock")):
        raise ConfigError(f"`base`: `{name}` is no branch name")
    return name


def _fitting(value: Any, where: str, pattern: re.Pattern[str], what: str) -> str:
    """Text that is empty (a default) or fits `pattern`; a name is never empty."""
    text = _text(value, where, 400)
    if (text or where.endswith(".name")) and not pattern.fullmatch(text):
        raise ConfigError(f"`{where}`: `{text}` does not fit; wanted: {what}")
    return text


def _known(
    value: Any, known: tuple[str, ...], where: str, later: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """`value` as a mapping whose keys are all known; the error names the nearest known one."""
    mapping = _mapping(value, where)
    for key in mapping:
        if key in later:
            raise ConfigError(f"`{key}` is not supported yet; remove it from {CONFIG_PATH}")
        if key not in known:
            full = f"{where}.{key}" if where else key
            near = difflib.get_close_matches(key, (*known, *later), n=1, cutoff=0.5)
            hint = f"; did you mean `{near[0]}`?" if near else "."
            raise ConfigError(f"`{full}` is unknown{hint} Known are: {', '.join(known)}.")
    return mapping


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"`{where or CONFIG_PATH}`: a mapping (`key: value`) is wanted")
    for key in value:
        if not isinstance(key, str):
            raise ConfigError(f"`{where or CONFIG_PATH}`: the key `{key}` is no text; quote it")
    return value


def _text(value: Any, where: str, longest: int) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"`{where}`: text is wanted, not {_kind(value)}; quote it")
    if len(value) > longest:
        raise ConfigError(f"`{where}`: at most {longest} characters are possible")
    if any((ord(c) < 32 and c not in "\n\t") or 0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise ConfigError(f"`{where}`: it holds a control character")
    return value


def _texts(value: Any, where: str, most: int) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ConfigError(f"`{where}`: a list of texts is wanted, not {_kind(value)}")
    if len(value) > most:
        raise ConfigError(f"`{where}`: at most {most} items are possible, not {len(value)}")
    return tuple(_text(one, f"{where}[{index}]", 4_000) for index, one in enumerate(value))


def _number(value: Any, where: str, low: int, high: int) -> int:
    if type(value) is not int:  # bool is an int, and not wanted as one
        shown = value if isinstance(value, float) else _kind(value)
        raise ConfigError(f"`{where}`: a whole number is wanted, not {shown}")
    if not low <= value <= high:
        fits = f"only {low}" if low == high else f"from {low} to {high}"
        raise ConfigError(f"`{where}`: {fits} is possible, not {value}")
    return value


def _roles(value: Any) -> Roles:
    mapping = _known(value, ROLES_KEYS, "roles")
    return Roles(
        change=_one_of(mapping.get("change", "write"), "roles.change", RANKS[1:]),
        ask=_one_of(mapping.get("ask", "triage"), "roles.ask", RANKS),
    )


def reaches(role: str, least: str) -> bool:
    """Whether `role` is at least the role `least`; one that is unknown reaches nothing."""
    return role in RANKS and RANKS.index(role) >= RANKS.index(least)


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"`{where}`: true or false is wanted, not {_kind(value)}")
    return value


def _one_of(value: Any, where: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"`{where}`: one of {', '.join(known)} is wanted, not `{value}`")
    return value


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    kind = "nothing" if value is None else names.get(type(value))
    return kind or ("a mapping" if isinstance(value, Mapping) else "a list")
