"""Which files of the base are shown to the model as hints."""

from __future__ import annotations

from app.domain.edit import Entry
from app.domain.hints import LARGEST, Hint, hints_of


def entry(path: str, oid: str = "a", mode: int = 0o100644, size: int = 10) -> Entry:
    return Entry(path, mode, oid, size)


def test_the_known_files_in_their_order() -> None:
    found = hints_of(
        [entry("CLAUDE.md", "b"), entry(".github/copilot-instructions.md", "c"), entry("AGENTS.md")]
    )
    assert found == (
        Hint("AGENTS.md", "a"),
        Hint("CLAUDE.md", "b"),
        Hint(".github/copilot-instructions.md", "c"),
    )


def test_the_same_bytes_are_shown_once() -> None:
    assert hints_of([entry("AGENTS.md"), entry("CLAUDE.md")]) == (Hint("AGENTS.md", "a"),)


def test_links_huge_files_and_others_are_no_hints() -> None:
    assert (
        hints_of(
            [
                entry("AGENTS.md", mode=0o120000),
                entry("CLAUDE.md", size=LARGEST + 1),
                entry("docs/AGENTS.md"),
                entry("agents.md"),
            ]
        )
        == ()
    )
