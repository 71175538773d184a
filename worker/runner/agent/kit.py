"""What the agent's stages are given for one held run: every seam and number they work with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.budget import Rate
from app.domain.check import Check, CheckResult
from app.domain.ports.hold import Hold
from app.domain.ports.model import Model
from app.domain.ports.objects import Objects
from app.domain.ports.sandbox import Sandbox


class Hit(Protocol):
    """A line that a search found; `line` counts from 1, `text` is as it stands in the file."""

    @property
    def path(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def text(self) -> str: ...


class Found(Protocol):
    """One page of a search; `more` says that another page follows, `note` what was left out."""

    @property
    def hits(self) -> Sequence[Hit]: ...

    @property
    def more(self) -> bool: ...

    @property
    def note(self) -> str: ...


# (tree, pattern, regex, glob, offset): raises ValueError with words for the model on a bad pattern.
Search = Callable[[str, str, bool, str, int], Found]

# (check, selectors, tree, seconds): raises ValueError with words for the model on bad selectors.
RunSelected = Callable[[Check, Sequence[str], str, int], tuple[CheckResult, str]]


@dataclass(frozen=True)
class Kit:
    """Made once for each held run.

    `rate` belongs to the run's model: a run that has begun keeps the model it began with, since
    thinking blocks are bound to it. `delimiter` is random for each run and frames untrusted text.
    `clock` gives the ledger's milliseconds.
    """

    hold: Hold
    model: Model
    rate: Rate
    card: str
    objects: Objects
    sandbox: Sandbox
    search: Search
    run_selected: RunSelected
    delimiter: str
    clock: Callable[[], int]
    max_output: int = 16_000
    answer_seconds: int = 7 * 86_400
