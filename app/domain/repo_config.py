"""The repository configuration (`.github/agent.yml` at the base commit): mapping in, values out.

Every key is described in docs/configuration.md and in manifests/agent.schema.json; a test compares
the three. Strict on purpose: what is not understood is an error that names the key, never ignored.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from app.domain.budget import LARGE, Limits
from app.domain.check import PARSERS, Check, Tier
from app.domain.ci import CiMode
from app.domain.config_values import CONFIG_PATH as CONFIG_PATH
from app.domain.config_values import ConfigError as ConfigError
from app.domain.config_values import (
    command_of,
    fitting,
    flag_of,
    globs_of,
    inside,
    known_keys,
    number_of,
    one_of,
    text_of,
    texts_of,
    variables_of,
)
from app.domain.environment_config import (
    FixerConfig,
    ServiceConfig,
    SetupConfig,
    read_egress,
    read_fixers,
    read_services,
    read_setup,
)
from app.domain.pull_request_config import AS_USUAL, PullRequestConfig, read_pull_request

TESTS = "{tests}"  # the item of a selector that stands for the test ids


class OnStop(StrEnum):
    """What becomes of partial work when a run stops before its goal."""

    DRAFT = "draft"
    PATCH = "patch"
    NOTHING = "nothing"


class Approval(StrEnum):
    """Who may approve what was made for a change."""

    NOT_REQUESTER = "not-requester"  # not who asked for it, nor who pushed to its branch
    STRICT = "strict"  # nobody who took part in any way
    SOLO = "solo"  # anybody with the role


class Publish(StrEnum):
    """When a pull request is opened."""

    AT_ONCE = "at-once"
    AFTER_APPROVAL = "after-approval"  # only after a person said `/agent publish TREE`


class Ready(StrEnum):
    """When a draft becomes ready for review."""

    GATE = "gate"  # once the gate after publishing has passed
    APPROVAL = "approval"  # once somebody who counts approved it as well
    NEVER = "never"  # a person does it


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
    parser: str = ""  # the tool whose output it is; "": recognised


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

    `limits` and `large` hold the configured ones alone, `dollars` in micro-dollars.
    """

    version: int = 1
    base: str = ""
    image: str = ""
    interpreter: tuple[str, ...] = ()
    checks: tuple[CheckConfig, ...] = ()
    paths: PathRules = PathRules()
    limits: dict[str, int] | None = None
    large: dict[str, int] | None = None  # limits of a run of class large
    on_stop: OnStop = OnStop.DRAFT
    evidence_key: str = ""  # the public key that evidence must be signed with, as one line
    setup: SetupConfig | None = None
    services: tuple[ServiceConfig, ...] = ()
    fixers: tuple[FixerConfig, ...] = ()
    egress: tuple[str, ...] = ()
    plan_approval: bool = False
    roles: Roles = Roles()
    approval: Approval = Approval.NOT_REQUESTER
    approval_on_all: bool = False  # people's own pull requests get the check of approval, too
    publish: Publish = Publish.AT_ONCE
    ready: Ready = Ready.GATE
    pull_request: PullRequestConfig = AS_USUAL
    ci: CiMode = CiMode.AUTO
    ci_repair: int = 0  # repairs that red CI begins by itself, for one pull request
    caps: dict[str, int] | None = None  # runs an hour by scope, below the operator's
    bots: tuple[int, ...] = ()  # ids of bots that may trigger, of those that the operator allows
    assumed: tuple[str, ...] = ()  # what recognition assumed, in sentences for people


KEYS = (
    "version",
    "base",
    "image",
    "interpreter",
    "checks",
    "paths",
    "limits",
    "large",
    "on_stop",
    "evidence",
    "setup",
    "services",
    "fixers",
    "egress",
    "plan_approval",
    "approval",
    "approval_on_all",
    "publish",
    "roles",
    "pull_request",
    "ready",
    "ci",
    "ci_repair",
    "caps",
    "bots",
)
CHECK_KEYS = (
    "name",
    "run",
    "env",
    "workdir",
    "selector",
    "report",
    "parser",
    "paths",
    "tier",
    "timeout",
)
PATHS_KEYS = ("allow", "unlock")
EVIDENCE_KEYS = ("key",)
ROLES_KEYS = ("change", "ask")
CAPS_KEYS = ("issue", "user", "repository")
BOTS_MOST = 20
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
NOT_YET = ("mode",)

