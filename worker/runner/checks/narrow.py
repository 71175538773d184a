"""A check narrowed to some of its tests: which ids may stand in a command, and the command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.domain.repo_config import TESTS

SELECTORS_MOST = 40
SELECTOR_CAP = 300  # characters

_AMISS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda one: not one.strip(), "is empty"),
    (lambda one: len(one) > SELECTOR_CAP, f"is longer than {SELECTOR_CAP} characters"),
    (lambda one: one.startswith(("-", "@")), "looks like an option; name tests only"),
    (lambda one: not one.isprintable(), "holds a control or an invisible character"),
    (lambda one: one.startswith("/"), "is an absolute path; name it from the repository's root"),
    (lambda one: ".." in one.partition("::")[0].split("/"), "leaves the repository"),
)


def amiss(selector: str) -> str:
    """Why a selector cannot stand in a command, "" when it can."""
    return next((what for holds, what in _AMISS if holds(selector)), "")


def narrowed(template: Sequence[str], selectors: Sequence[str]) -> tuple[str, ...]:
    """The argv of a partial run, () where the check cannot be narrowed."""
    argv: list[str] = []
    for word in template:
        argv.extend(selectors if word == TESTS else (word,))
    return tuple(argv) if any(argv) else ()


def selectable(tests: Iterable[str]) -> tuple[str, ...]:
    """The ids as selectors, () unless all of them can be and there are few enough: ids come from
    reports, which untrusted code wrote."""
    wanted = tuple(tests)
    if len(wanted) > SELECTORS_MOST or any(amiss(one) for one in wanted):
        return ()
    return wanted
