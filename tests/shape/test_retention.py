"""The table of docs/retention.md names every family of rows that the code knows, and no other."""

from __future__ import annotations

import inspect
import re

from app.domain import record
from tests.shared_data import REPOSITORY

ROW = re.compile(r"`(pw:[^`]*)`")


def families() -> set[str]:
    """Every key name in `record`, with `<>` for each part that varies."""
    found = {
        value
        for name, value in vars(record).items()
        if name.isupper() and isinstance(value, str) and value.startswith("pw:")
    }
    for name, function in inspect.getmembers(record, inspect.isfunction):
        if name.endswith("_key"):
            found.add(function(*["<>"] * len(inspect.signature(function).parameters)))
    return found


def documented() -> list[str]:
    page = (REPOSITORY / "docs" / "retention.md").read_text(encoding="utf-8")
    firsts = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return [re.sub("<[^>]*>", "<>", name) for cell in firsts for name in ROW.findall(cell)]


def test_every_family_of_rows_has_its_retention() -> None:
    assert sorted(documented()) == sorted(families())


def test_every_row_of_a_run_and_of_a_change_is_in_the_table() -> None:
    own = {
        re.sub("X", "<>", key) for key in (*record.rows_of_run("X"), *record.rows_of_change("X"))
    }
    assert own <= set(documented())


def test_no_key_is_written_by_hand() -> None:
    """Rows have their names from `record` alone, so that none escapes the table."""
    found = [
        f"{path.relative_to(REPOSITORY)}: {line.strip()}"
        for folder in ("app", "worker")
        for path in (REPOSITORY / folder).rglob("*.py")
        if path.name != "record.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"[\"']pw:", line)
    ]
    assert found == []
