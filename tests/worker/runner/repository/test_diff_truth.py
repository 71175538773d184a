"""File lists, modes and counts of a difference equal git's own, whatever names and lines hold."""

from __future__ import annotations

import random

import pytest

from app.domain.edit import EXECUTABLE, FILE, LINK
from tests.worker.runner.repository.plumbing import File, Git
from worker.runner.repository import Store

NAMES = (
    "a b/c d.txt", " lead", "trail ", "tab\there", "line\nbreak", "quote\"'`", "back\\slash",
    "-rf", "--help", "uni/é", "uni/e\u0301", "emoji/😀\u200d", "rtl/\u202eevil", "nbsp\u00a0x",
    "ctl\x01\x1b[31m", "del\x7f", "star*?[a]", "{0}", "$HOME", "~tilde", "colon:x", "#1", "@mona",
    "x" * 200, "deep/" * 20 + "f", "CON", "dot.", "..two", "a=>b", "{a => b}.txt",
)  # fmt: skip
PIECES = (
    b"", b"word", b" ", b"\t", b"\r", b"\x0b", b"\x0c", b"\x1c\x1d\x1e", b"\x85", b"\xc2\x85",
    b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xff\xfe", b"\xe9", b"@@ -1 +1 @@", b"--- a/x", b"+++ b/x",
    b"-minus", b"+plus", b"\\ No newline at end of file", b"diff --git a b", b"\xf0\x9f\x98\x80",
    b"\x1b[31m", b"\x08", b"x" * 300,
)  # fmt: skip
ENDS = (b"\n", b"\n", b"\n", b"\r\n", b"\r")


def lines(chance: random.Random) -> list[bytes]:
    made = []
    for _ in range(chance.randrange(12)):
        words = b"".join(chance.choice(PIECES) for _ in range(chance.randrange(4)))
        made.append(words + chance.choice(ENDS))
    if made and chance.random() < 0.3:
        made[-1] = made[-1].rstrip(b"\r\n")  # no final newline
    return made


def touched(chance: random.Random, before: list[bytes]) -> list[bytes]:
    after = list(before)
    for _ in range(chance.randrange(1, 4)):
        kind, at = chance.randrange(3), chance.randrange(len(after) + 1)
        if kind == 0:
            after[at:at] = lines(chance)
        elif after:
            after[at : at + 1] = [] if kind == 1 else [b"changed\r\n"]
    return after


@pytest.mark.parametrize("seed", range(3))
def test_every_difference_is_counted_as_git_counts_it(store: Store, git: Git, seed: int) -> None:
    chance = random.Random(seed)
    old_files: dict[str, File] = {}
    new_files: dict[str, File] = {}
    for number in range(150):
        name = f"{chance.choice(NAMES)}/{number}"
        before = lines(chance)
        after = touched(chance, before)
        if chance.random() < 0.05:
            after.append(b"\0binary")
        modes = [chance.choice((FILE, FILE, FILE, EXECUTABLE)) for _ in range(2)]
        if chance.random() < 0.05:
            modes[1] = LINK
        if chance.random() > 0.1:
            old_files[name] = (modes[0], b"".join(before))
        if chance.random() > 0.1:
            new_files[f"moved/{number}" if chance.random() < 0.1 else name] = (
                modes[1],
                b"".join(after),
            )
    old, new = git.tree(old_files), git.tree(new_files)
    found = store.deltas(old, new)
    assert [(d.path, d.added, d.removed) for d in found] == sorted(git.numstat(old, new))
    told = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).decode().split("\0")
    heads, paths = told[0:-1:2], told[1::2]
    modes_by_git = {
        path: (int(head[1:7], 8), int(head[8:14], 8))
        for head, path in zip(heads, paths, strict=True)
    }
    assert {d.path: (d.old_mode, d.new_mode) for d in found} == modes_by_git
