"""How a repository wants its pull requests: the key `pull_request`, mapping in, values out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.config_values import ConfigError, fitting, flag_of, inside, known_keys, texts_of

PULL_REQUEST_KEYS = ("branch", "title", "template", "labels", "reviewers", "changelog")
TEMPLATES = (
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    "PULL_REQUEST_TEMPLATE.md",
    "docs/pull_request_template.md",
    "docs/PULL_REQUEST_TEMPLATE.md",
)
LABELS = REVIEWERS = 10

_TITLE = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_BRANCH = re.compile(r"(?:[A-Za-z0-9_-]|\{[^{}]*\}){1,60}")
_FIELD = re.compile(r"\{([^{}]*)\}|[{}]")
_LABEL = re.compile(r"[^\x00-\x1f\x7f,]{1,50}")
_REVIEWER = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9_-]{0,99})?"
)  # a login, or a team as `owner/slug`


@dataclass(frozen=True)
class PullRequestConfig:
    """`branch` is a pattern of `{title}` for what a branch's name has after its fixed part, "" for
    nothing; `title` is a pattern of `{issue}` and `{title}`; `template`: whether the repository's
    own template follows the evidence; `labels` for the pull request; `reviewers` are logins, and
    teams as `owner/slug`, that are asked for a review; `changelog` is the path of a fragment, with
    `{issue}`, that a change should bring."""

    title: str = ""
    template: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    changelog: str = ""
    branch: str = ""

    def fragment(self, issue: int) -> str:
        """The path of the changelog fragment of an issue, "" where none is wanted."""
        return self.changelog.replace("{issue}", str(issue))


AS_USUAL = PullRequestConfig()


def read_pull_request(value: Any) -> PullRequestConfig:
    """The configuration that `value` says. Raises `ConfigError` on the first thing amiss."""
    mapping: Mapping[str, Any] = known_keys(value, PULL_REQUEST_KEYS, "pull_request")
    branch = fitting(
        mapping.get("branch", ""),
        "pull_request.branch",
        _BRANCH,
        "letters, digits, `_`, `-` and `{title}` (60), to follow `agent/issue-<number>-<change>-`",
    )
    _fields(branch, "pull_request.branch", {"title"})
    title = fitting(mapping.get("title", ""), "pull_request.title", _TITLE, "one line of text")
    _fields(title, "pull_request.title", {"issue", "title"})
    changelog = inside(mapping.get("changelog", ""), "pull_request.changelog", "")
    _fields(changelog, "pull_request.changelog", {"issue"})
    if changelog and "{issue}" not in changelog:
        raise ConfigError(
            "`pull_request.changelog`: the path of a fragment holds `{issue}`, so that two changes "
            "never write the same file"
        )
    return PullRequestConfig(
        title=title,
        template=flag_of(mapping.get("template", False), "pull_request.template"),
        labels=_each(mapping.get("labels", ()), "pull_request.labels", LABELS, _LABEL, "a label"),
        reviewers=_each(
            mapping.get("reviewers", ()),
            "pull_request.reviewers",
            REVIEWERS,
            _REVIEWER,
            "a login, or a team as `owner/team`,",
        ),
        changelog=changelog,
        branch=branch,
    )


def _fields(pattern: str, where: str, known: set[str]) -> None:
    for found in _FIELD.finditer(pattern):
        if found[1] not in known:
            names = ", ".join(f"`{{{name}}}`" for name in sorted(known))
            raise ConfigError(f"`{where}`: `{found[0]}` is not known; possible: {names}")


def _each(
    value: Any, where: str, most: int, pattern: re.Pattern[str], what: str
) -> tuple[str, ...]:
    names = texts_of(value, where, most)
    for at, name in enumerate(names):
        if not name:
            raise ConfigError(f"`{where}[{at}]`: {what} is wanted, not an empty text")
        fitting(name, f"{where}[{at}]", pattern, what)
    return tuple(dict.fromkeys(names))
