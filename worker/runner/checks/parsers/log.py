"""A log as bounded, readable lines, with the means to say which file of the tree a path means."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import IO

from worker.runner.checks.output import readable

HEAD = 2 << 20  # bytes kept of one stream's start
TAIL = 4 << 20  # and of its end: the verdict stands there
LINES_MOST = 60_000  # of all streams; the first third and the last two are kept
LINE_CAP = 1_000  # characters
JSON_CAP = 64_000  # of a line that is a JSON object
CHUNK = 1 << 16

WORKSPACE = "/workspace/"
_THEIRS = ("node_modules/", "site-packages/", "dist-packages/", "/.cargo/registry/", "/vendor/")
_INSIDE = ("<", "node:", "internal/", "bun:", "webpack:")


@dataclass(frozen=True)
class Log:
    """What a command printed: stdout's lines, then stderr's. `left_out` bytes are not among them.

    `paths` are the tree's files; `workdir` is where the command ran inside the tree.
    """

    lines: tuple[str, ...]
    exit_code: int | None = None
    paths: Container[str] = frozenset()
    workdir: str = ""
    left_out: int = 0
    raw: bytes = field(default=b"", repr=False)  # the first stream, for documents (XML, JSON)

    def place(self, path: str) -> str:
        """`path` relative to the repository's root where it is one of its files.

        An absolute path is one of the tree's where a tail of it is; other paths stay as they are.
        """
        name = path.strip().removeprefix("file://").replace("\\", "/")
        name = name.removeprefix(WORKSPACE).removeprefix("./")
        if not name or len(name) > 400:
            return name[:400]
        if not name.startswith("/"):
            inside = posixpath.normpath(posixpath.join(self.workdir, name))
            return inside if inside in self.paths else _tail(name, self.paths)
        return _tail(name, self.paths)

    def ours(self, path: str) -> bool:
        """Whether a placed path is the repository's own, not a library's or the runtime's."""
        if not path or path.startswith(("/", "../", *_INSIDE)):
            return False
        return not any(part in path for part in _THEIRS)

    def module(self, dotted: str) -> str:
        """The file of a dotted Python name's longest prefix, "" where the tree has none."""
        parts = dotted.split(".")
        for count in range(min(len(parts), 12), 0, -1):
            path = posixpath.join(self.workdir, *parts[:count]) + ".py"
            if path in self.paths:
                return path
        return ""


def log_from(
    streams: Sequence[bytes],
    exit_code: int | None = None,
    paths: Container[str] = frozenset(),
    workdir: str = "",
    left_out: int = 0,
) -> Log:
    """The streams as one log, capped; never raises."""
    lines: list[str] = []
    for data in streams:
        if len(data) > HEAD + TAIL:
            left_out += len(data) - HEAD - TAIL
            data = data[:HEAD] + b"\n" + data[-TAIL:]
        if data:
            lines += readable(data).split("\n")
    if len(lines) > LINES_MOST:
        first = LINES_MOST // 3
        dropped = lines[first : first - LINES_MOST]
        left_out += sum(map(len, dropped))
        del lines[first : first - LINES_MOST]
    return Log(
        tuple(line if len(line) <= LINE_CAP else _cut(line) for line in lines),
        exit_code,
        paths,
        workdir,
        left_out,
        streams[0][: HEAD + TAIL] if streams else b"",
    )


def taken(stream: IO[bytes]) -> tuple[bytes, int]:
    """(the start and the end of a stream, how many bytes between them were dropped)."""
    head = stream.read(HEAD)
    tail: deque[bytes] = deque()
    held = dropped = 0
    while chunk := stream.read(CHUNK):
        tail.append(chunk)
        held += len(chunk)
        while held - len(tail[0]) >= TAIL:
            first = len(tail.popleft())
            held -= first
            dropped += first
    return head + (b"\n" if dropped else b"") + b"".join(tail), dropped


def _cut(line: str) -> str:
    return line[: JSON_CAP if line.startswith("{") else LINE_CAP]


def _tail(path: str, paths: Container[str]) -> str:
    """The longest tail of a path from outside that is one of `paths`, else `path`."""
    parts = path.strip("/").split("/")
    if not path.startswith("/") and parts[0] != "..":
        return path
    for at in range(min(len(parts), 40)):
        name = "/".join(parts[at:])
        if name in paths:
            return name
    return path
