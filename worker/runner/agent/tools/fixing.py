"""run_fixer: a configured formatter or generator, whose output is proposed like an edit.

It runs over a copy of the change in a container of its own. What comes back are frames of path,
mode and bytes from hostile ground: they pass the same gates as what the model writes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.budget import before_turn
from app.domain.check import Outcome
from app.domain.edit import EXECUTABLE, FILE, MAX_EDITS, MAX_NEW_TOTAL, Edit, Write
from app.domain.environment_config import FixerConfig
from app.domain.glob import match
from app.domain.paths import PathRefused, canon
from app.domain.plan import Action, Plan, declares
from app.domain.ports import Job
from app.domain.text import printable
from worker.runner.agent.bench import Answer, Bench, refused
from worker.runner.agent.boxes import Boxes
from worker.runner.agent.private import private
from worker.runner.agent.quote import capped, named
from worker.runner.agent.tools.editing import proposed

REPORT = ".patchwarrant-fixer"
FRAMES_CAP = 4 << 20  # bytes of all frames as they come back
OUTPUT_CHARS = 2_000

COLLECT = r"""
import base64, hashlib, json, os, stat, subprocess, sys
top, report, folder, command = sys.argv[1:]
def seen():
    found = {}
    for place, folders, names in os.walk(top):
        folders[:] = [f for f in folders if f != ".git"]
        for name in names:
            path = os.path.join(place, name)
            facts = os.lstat(path)
            if stat.S_ISREG(facts.st_mode):
                with open(path, "rb") as source:
                    found[os.path.relpath(path, top)] = (
                        facts.st_mode & 0o111, hashlib.sha256(source.read()).digest())
    return found
before = seen()
code = subprocess.run(["sh", "-euc", command], cwd=os.path.join(top, folder)).returncode
after = seen()
frames = []
for path in sorted(after):
    if before.get(path) != after[path] and path != report and len(frames) < 200:
        with open(os.path.join(top, path), "rb") as source:
            data = base64.b64encode(source.read(1 << 21)).decode()
        mode = 0o100755 if after[path][0] else 0o100644
        frames.append({"path": path, "mode": mode, "data": data})
gone = sorted(set(before) - set(after))[:50]
with open(os.path.join(top, report), "w") as out:
    json.dump({"frames": frames, "gone": gone}, out)
sys.exit(code)
"""


@dataclass(frozen=True)
class Frame:
    """One file as the fixer left it."""

    path: str
    mode: int
    data: bytes


class BadFrames(ValueError):
    """What came back is no list of frames; the text says what is wrong with it."""


def run_fixer(bench: Bench, arguments: Mapping[str, Any]) -> Answer:
    """Run one configured fixer on the working snapshot and take what it changed as an edit.

    Raises `Halt(BUDGET_TURNS)` when no turn is left."""
    known = {one.name: one for one in bench.contract.config.fixers}
    fixer = known.get(arguments["name"])
    if fixer is None:
        names = ", ".join(known) or "none"
        return refused(f"run_fixer: there is no such fixer; configured are: {names}.")
    plan = bench.plan
    if plan is None:
        return refused("run_fixer: there is no accepted plan.")
    before_turn(bench.limits, bench.tally.onto(bench.run, bench.kit.card).spend)
    boxes = Boxes(bench.kit.sandbox, bench.kit.objects, bench.views, bench.run.id)
    try:
        outcome = boxes.run(
            bench.snapshot.image, bench.tree, job_of(fixer), {}, bench.kit.hold.look
        )
    finally:
        boxes.close()
    said = bench.framed("output", capped(_output(outcome), OUTPUT_CHARS))
    if outcome.exit_code != 0 or outcome.limit:
        how = outcome.limit_words or f"exit code {outcome.exit_code}"
        return refused(f"Nothing was changed: the fixer {fixer.name} failed ({how}).\n{said}")
    try:
        frames = frames_of(outcome.report)
    except BadFrames as wrong:
        return refused(f"Nothing was changed: the fixer's result cannot be read: {wrong}.")
    return _taken(bench, plan, fixer, frames, said)


def _taken(
    bench: Bench, plan: Plan, fixer: FixerConfig, frames: Sequence[Frame], said: str
) -> Answer:
    edits: list[Edit] = []
    left: list[str] = []
    for frame in frames:
        edit = _edit(bench, plan, fixer, frame)
        if edit is None:
            left.append(frame.path)
        else:
            edits.append(edit)
    note = ""
    if left:
        shown = ", ".join(named(path) for path in left[:10])
        note = f" Left out, as they are not the plan's, not text, or not the fixer's: {shown}."
    if not edits:
        return refused(f"Nothing was changed: {fixer.name} changed no file of the plan.{note}")
    if len(edits) > MAX_EDITS:
        return refused(f"Nothing was changed: {fixer.name} changed {len(edits)} files at once.")
    answer = proposed(bench, plan, edits)
    return Answer(f"{answer.text}{note}\n{said}", answer.error, answer.bad, answer.effect)


def _edit(bench: Bench, plan: Plan, fixer: FixerConfig, frame: Frame) -> Edit | None:
    """The frame as a whole-file edit, None where it is not to be taken."""
    try:
        path = canon(frame.path)
        text = frame.data.decode("utf-8")
    except (PathRefused, UnicodeDecodeError):
        return None
    if path != frame.path or private(path):
        return None
    if fixer.paths and not any(match(glob, path) for glob in fixer.paths):
        return None
    there = path in bench.views.files(bench.base)
    if not declares(plan, path, Action.EDIT if there else Action.CREATE):
        return None
    now = bench.views.read(bench.tree, path)
    if now is not None and (now[0] == frame.data or now[1] != frame.mode):
        return None
    return Write(path, hashlib.sha256(now[0]).hexdigest() if now else "", text)


def job_of(fixer: FixerConfig) -> Job:
    argv = ("python3", "-I", "-c", COLLECT, "/workspace", REPORT, fixer.workdir, fixer.run)
    return Job(argv, dict(fixer.env), "", REPORT, fixer.timeout, report_cap=FRAMES_CAP)


def frames_of(report: bytes | None) -> list[Frame]:
    """The frames of a report, regular files alone. Raises `BadFrames`."""
    if report is None:
        raise BadFrames("it wrote none")
    if len(report) > FRAMES_CAP:
        raise BadFrames(f"it is over {FRAMES_CAP >> 20} MiB")
    try:
        told = json.loads(report)["frames"]
        frames = [
            Frame(str(one["path"]), int(one["mode"]), base64.b64decode(one["data"], validate=True))
            for one in told
        ]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise BadFrames("it has not the shape of frames") from None
    if any(frame.mode not in (FILE, EXECUTABLE) for frame in frames):
        raise BadFrames("it holds something else than a regular file")
    if sum(len(frame.data) for frame in frames) > MAX_NEW_TOTAL:
        raise BadFrames(f"it changes more than {MAX_NEW_TOTAL:,} bytes")
    return frames


def _output(outcome: Outcome) -> str:
    return printable(outcome.stdout + outcome.stderr)
