"""docs/crash-matrix.md out of the verdicts: date, counts, and a table of states by faults."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ORDER = (
    "kill",
    "exception",
    "stop",
    "poison",
    "lost-answer",
    "redis-",
    "github-",
    "git-",
    "model-",
    "sandbox-",
    "cut@",
    "delay@",
    "half-open@",
    "skew",
)
SAYS = {
    "kill": "kill -9 of the process",
    "exception": "an exception that nobody expected",
    "stop": "SIGSTOP long past the lease, another worker finishes, SIGCONT",
    "poison": "kill -9 each time, until the run is quarantined, or its ending set aside",
    "lost-answer": "Redis did it and its answer was lost",
    "redis-": "kill -9 of Redis and its restart from its AOF, whole or torn at the end",
    "github-": "GitHub: done then cut, done then 502, 502, cut before, secondary limit",
    "git-": "the git server: 502 or cut",
    "model-": "the model: 500, 529, 429, error in mid-stream, a stream that ends or breaks",
    "sandbox-": "the sandbox: cut or 503, before or after the work",
    "cut@": "a proxy cuts every connection to Redis, GitHub or the model, for a while",
    "delay@": "a proxy delays every piece",
    "half-open@": "a proxy swallows everything while connections stay open",
    "skew": "the host's clock jumps ten minutes ahead or back",
}


def group(fault: str) -> str:
    """The column that a fault belongs to."""
    return next(one for one in ORDER if fault.startswith(one))


def write(path: Path, rows: Sequence[dict[str, Any]], seconds: float) -> None:
    bad = [row for row in rows if row["broken"]]
    points = {(r["story"], *r["point"].values()) for r in rows}
    today = datetime.datetime.now(tz=datetime.UTC).date()
    text = [
        "# The crash matrix",
        "",
        "Written by `scripts/test --crash --write`; `docs/faults.md` says which test covers which "
        "row of the fault table.",
        "",
        f"Date: {today}. Cases: {len(rows)}. Broken: {len(bad)}. Points: {len(points)}. "
        f"Time: {seconds / 60:.0f} min.",
        "",
        "A case is a whole run in which one fault happens at one named point; afterwards a fresh "
        "worker goes on and every invariant is checked: the run ends and says so, one branch, one "
        "pull request, one check run, one sticky comment and the right labels; published tree = "
        "checked tree = signed tree; no recorded reply paid twice, nothing charged for the fault; "
        "no token, container or lease left; the journal's chain whole; no secret in ledger or log. "
        "The points are read off a recorded run, before and after each effect on Redis, GitHub, "
        "the git server, the model and the sandbox: the first and the last of each kind in each "
        "state. Before the fresh worker, GitHub tells of all that was done there, our own acts "
        "above all. Of `verify`, `revise` and `update` only what is their own is gone through: the "
        "desk's stages, and effects that no story before them has. `ready` and `taken-back` are "
        "what the desk does about the pull request after its run: made ready, a review asked for, "
        "each at most once, and never after a person took it back (in `taken-back` untold, while "
        "no desk is there; in both at the end).",
        "",
        "## Cases by state and fault",
        "",
        *_table(rows),
        "",
        "| fault | what happens |",
        "| --- | --- |",
        *(f"| `{one.rstrip('-@')}` | {SAYS[one]} |" for one in ORDER),
        "",
        "## Points by state",
        "",
        *_points(rows),
    ]
    if bad:
        text += ["", "## Broken", "", *(f"- {r['case']}: {'; '.join(r['broken'])}" for r in bad)]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    counts: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        place = (row["story"], row["point"]["state"])
        counts[place][group(row["fault"])].append(bool(row["broken"]))
    head = [one.rstrip("-@") for one in ORDER]
    lines = [f"| story | state | {' | '.join(head)} |", "| --- " * (len(head) + 2) + "|"]
    for (story, state), found in counts.items():
        cells = []
        for one in ORDER:
            said = str(len(found[one])) if found[one] else ""
            cells.append(f"{said} (**{sum(found[one])} broken**)" if any(found[one]) else said)
        lines.append(f"| {story} | {state} | {' | '.join(cells)} |")
    return lines


def _points(rows: Sequence[dict[str, Any]]) -> list[str]:
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for row in rows:
        found[row["story"], row["point"]["state"]][row["point"]["effect"]] = None
    lines = ["| story | state | effects |", "| --- | --- | --- |"]
    for (story, state), effects in found.items():
        named = ", ".join(f"`{one}`" for one in effects)
        lines.append(f"| {story} | {state} | {named} |")
    return lines
