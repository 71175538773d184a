"""A set-up plan as the sandbox's request, and its answer as an outcome."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.domain.errors import Unavailable
from app.domain.setup import SetupOutcome, SetupPlan


def plan_json(plan: SetupPlan) -> dict[str, Any]:
    """All of a plan but its files and the sentences for people."""
    return {
        "tools": [{**asdict(tool), "packages": list(tool.packages)} for tool in plan.tools],
        "packages": list(plan.packages),
        "steps": [asdict(step) for step in plan.steps],
        "links": list(plan.links),
        "env": dict(plan.env),
        "ecosystems": list(plan.ecosystems),
        "hosts": list(plan.hosts),
        "services": [{**asdict(one), "ready": list(one.ready)} for one in plan.services],
        "timeout": plan.timeout,
    }


def files_tar(plan: SetupPlan) -> bytes:
    """What set-up sees, the same bytes for the same files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in plan.files:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def outcome_of(head: Mapping[str, Any], bodies: list[bytes]) -> SetupOutcome:
    """Raises `Unavailable` for an answer that cannot be read."""
    try:
        said, (log,) = head["setup"], bodies
        return SetupOutcome(
            image=str(said["image"]),
            key=str(said["key"]),
            ms=int(said["ms"]),
            reused=bool(said["reused"]),
            log=log,
            error=str(said["error"]),
            refused=tuple(str(one) for one in said["refused"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unavailable(f"the sandbox's answer cannot be read: {error!r}") from error