_KEY_LINE = re.compile(r"ed25519:[A-Za-z0-9+/]{43}=")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}")


def read(mapping: Mapping[str, Any]) -> RepoConfig:
    """The configuration that `mapping` says. Raises `ConfigError` on the first thing amiss."""
    known_keys(mapping, KEYS, "", later=NOT_YET)
    version = number_of(mapping.get("version", 1), "version", 1, 1)
    return RepoConfig(
        version=version,
        base=_base(mapping.get("base", "")),
        image=fitting(mapping.get("image", ""), "image", _IMAGE, "an image name"),
        interpreter=command_of(mapping.get("interpreter", ()), "interpreter"),
        checks=_checks(mapping.get("checks", ())),
        paths=_paths(mapping.get("paths", {})),
        limits=_limits(mapping["limits"], "limits") if "limits" in mapping else None,
        large=_limits(mapping["large"], "large") if "large" in mapping else None,
        on_stop=OnStop(one_of(mapping.get("on_stop", "draft"), "on_stop", tuple(OnStop))),
        evidence_key=_evidence_key(mapping.get("evidence", {})),
        setup=read_setup(mapping["setup"]) if "setup" in mapping else None,
        services=read_services(mapping.get("services", ())),
        fixers=read_fixers(mapping.get("fixers", ())),
        egress=read_egress(mapping.get("egress", ())),
        roles=_roles(mapping.get("roles", {})),
        ci=CiMode(one_of(mapping.get("ci", CiMode.AUTO), "ci", tuple(CiMode))),
        ci_repair=number_of(mapping.get("ci_repair", 0), "ci_repair", 0, 2),
        pull_request=read_pull_request(mapping.get("pull_request", {})),
        caps=_caps(mapping["caps"]) if "caps" in mapping else None,
        bots=_bots(mapping.get("bots", ())),
        plan_approval=flag_of(mapping.get("plan_approval", False), "plan_approval"),
        approval=Approval(
            one_of(mapping.get("approval", "not-requester"), "approval", tuple(Approval))
        ),
        approval_on_all=flag_of(mapping.get("approval_on_all", False), "approval_on_all"),
        ready=Ready(one_of(mapping.get("ready", "gate"), "ready", tuple(Ready))),
        publish=Publish(one_of(mapping.get("publish", "at-once"), "publish", tuple(Publish))),
    )


def _evidence_key(value: Any) -> str:
    mapping = known_keys(value, EVIDENCE_KEYS, "evidence")
    what = "`ed25519:` and 32 bytes in base64, as `patchwarrant key signing` prints it"
    return fitting(mapping.get("key", ""), "evidence.key", _KEY_LINE, what) if mapping else ""


def limits_of(config: RepoConfig, ceiling: Limits) -> Limits:
    """The run's limits: the repository's values where given, defaults else, none over `ceiling`.

    A ceiling of 0 for `changed_lines` is none.
    """
    return _within(config.limits or {}, Limits(), ceiling)


def large_limits_of(config: RepoConfig, ceiling: Limits) -> Limits:
    """The same for a run of class large: what `large` says, else the larger of that class's
    defaults and of what `limits` says."""
    raised = {name: max(one, getattr(LARGE, name)) for name, one in (config.limits or {}).items()}
    return _within(config.large or {}, replace(LARGE, **raised), ceiling)


