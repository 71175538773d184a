"""The patch player: acts out given diffs as a conversation with our tools.

Conversation 0 brings base to diff 1; the conversation of repair N brings what is there after diff N
to base plus diff N+1. What to do next follows from what our tools have answered so far.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.standins.anthropic import diffs
from tests.standins.anthropic.answers import Play
from tests.standins.anthropic.conversation import Conversation
from tests.standins.anthropic.hunks import changed_lines, replacements
from tests.standins.anthropic.script import tool_id

READS_A_REPLY = 8
PATIENCE = 2  # refusals of one tool before the player says so and gives up


def at_head(repository: Path, path: str) -> bytes | None:
    """A file's bytes at HEAD of a bare or ordinary local repository, None where there is none."""
    shown = subprocess.run(
        [
            "git",
            "-c",
            "safe.directory=*",
            "-C",
            str(repository),
            "cat-file",
            "blob",
            f"HEAD:{path}",
        ],
        capture_output=True,
        check=False,
    )
    return shown.stdout if shown.returncode == 0 else None


class Player:
    """Stateless: everything that it needs to know is in the request's messages."""

    def __init__(
        self,
        patches: Sequence[bytes],
        repository: Path,
        threads: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """`threads` are the outcomes of review threads that the last `finish` gives.

        Raises `diffs.BadDiff` or `NotText` for what cannot be acted out with our tools."""

        def read(path: str) -> bytes | None:
            return at_head(repository, path)

        self._threads = [dict(one) for one in threads]
        targets = [diffs.apply(diffs.parse(patch), read) for patch in patches]
        if not targets:
            raise diffs.BadDiff("at least one diff is wanted")
        paths = sorted({path for target in targets for path in target})
        base = {path: read(path) for path in paths}
        self._stages = [base, *({**base, **target} for target in targets)]
        for old, new in zip(self._stages, self._stages[1:], strict=False):
            for path in paths:
                replacements(path, old[path], new[path], "")  # early: what cannot be said

    def play(self, told: Conversation) -> Play:
        number = told.number
        if number + 1 >= len(self._stages):
            return self._say(told, ("finish", {"summary": "There is no further idea to try."}))
        now, goal = self._stages[number], self._stages[number + 1]
        changed = [path for path in goal if now[path] != goal[path]]
        for tool in ("edit", "submit_plan", "amend_plan"):
            if len(told.refused(tool)) >= PATIENCE:
                reason = told.refused(tool)[-1].text[:500]
                return Play([{"type": "text", "text": f"`{tool}` was refused: {reason}"}])
        if told.accepted("edit"):
            said: dict[str, Any] = {"summary": "The change is complete."}
            if self._threads:
                said["threads"] = self._threads
            return self._say(told, ("finish", said))
        reads = self._reads(told, [path for path in changed if now[path] is not None])
        if reads:
            return self._say(told, *reads)
        opening = self._plan(told, changed) if number == 0 else self._amendment(told, changed)
        if opening is not None:
            return self._say(told, opening)
        return self._say(told, ("edit", {"edits": self._edits(told, changed)}))

    def _reads(self, told: Conversation, wanted: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        refused = len(told.refused("edit"))
        seen = told.accepted("read")
        if refused and told.calls and told.calls[-1].name == "edit":
            return [("read", {"path": path}) for path in wanted[:READS_A_REPLY]]
        asked = {call.input.get("path") for call in seen} | {
            call.input.get("path") for call in told.refused("read")
        }
        missing = [path for path in wanted if path not in asked]
        return [("read", {"path": path}) for path in missing[:READS_A_REPLY]]

    def _plan(
        self, told: Conversation, changed: Sequence[str]
    ) -> tuple[str, dict[str, Any]] | None:
        if not told.accepted("finish"):
            return "finish", {"summary": f"What has to change is in {', '.join(changed)}."}
        if told.accepted("submit_plan"):
            return None
        return "submit_plan", {
            "summary": f"Change {', '.join(changed)} as the issue asks.",
            "files": [self._planned(path, 1) for path in changed],
            "tests_must_pass": [],
            "tests_to_write": [],
            "steps": [{"id": "change", "what": "make the change", "needs": []}],
            "turns": 2,
        }

    def _amendment(
        self, told: Conversation, changed: Sequence[str]
    ) -> tuple[str, dict[str, Any]] | None:
        """What the plan so far does not let this repair do; an entry for another action goes."""
        number = told.number
        planned: dict[str, set[str]] = {}
        for stage in range(1, number + 1):
            for path in self._stages[stage]:
                if self._stages[stage][path] != self._stages[0][path]:
                    planned.setdefault(path, set()).add(self._action(path, stage))
        new = [
            path
            for path in changed
            if path not in planned or not planned[path] & {self._action(path, number + 1), "create"}
        ]
        if not new or told.accepted("amend_plan"):
            return None
        return "amend_plan", {
            "reason": "the failing check shows that these files have to change as well",
            "add": [self._planned(path, number + 1) for path in new],
            "remove": [path for path in new if path in planned],
        }

    def _action(self, path: str, stage: int) -> str:
        """What becomes of a path against the base; "edit" also where it is as it was."""
        before, after = self._stages[0][path], self._stages[stage][path]
        return "create" if before is None else "delete" if after is None else "edit"

    def _planned(self, path: str, stage: int) -> dict[str, Any]:
        action = self._action(path, stage)
        lines = changed_lines(self._stages[0][path] or b"", self._stages[stage][path] or b"")
        why = f"{action} it as the issue asks"
        return {"path": path, "action": action, "why": why, "lines": max(1, lines)}

    def _edits(self, told: Conversation, changed: Sequence[str]) -> list[dict[str, Any]]:
        now, goal = self._stages[told.number], self._stages[told.number + 1]
        hashes = told.hashes()
        edits: list[dict[str, Any]] = []
        for path in changed:
            edits += replacements(path, now[path], goal[path], hashes.get(path, ""))
        return edits

    def _say(self, told: Conversation, *calls: tuple[str, Mapping[str, Any]]) -> Play:
        return Play(
            [
                {
                    "type": "tool_use",
                    "id": tool_id(told.number, told.position, place),
                    "name": name,
                    "input": dict(arguments),
                }
                for place, (name, arguments) in enumerate(calls)
            ]
        )
