"""The tar for the sandbox is the tree, the same each time, and stays inside."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from app.domain.edit import EXECUTABLE, GITLINK, LINK
from app.domain.errors import Refused
from tests.worker.runner.repository.plumbing import File, Git
from worker.runner.repository import Store, tar

FILES: dict[str, File] = {
    "README.md": b"# Hi\n",
    "run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
    "src/a.py": b"a = 1\n",
    "src/caf\u00e9 \u6587.txt": b"\xe9\r\n",
    "deep/" + "d" * 120 + "/" + "f" * 120: b"long\n",
    "empty": b"",
    "tab\tnew\nline": b"odd\n",
    "sub/module": (GITLINK, b"1" * 40),
    "l/inner": (LINK, b"../src/a.py"),
    "l/chain": (LINK, b"inner"),
    "l/folder": (LINK, b".."),
    "l/dangling": (LINK, b"nowhere"),
    "l/absolute": (LINK, b"/etc/passwd"),
    "l/outside": (LINK, b"../../etc/passwd"),
    "l/parent": (LINK, b"../.."),
    "l/latin": (LINK, b"\xe9"),
    ".gitattributes": b"src export-ignore\nREADME.md export-subst\n",
}


def members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = archive.getmembers()
    assert len({m.name for m in found}) == len(found)
    return {m.name: m for m in found}


def content(data: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        file = archive.extractfile(name)
        assert file is not None
        return file.read()


def test_every_file_is_in_it_with_its_bytes(store: Store, git: Git) -> None:
    data = store.tar(git.tree(FILES), {})
    found = members(data)
    for path, file in FILES.items():
        if isinstance(file, bytes):
            assert content(data, path) == file
            assert found[path].isreg()
            assert found[path].mode == 0o644
    assert found["run.sh"].mode == 0o755
    assert found["sub/module"].isdir()
    assert {n for n, m in found.items() if m.isdir()} == {
        "src",
        "deep",
        "deep/" + "d" * 120,
        "l",
        "sub",
        "sub/module",
    }


def test_links_are_links_and_none_leaves_the_tree(store: Store, git: Git) -> None:
    found = members(store.tar(git.tree(FILES), {}))
    links = {name: m.linkname for name, m in found.items() if m.issym()}
    assert links == {
        "l/inner": "../src/a.py",
        "l/chain": "inner",
        "l/folder": "..",
        "l/dangling": "nowhere",
    }
    assert not any(m.islnk() or m.isdev() or m.isfifo() for m in found.values())


def test_owner_times_and_order_are_fixed(store: Store, git: Git) -> None:
    tree = git.tree(FILES)
    first = store.tar(tree, {"b": b"1", "a": b"2"})
    again = Store(git.path).tar(tree, {"a": b"2", "b": b"1"})
    assert hashlib.sha256(first).digest() == hashlib.sha256(again).digest()
    for member in members(first).values():
        assert (member.uid, member.gid, member.mtime) == (65534, 65534, 0)
        assert (member.uname, member.gname) == ("", "")
    names = list(members(first))
    assert names == sorted(names)


def test_the_tar_program_unpacks_it_to_the_same_tree(
    store: Store, git: Git, tmp_path: Path
) -> None:
    kept = {p: f for p, f in FILES.items() if not p.startswith(("l/", "sub/"))}
    tree = git.tree(kept | {"l/inner": (LINK, b"../src/a.py")})
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(
        ["tar", "-xpf", "-", "--no-same-owner", "-C", str(out)],
        input=store.tar(tree, {}),
        check=True,
    )
    index = str(git.path / "unpacked-index")
    git.run("add", "-A", "-f", ".", GIT_WORK_TREE=str(out), GIT_INDEX_FILE=index)
    assert git.text("write-tree", GIT_INDEX_FILE=index) == tree


def test_extra_files_lie_over_the_tree(store: Store, git: Git) -> None:
    tree = git.tree(FILES)
    extra = {"src/a.py": b"a = 2\n", "run.sh": b"new\n", ".scratch/x/y.py": b"y\n"}
    data = store.tar(tree, extra)
    for path, expected in extra.items():
        assert content(data, path) == expected
    assert members(data)["run.sh"].mode == 0o755
    assert members(data)[".scratch/x"].isdir()
    assert store.read(tree, "src/a.py") == b"a = 1\n"


TAKEN = ("l/inner", "l/folder/x", "l/absolute", "sub/module", "sub/module/x", "src", "README.md/x")
OUTSIDE = ("", "/etc/x", "../x", "a/../../x", "a//b", "./a", "a/", "nul\0")


@pytest.mark.parametrize("place", [*TAKEN, *OUTSIDE])
def test_an_extra_file_without_a_safe_place_is_refused(store: Store, git: Git, place: str) -> None:
    with pytest.raises(Refused):
        store.tar(git.tree(FILES), {place: b"x"})


def test_two_extra_files_cannot_contradict_each_other(store: Store, git: Git) -> None:
    with pytest.raises(Refused):
        store.tar(git.tree(FILES), {"n": b"1", "n/x": b"2"})


def test_too_much_to_run_is_refused_before_it_is_read(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tar, "MAX_BYTES", 1 << 20)
    tree = git.tree({"a": b"x" * (1 << 20)})
    assert store.tar(tree, {})
    with pytest.raises(Refused, match="MiB"):
        store.tar(tree, {"b": b"x"})
