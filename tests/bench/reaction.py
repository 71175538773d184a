"""From a command's comment to its reaction, while the runner is busy: what a person waits for.

The whole product on this machine, with the pause between two writes that is its default; only
GitHub and the model are stood in for. Two runs that never get anywhere keep both runner workers.
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
BODY = "Wrong.\n\n## Acceptance criteria\n\n- [ ] it is right\n"
CONFIG = "version: 1\nchecks:\n  - {name: tests, run: 'true'}\n"


def run() -> dict[str, float]:
    """Seconds from the comment to the reaction as GitHub shows it."""
    extra = {"desk": {"PATCHWARRANT_WRITE_PAUSE_SECONDS": "1"}}
    with tempfile.TemporaryDirectory() as folder, stack(OWNER, extra=extra) as up:
        _repository(up, Path(folder))
        _busy(up)
        number = up.hub.open_issue(NAME, "mona", "Asked", BODY)
        took = sorted(_one(up, number) for _ in range(COMMENTS))
    return {
        "reaction_p50_s": statistics.median(took),
        "reaction_p95_s": took[round(0.95 * (COMMENTS - 1))],
        "reaction_max_s": took[-1],
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


def _one(up: Stack, number: int) -> float:
    time.sleep(APART)
    began = time.monotonic()
    comment = up.hub.comment(NAME, number, "mona", "/agent status")
    while True:
        shown = next(one for one in up.hub.comments(NAME, number) if one["id"] == comment)
        if shown["reactions"]["eyes"]:
            return time.monotonic() - began
        if time.monotonic() - began > 60:
            raise TimeoutError("no reaction within a minute")
        time.sleep(0.01)
