"""The repository's configuration, `.github/agent.yml` at the base commit: a plain mapping in, values out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OnStop(StrEnum):
    """What becomes of partial work when a run stops before its goal."""

    DRAFT = "draft"
    PATCH = "patch"
    NOTHING = "nothing"


@dataclass(frozen=True)
class CheckConfig:
    """One check as configured. `run` is a string for `sh -euc`, or a list run as it is.

    `selector` is a template for test ids in which `{tests}` stands for the list; `report` is the
    path of a JUnit XML file that the command writes; `timeout` in seconds.
    """

    name: str
    run: str | tuple[str, ...]
    env: dict[str, str]
    workdir: str = ""
    selector: str = ""
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
class RepoConfig:
    """Everything that a repository may say; the defaults hold where the file or a key is missing."""

    version: int = 1
    base: str = ""
    image: str = ""
    interpreter: tuple[str, ...] = ()
    checks: tuple[CheckConfig, ...] = ()
    paths: PathRules = PathRules()
    limits: dict[str, int] | None = None
    on_stop: OnStop = OnStop.DRAFT
    assumed: tuple[str, ...] = ()  # what recognition assumed, in sentences for people
