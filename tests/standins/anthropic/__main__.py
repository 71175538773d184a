"""Start the stand-in by hand: `python -m tests.standins.anthropic --patch FILE --repo PATH`."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from pathlib import Path

import uvicorn

from tests.standins.anthropic.diffs import BadDiff
from tests.standins.anthropic.hunks import NotText
from tests.standins.anthropic.player import Player
from tests.standins.anthropic.script import BadScript, Script, recorded
from tests.standins.anthropic.server import application
from tests.standins.anthropic.state import State


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.standins.anthropic")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--script", type=Path, help="JSON file with replies")
    source.add_argument("--patch", type=Path, action="append", help="a diff; again for repairs")
    source.add_argument("--recording", type=Path, help="JSON file of an earlier recording")
    parser.add_argument("--repo", type=Path, help="local repository that the diffs apply to")
    parser.add_argument("--ready", type=Path, help="written when listening: one JSON line")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between events")
    return parser


def source_of(given: argparse.Namespace) -> Script | Player | None:
    if given.script:
        return Script(json.loads(given.script.read_text()))
    if given.recording:
        return recorded(json.loads(given.recording.read_text()))
    if given.patch:
        if given.repo is None:
            raise BadDiff("--patch needs --repo PATH: the repository that the diff applies to")
        return Player([patch.read_bytes() for patch in given.patch], given.repo)
    return None


def main() -> int:
    given = arguments().parse_args()
    try:
        source = source_of(given)
    except (BadDiff, BadScript, NotText, OSError, ValueError) as error:
        print(f"the stand-in cannot play this: {error}", file=sys.stderr)
        return 2
    state = State(source=source, key=os.environ.get("STANDIN_MODEL_KEY", ""))
    state.latency, state.pause = given.latency, given.pause
    listener = socket.create_server(("127.0.0.1", given.port))
    line = json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"})
    if given.ready:
        beside = given.ready.with_suffix(".part")
        beside.write_text(line + "\n")
        beside.replace(given.ready)
    print(line, flush=True)
    config = uvicorn.Config(
        application(state), log_level="critical", access_log=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])
    return 0


if __name__ == "__main__":
    sys.exit(main())
