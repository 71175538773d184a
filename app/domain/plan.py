"""The plan that the model submits: typed, validated against the tree, enforced from there on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What happens to a planned file."""

    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True)
class PlannedFile:
    """A file that may change; `lines` is how many lines the plan expects to change in it."""

    path: str
    action: Action
    why: str
    lines: int


@dataclass(frozen=True)
class Step:
    """One step; `needs` names the ids of its prerequisites."""

    id: str
    what: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Amendment:
    """A change of the plan inside the contract, shown to the reviewer."""

    reason: str
    added: tuple[PlannedFile, ...]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Files (enforced), tests that must pass, tests to write, steps as a graph, turn budget."""

    summary: str
    files: tuple[PlannedFile, ...]
    tests_must_pass: tuple[str, ...]
    tests_to_write: tuple[str, ...]
    steps: tuple[Step, ...]
    turns: int
    amendments: tuple[Amendment, ...] = ()

    @property
    def planned_lines(self) -> int:
        return sum(f.lines for f in self.files)