def _within(asked: Mapping[str, int], default: Limits, ceiling: Limits) -> Limits:
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
        parser=one.parser,
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
    mapping = known_keys(value, CHECK_KEYS, where)
    for key in ("name", "run"):
        if key not in mapping:
            raise ConfigError(f"`{where}`: `{key}` is missing")
    workdir = inside(mapping.get("workdir", ""), f"{where}.workdir", "")
    return CheckConfig(
        name=fitting(
            mapping["name"], f"{where}.name", _NAME, "letters, digits, blank, dot, `_`, `-` (60)"
        ),
        run=_run(mapping["run"], f"{where}.run"),
        env=variables_of(mapping.get("env", {}), f"{where}.env"),
        workdir=workdir,
        selector=_selector(mapping.get("selector", ""), f"{where}.selector"),
        report=inside(mapping.get("report", ""), f"{where}.report", workdir),
        paths=globs_of(mapping.get("paths", ()), f"{where}.paths"),
        tier=one_of(mapping.get("tier", "required"), f"{where}.tier", tuple(Tier)),
        timeout=number_of(mapping.get("timeout", 300), f"{where}.timeout", 1, 3_600),
        parser=one_of(mapping["parser"], f"{where}.parser", PARSERS) if "parser" in mapping else "",
    )


def _run(value: Any, where: str) -> str | tuple[str, ...]:
    if isinstance(value, str):
        if not value.strip():
            raise ConfigError(f"`{where}`: a command is wanted, this is empty")
        return text_of(value, where, 4_000)
    words = command_of(value, where)
    if not words:
        raise ConfigError(f"`{where}`: a command is wanted, this is empty")
    return words


def _selector(value: Any, where: str) -> str | tuple[str, ...]:
    if value in ("", (), []):
        return ""
    kept = text_of(value, where, 4_000) if isinstance(value, str) else texts_of(value, where, 100)
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


def _paths(value: Any) -> PathRules:
    mapping = known_keys(value, PATHS_KEYS, "paths")
    return PathRules(
        allow=globs_of(mapping.get("allow", ()), "paths.allow"),
        unlock=globs_of(mapping.get("unlock", ()), "paths.unlock"),
    )


def _limits(value: Any, where: str) -> dict[str, int]:
    mapping = known_keys(value, tuple(LIMIT_RANGES), where)
    found: dict[str, int] = {}
    for name, one in mapping.items():
        low, high = LIMIT_RANGES[name]
        if name == "dollars":
            found[name] = _dollars(one, f"{where}.dollars", low, high)
        else:
            found[name] = number_of(one, f"{where}.{name}", low, high)
    return found


def _dollars(value: Any, where: str, low: int, high: int) -> int:
    """Decimal dollars as micro-dollars."""
    if type(value) not in (int, float):
        raise ConfigError(f"`{where}`: a number of dollars is wanted, such as 2.50")
    amount = Decimal(str(value)) * 1_000_000
    if not amount.is_finite() or not low <= amount <= high:
        raise ConfigError(
            f"`{where}`: from {low / 1e6:.2f} to {high / 1e6:.2f} is possible, not {value}"
        )
    return int(amount)


def _base(value: Any) -> str:
    name = fitting(value, "base", _BRANCH, "a branch name")
    if ".." in name or "//" in name or name.endswith(("/", ".", ".lock")):
        raise ConfigError(f"`base`: `{name}` is no branch name")
    return name


def _roles(value: Any) -> Roles:
    mapping = known_keys(value, ROLES_KEYS, "roles")
    return Roles(
        change=one_of(mapping.get("change", "write"), "roles.change", RANKS[1:]),
        ask=one_of(mapping.get("ask", "triage"), "roles.ask", RANKS),
    )


def _caps(value: Any) -> dict[str, int]:
    mapping = known_keys(value, CAPS_KEYS, "caps")
    return {name: number_of(one, f"caps.{name}", 0, 10_000) for name, one in mapping.items()}


def _bots(value: Any) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > BOTS_MOST:
        raise ConfigError(f"`bots`: a list of at most {BOTS_MOST} account ids is wanted")
    ids = [number_of(one, f"bots[{at}]", 1, 2**53) for at, one in enumerate(value)]
    return tuple(dict.fromkeys(ids))


def reaches(role: str, least: str) -> bool:
    """Whether `role` is at least the role `least`; one that is unknown reaches nothing."""
    return role in RANKS and RANKS.index(role) >= RANKS.index(least)
