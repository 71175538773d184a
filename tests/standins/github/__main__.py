"""Start the stand-in by hand: `python -m tests.standins.github --root DIR`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from pathlib import Path

from tests.standins.github.server import configured, listening


def main() -> int:
    """Serve until a signal; the first line out is {"url", "git_url"} once it listens."""
    parser = argparse.ArgumentParser(prog="tests.standins.github", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="where the repositories lie")
    parser.add_argument("--port", type=int, default=0, help="0 = any free one")
    parser.add_argument("--ready", type=Path, help="file that gets the ready line too")
    parser.add_argument("--tied", action="store_true", help="end when standard input ends")
    told = parser.parse_args()
    sock = listening(told.port)
    world, server = configured(told.root, sock)
    line = json.dumps({"url": world.url, "git_url": world.url})

    def follow() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    if told.tied:
        threading.Thread(target=follow, daemon=True).start()

    async def serve() -> None:
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            print(line, flush=True)
            if told.ready:
                part = told.ready.with_suffix(".part")
                part.write_text(line + "\n")
                part.replace(told.ready)
        await serving

    asyncio.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
