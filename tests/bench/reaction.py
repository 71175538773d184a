"""From a command's comment to its reaction, while the runner is busy: what a person waits for.

The whole product on this machine, with the pause between two writes that is its default; only
GitHub and the model are stood in for. Two runs that never get anywhere keep both runner workers.
First one person speaks at a time, then two at the same moment: about one issue, and about two.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from app.domain.state import State
from tests.stack import Stack, stack

OWNER = "acme"
NAME = f"{OWNER}/busy"
COMMENTS = 20
APART = 3.0  # seconds between two comments
ROUNDS = 10  # of two comments at once, every other one about the same issue
PAUSE = 5.0  # seconds between two rounds: four writes of a pause of one second each
BODY = "Wrong.\n\n## Acceptance criteria\n\n- [ ] it is right\n"
CONFIG = "version: 1\nchecks:\n  - {name: tests, run: 'true'}\n"


def run() -> dict[str, float]:
    """Seconds from the comment to the reaction as GitHub shows it."""
    extra = {"desk": {"PATCHWARRANT_WRITE_PAUSE_SECONDS": "1"}}
    with tempfile.TemporaryDirectory() as folder, stack(OWNER, extra=extra) as up:
        _repository(up, Path(folder))
        _busy(up)
        numbers = [up.hub.open_issue(NAME, "mona", title, BODY) for title in ("Asked", "Too")]
        took = sorted(_said(up, numbers[:1], APART)[0] for _ in range(COMMENTS))
        rounds = [numbers if n % 2 else numbers[:1] * 2 for n in range(ROUNDS)]
        together = sorted(one for both in rounds for one in _said(up, both, PAUSE))
    return {**_figures("reaction", took), **_figures("together", together)}


def _figures(name: str, took: list[float]) -> dict[str, float]:
    return {
        f"{name}_p50_s": statistics.median(took),
        f"{name}_p95_s": took[round(0.95 * (len(took) - 1))],
        f"{name}_max_s": took[-1],
    }


def _repository(up: Stack, folder: Path) -> None:
    (folder / ".github").mkdir()
    (folder / ".github" / "agent.yml").write_text(CONFIG)
    (folder / "a.py").write_text("x = 1\n")
    person = ("-c", "user.name=Mona", "-c", "user.email=mona@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *person, "-C", str(folder), *words], check=True)
    up.hub.create_organisation(OWNER)
    up.hub.create_repo(NAME, source=folder)
    up.hub.set_role(NAME, "mona", "write")
    up.installation = up.hub.install("patchwarrant", OWNER, [NAME])


def _busy(up: Stack) -> None:
    model = up.model
    assert model is not None
    model.script([[model.say(("search", {"pattern": f"word{n}"})) for n in range(400)]])
    model.latency(1.0)
    for _ in range(2):
        number = up.hub.open_issue(NAME, "mona", "Slow", BODY)
        up.hub.add_label(NAME, number, "mona", "agent:fix")
        up.await_run(
            lambda one, number=number: one.issue == number and one.state is State.LOCATE,  # type: ignore[misc]
            120,
        )


def _said(up: Stack, issues: list[int], after: float) -> list[float]:
    """Seconds to the reaction of each comment, one on each of the issues, all made at once."""
    time.sleep(after)
    waits: dict[int, tuple[int, float]] = {}
    for issue in issues:
        began = time.monotonic()
        waits[up.hub.comment(NAME, issue, "mona", "/agent status")] = (issue, began)
    took: list[float] = []
    while waits:
        for comment, (issue, began) in tuple(waits.items()):
            shown = next(one for one in up.hub.comments(NAME, issue) if one["id"] == comment)
            if shown["reactions"]["eyes"]:
                took.append(time.monotonic() - began)
                del waits[comment]
            elif time.monotonic() - began > 60:
                raise TimeoutError("no reaction within a minute")
        time.sleep(0.01)
    return took
