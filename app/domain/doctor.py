"""What the doctor looks at and how it answers: live facts in, points that hold, fail or are unseen.

Read-only, and never a guess: what the credentials at hand cannot show is *unseen* and names who
could see it. The rules are in `doctor_rules` and `doctor_fence`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.domain.record import JournalEntry, Kept

ADMIN = "an administrator of the repository: give a token of theirs with --token-env"
OPERATOR = "the operator, with the App's id and key"


class Standing(StrEnum):
    """Of one point."""

    HOLDS = "holds"
    FAILS = "fails"
    UNSEEN = "unseen"


@dataclass(frozen=True)
class Unseen:
    """A fact that could not be read: `why`, and `who` could read it."""

    why: str
    who: str = ADMIN


@dataclass(frozen=True)
class Point:
    """One answer. `todo` says what to do where it fails, who could see it where it is unseen;
    `ruleset` is the JSON to import where that is the remedy."""

    id: str
    claim: str
    standing: Standing
    found: str = ""
    todo: str = ""
    ruleset: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class AppFacts:
    """The App's registration as GitHub knows it."""

    id: int
    slug: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]


@dataclass(frozen=True)
class HookFacts:
    """Where deliveries go, and what became of the last ones: HTTP status of each, newest first."""

    url: str
    content_type: str
    insecure: bool
    codes: tuple[int, ...]


@dataclass(frozen=True)
class InstallationFacts:
    """The App's installation that covers the repository."""

    id: int
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    suspended: bool


@dataclass(frozen=True)
class RepositoryFacts:
    """`merge` holds GitHub's merge settings by their names, None where they are not shown."""

    owner: str
    name: str
    default_branch: str
    private: bool
    archived: bool
    merge: Mapping[str, Any] | None


@dataclass(frozen=True)
class Rule:
    """A rule that is active for a branch, whoever set it (repository, organisation)."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ruleset:
    """`bypass` is GitHub's word for whether the App may pass by, "" where it was not said;
    `actors` (type, id) where an administrator's token shows them."""

    id: int
    name: str
    target: str
    active: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    kinds: frozenset[str]
    bypass: str = ""
    actors: tuple[tuple[str, int], ...] | None = None

    def lets_by(self, app: int) -> bool | None:
        """Whether the App (0: its id is not known) passes this ruleset by; None: nobody said."""
        if self.actors is not None:
            others = any(kind == "Integration" for kind, _ in self.actors)
            return None if others and not app else ("Integration", app) in self.actors
        return self.bypass != "never" if self.bypass else None


@dataclass(frozen=True)
class BranchFacts:
    """The default branch: its rules, its classic protection as anybody sees it (required contexts),
    and in whole where an administrator looked (None: nobody did)."""

    rules: tuple[Rule, ...]
    protected: bool
    contexts: tuple[str, ...]
    protection: Mapping[str, Any] | None


@dataclass(frozen=True)
class ActionsFacts:
    """Whether GitHub Actions run here at all, and whether a job's token may write by default."""

    enabled: bool
    writes: bool


@dataclass(frozen=True)
class FileFacts:
    """What lies at the default branch's tip: workflows parsed (None: unreadable), the configuration
    ("" error: it is valid), its evidence key, whether there is a CODEOWNERS file."""

    workflows: Mapping[str, Mapping[Any, Any] | None]
    configured: bool
    error: str
    evidence_key: str
    codeowners: bool


@dataclass(frozen=True)
class Facts:
    """All that the rules see. `owners` is the operator's allow-list in lower case; `signing` the
    line of the key that this instance signs with, "" where it is not at hand."""

    app: AppFacts | Unseen
    hook: HookFacts | Unseen
    installation: InstallationFacts | Unseen
    repository: RepositoryFacts | Unseen
    rulesets: tuple[Ruleset, ...] | Unseen
    branch: BranchFacts | Unseen
    actions: ActionsFacts | Unseen
    files: FileFacts | Unseen
    owners: frozenset[str] | Unseen
    intake: str = "webhook"
    signing: str = ""


NOTE = "doctor"  # a journal note with the summary, made when a run is admitted


def noted(entries: Iterable[JournalEntry]) -> dict[str, Any] | None:
    """The summary that a run's journal holds, None where the settings were not looked at."""
    for entry in entries:
        if entry.kind is Kept.NOTE and isinstance(entry.data.get(NOTE), dict):
            found: dict[str, Any] = entry.data[NOTE]
            return found
    return None


def holds(point: str, claim: str, found: str = "") -> Point:
    return Point(point, claim, Standing.HOLDS, found)


def fails(
    point: str, claim: str, found: str, todo: str, ruleset: Mapping[str, Any] | None = None
) -> Point:
    return Point(point, claim, Standing.FAILS, found, todo, ruleset)


def unseen(point: str, claim: str, fact: Unseen) -> Point:
    return Point(point, claim, Standing.UNSEEN, fact.why, f"It could be seen by {fact.who}.")


def summary(points: Iterable[Point]) -> dict[str, Any]:
    """For the evidence: a digest over all answers, and the ids of those that do not hold."""
    listed = sorted((one.id, str(one.standing)) for one in points)
    digest = hashlib.sha256(json.dumps(listed, separators=(",", ":")).encode()).hexdigest()
    return {
        "digest": digest,
        "points": len(listed),
        "fails": [name for name, standing in listed if standing == Standing.FAILS],
        "unseen": [name for name, standing in listed if standing == Standing.UNSEEN],
    }
