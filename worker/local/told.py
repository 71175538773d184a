"""What verified evidence says about its change, in lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from worker.attest.examine import Signed
from worker.local.table import plain

COUNTED = ("passed", "failed", "skipped")
STYLES = {"passed": "green", "failed": "red", "holds": "green", "fails": "red"}


def told(signed: Signed) -> Iterator[RenderableType]:
    """Only verified values are shown; each of them is still text from outside."""
    said = signed.evidence
    run, model = _of(said, "run"), _of(said, "model")
    who = _of(said, "requester").get("login", "")
    yield plain(
        f"{said.get('result')} · {run.get('kind')} run {run.get('id')}, asked by {who}", "bold"
    )
    if said.get("wall"):
        yield plain(f"wall: {said['wall']}", "yellow", 1_000)
    if model.get("id"):
        yield plain(f"model {model['id']}, prompts {model.get('prompts')}", "dim")
    yield _checks(said.get("checks"))
    hidden = _of(said, "request").get("hiddenCharacters")
    if hidden:
        yield plain(f"{hidden} hidden characters were removed from the request", "yellow")
    yield from _findings(_of(said, "findings").get("tree"), 0)


def _of(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _records(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list; a statement of another version may hold anything."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _checks(checks: Any) -> RenderableType:
    table = Table("check", "baseline", "after", box=None, padding=(0, 2, 0, 1))
    for one in _records(checks):
        table.add_row(
            plain(str(one.get("name")), "bold", 60),
            _cell(one.get("baseline")),
            _cell(one.get("after")),
        )
    return table


def _cell(result: Any) -> Text:
    if not isinstance(result, Mapping):
        return Text("not run", style="dim")
    standing, counts = str(result.get("standing")), result.get("counts")
    words = f"{standing}, exit {result.get('exitCode')}"
    if isinstance(counts, Mapping):
        words += "".join(f", {counts.get(name)} {name}" for name in COUNTED)
    return plain(words, STYLES.get(standing, "yellow"), 120)


def _findings(found: Any, depth: int) -> Iterator[RenderableType]:
    for one in _records(found):
        standing = str(one.get("standing"))
        line = plain(f"{standing}: {one.get('claim')}", STYLES.get(standing, "yellow"))
        yield Padding(line, (0, 0, 0, 2 * depth))
        exhibits = one.get("exhibits")
        for text in exhibits if isinstance(exhibits, list) else []:
            yield Padding(plain(str(text), "dim"), (0, 0, 0, 2 * depth + 2))
        yield from _findings(one.get("parts"), depth + 1)
