"""The evidence at file and line: annotations of the check run, from the records of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.check import CheckResult, Failure, Standing
from app.domain.edit import Delta
from app.domain.policy import rules_of
from app.domain.redact import GONE, without_secrets
from app.domain.report_facts import Facts
from app.domain.report_parts import deltas_of, results_of
from app.domain.run import Run
from app.domain.text import reveal

MOST = 150  # of one check run; what a person would still look at
MESSAGE = 1_200  # characters; GitHub takes 64 KB
_TITLE = 200
_LINE = 1_000_000
_PATH = re.compile(r"[^\x00-\x1f\x7f\\]{1,400}")


@dataclass(frozen=True)
class Annotation:
    """One remark at a place of the candidate; `level` is notice, warning or failure."""

    path: str
    line: int
    level: str
    title: str
    message: str


def remarks(run: Run, facts: Facts) -> tuple[Annotation, ...]:
    """Failures where they are, worst first, then files that decide about the change itself.

    GitHub shows their text as it is, without Markdown: hidden characters are written out."""
    changed = deltas_of(run, facts)
    found = [one for result in results_of(run) for one in _of_result(result)]
    found += [one for result in run.restored for one in _of_base(result, changed)]
    found.sort(key=lambda one: one.level != "failure")  # stable: the order of the checks stays
    found += _deciding(run, changed)
    return tuple(dict.fromkeys(found))[:MOST]


def _of_result(result: CheckResult) -> Iterator[Annotation]:
    known = result.comparison.already_failing if result.comparison else ()
    for failure in result.failures:
        if not _placed(failure.file) or failure.file.startswith("/"):
            continue
        old = failure.test in known
        yield Annotation(
            path=failure.file,
            line=min(max(failure.line, 1), _LINE),
            level="warning" if old else "failure",
            title=_short(f"{result.check}: {failure.test or failure.error}", _TITLE),
            message=_message(failure, old),
        )


def _of_base(result: CheckResult, deltas: tuple[Delta, ...]) -> Iterator[Annotation]:
    """The base's own tests that fail on the change, at the top of the file that the change has in
    their place: their lines are those of another version."""
    there = {delta.path for delta in deltas if delta.new_mode}
    known = result.comparison.already_failing if result.comparison else ()
    for failure in result.failures if result.standing is Standing.FAILED else ():
        if failure.file not in there or not _placed(failure.file) or failure.test in known:
            continue
        title = f"{result.check}, as the base has it: {failure.test or failure.error}"
        said = _message(failure, False)
        message = _short(
            f"The base's own version of this test fails on the change.\n{said}", MESSAGE
        )
        yield Annotation(failure.file, 1, "failure", _short(title, _TITLE), message)


def _message(failure: Failure, old: bool) -> str:
    said = [f"{failure.error}: {failure.message}" if failure.error else failure.message]
    said += list(failure.trace)
    if old:
        said.insert(0, "It failed on the base already.")
    return _short("\n".join(line for line in said if line) or "It failed without a word.", MESSAGE)


def _deciding(run: Run, deltas: tuple[Delta, ...]) -> Iterator[Annotation]:
    if run.contract is None:
        return
    rules = rules_of(run.contract.config)
    for delta in deltas:
        if not delta.new_mode or not _placed(delta.path):
            continue
        if rules.referee(delta.path):
            said = "This file decides how tests or builds run, and the change touches it."
        elif delta.old_mode and rules.test(delta.path):
            said = "A test that the base had is changed here. Look whether it asks for less."
        else:
            continue
        yield Annotation(delta.path, 1, "notice", "It decides about the change", said)


def _placed(path: str) -> bool:
    """Whether a path can be named at all: it is one, and does not look like a secret."""
    return bool(_PATH.fullmatch(path)) and without_secrets(path) == path and GONE not in path


def _short(text: str, most: int) -> str:
    shown = reveal(without_secrets(text))[0]
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"
