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
from app.domain.ports.sandbox import Job
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
top, report, folder, command, asked = sys.argv[1:]
wanted, most, names_most = json.loads(asked), 1 << 21, 200
def seen():
    found = {}
    for place, folders, names in os.walk(top):
        folders[:] = [f for f in folders if f != ".git"]
        for name in names:
            path = os.path.join(place, name)
            facts = os.lstat(path)
            if stat.S_ISREG(facts.st_mode):
                digest = hashlib.sha256()
                with open(path, "rb") as source:
                    while piece := source.read(1 << 20):
                        digest.update(piece)
                mode, size = facts.st_mode & 0o111, facts.st_size
                found[os.path.relpath(path, top)] = mode, digest.digest(), size
    return found
before = seen()
code = subprocess.run(["sh", "-euc", command], cwd=os.path.join(top, folder)).returncode
after = seen()
after.pop(report, None)
changed = [path for path in after if before.get(path) != after[path]]
changed.sort(key=lambda path: (path not in wanted, path))
frames, left = [], []
for path in changed:
    size = after[path][2]
    if size > most or len(frames) >= names_most:
        left.append([path, size])
        continue
    most -= size
    with open(os.path.join(top, path), "rb") as source:
        data = base64.b64encode(source.read()).decode()
    frames.append({"path": path, "mode": 0o100755 if after[path][0] else 0o100644, "data": data})
gone = sorted(set(before) - set(after), key=lambda path: (path not in wanted, path))
told = {"frames": frames, "left": left[:names_most], "lefts": len(left),
        "gone": gone[:names_most], "gones": len(gone)}
with open(os.path.join(top, report), "w") as out:
    json.dump(told, out)
sys.exit(code)
"""


@dataclass(frozen=True)
class Frame:
    """One file as the fixer left it."""

    path: str
    mode: int
    data: bytes


@dataclass(frozen=True)
class Frames:
    """What a fixer did: the files that it left, those too large or too many to come along with
    their sizes, and those that it deleted; of the last two the numbers, too, as lists are cut."""

    files: tuple[Frame, ...]
    left: tuple[tuple[str, int], ...] = ()
    lefts: int = 0
    gone: tuple[str, ...] = ()
    gones: int = 0


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
            bench.snapshot.image, bench.tree, job_of(fixer, declared(plan)), {}, bench.kit.hold.look
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


def _taken(bench: Bench, plan: Plan, fixer: FixerConfig, frames: Frames, said: str) -> Answer:
    paths = declared(plan)
    if lost := [f"{named(p)} ({size:,} bytes)" for p, size in frames.left if p in paths]:
        return refused(
            f"Nothing was changed: what {fixer.name} made of {', '.join(lost[:5])} is too large to "
            "be taken."
        )
    if lost := [named(path) for path in frames.gone if path in paths]:
        return refused(
            f"Nothing was changed: {fixer.name} deleted {', '.join(lost[:5])}, and a fixer's "
            "deletions are not taken; delete it with an edit."
        )
    edits: list[Edit] = []
    left: list[str] = []
    for frame in frames.files:
        edit = _edit(bench, plan, fixer, frame)
        if edit is None:
            left.append(frame.path)
        else:
            edits.append(edit)
    note = _note("Left out, as they are not the plan's, not text, or not the fixer's", left)
    note += _note("Too large or too many to come along", [p for p, _ in frames.left], frames.lefts)
    note += _note("Deleted by it, which is not taken", list(frames.gone), frames.gones)
    if not edits:
        return refused(f"Nothing was changed: {fixer.name} changed no file of the plan.{note}")
    if len(edits) > MAX_EDITS:
        return refused(f"Nothing was changed: {fixer.name} changed {len(edits)} files at once.")
    answer = proposed(bench, plan, edits)
    return Answer(f"{answer.text}{note}\n{said}", answer.error, answer.bad, answer.effect)


def _note(what: str, paths: Sequence[str], count: int = 0) -> str:
    if not paths:
        return ""
    shown = ", ".join(named(path) for path in paths[:10])
    more = max(count, len(paths)) - len(paths[:10])
    return f" {what}: {shown}{f' and {more} more' if more else ''}."


def declared(plan: Plan) -> list[str]:
    """The plan's paths, which come along first."""
    return [one.path for one in plan.files]


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


def job_of(fixer: FixerConfig, paths: Sequence[str] = ()) -> Job:
    told = ("/workspace", REPORT, fixer.workdir, fixer.run, json.dumps(list(paths)))
    argv = ("python3", "-I", "-c", COLLECT, *told)
    return Job(argv, dict(fixer.env), "", REPORT, fixer.timeout, report_cap=FRAMES_CAP)


def frames_of(report: bytes | None) -> Frames:
    """What a report tells, regular files alone. Raises `BadFrames`."""
    if report is None:
        raise BadFrames("it wrote none")
    if len(report) > FRAMES_CAP:
        raise BadFrames(f"it is over {FRAMES_CAP >> 20} MiB")
    try:
        told = json.loads(report)
        files = tuple(
            Frame(str(one["path"]), int(one["mode"]), base64.b64decode(one["data"], validate=True))
            for one in told["frames"]
        )
        left = tuple((str(path), int(size)) for path, size in told.get("left", ()))
        gone = tuple(str(path) for path in told["gone"])
        frames = Frames(files, left, int(told.get("lefts", 0)), gone, int(told.get("gones", 0)))
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise BadFrames("it has not the shape of frames") from None
    if any(frame.mode not in (FILE, EXECUTABLE) for frame in files):
        raise BadFrames("it holds something else than a regular file")
    if sum(len(frame.data) for frame in files) > MAX_NEW_TOTAL:
        raise BadFrames(f"it changes more than {MAX_NEW_TOTAL:,} bytes")
    return frames


def _output(outcome: Outcome) -> str:
    return printable(outcome.stdout + outcome.stderr)
