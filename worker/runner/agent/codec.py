"""Values of a run as the journal keeps them: plain JSON out, the same values back in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.domain.budget import Usage
from app.domain.edit import Candidate, Change
from app.domain.plan import Action, Amendment, Plan, PlannedFile, Step


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan as JSON-ready values."""
    kept: dict[str, Any] = json.loads(json.dumps(asdict(plan)))
    return kept


def plan_of(kept: Mapping[str, Any]) -> Plan:
    """The plan that `plan_json` kept."""
    return Plan(
        summary=kept["summary"],
        files=tuple(_file(f) for f in kept["files"]),
        tests_must_pass=tuple(kept["tests_must_pass"]),
        tests_to_write=tuple(kept["tests_to_write"]),
        steps=tuple(Step(s["id"], s["what"], tuple(s["needs"])) for s in kept["steps"]),
        turns=kept["turns"],
        amendments=tuple(
            Amendment(a["reason"], tuple(_file(f) for f in a["added"]), tuple(a["removed"]))
            for a in kept["amendments"]
        ),
    )


def _file(kept: Mapping[str, Any]) -> PlannedFile:
    return PlannedFile(kept["path"], Action(kept["action"]), kept["why"], kept["lines"])


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """A candidate as JSON-ready values."""
    return {
        "tree": candidate.tree,
        "changes": [[c.path, c.mode, c.blob] for c in candidate.changes],
    }


def candidate_of(kept: Mapping[str, Any]) -> Candidate:
    """The candidate that `candidate_json` kept."""
    return Candidate(kept["tree"], tuple(Change(*change) for change in kept["changes"]))


def usage_json(usage: Usage) -> dict[str, int]:
    """Token counts as JSON-ready values."""
    return asdict(usage)


def usage_of(kept: Mapping[str, int]) -> Usage:
    """The counts that `usage_json` kept."""
    return Usage(**kept)


def key_of(name: str, arguments: Any) -> str:
    """What makes two calls the same call: SHA-256 over the tool and its canonical arguments."""
    text = json.dumps([name, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
