"""Candidates have the id that git gives them, and what git would not keep is refused."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.edit import EXECUTABLE, FILE, GITLINK, LINK, TREE, Change, Delta
from app.domain.errors import IntegrityError, Missing, Refused
from tests.fakes.objects import MemoryObjects
from tests.worker.runner.repository.plumbing import EMPTY, File, Git
from worker.runner.repository import Store

BASE: dict[str, File] = {
    "README.md": b"# Hi\n",
    "src/a.py": b"a = 1\n",
    "src/b.py": b"b = 1\n",
    "src/deep/c.py": b"c = 1\n",
    "only/one": b"1\n",
    "crlf.txt": b"a\r\nb\r\n",
    "run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
    "bin.dat": b"\0\1\2",
    "link": (LINK, b"src/a.py"),
    "dirlink": (LINK, b"src"),
    "sub": (GITLINK, b"1" * 40),
    "a-b": b"1",
    "a.txt": b"2",
    "a/x": b"3",
    "a0": b"4",
    "caf\u00e9/\u00fc.txt": b"5\n",
}

Wanted = dict[str, File | None]


def build(store: Store, base: str, wanted: Wanted) -> str:
    """Build through the port: changes that name their bytes by SHA-256."""
    kept: dict[str, bytes] = {}
    changes = []
    for path, file in wanted.items():
        if file is None:
            changes.append(Change(path, 0, ""))
            continue
        mode, data = file if isinstance(file, tuple) else (FILE, file)
        digest = hashlib.sha256(data).hexdigest()
        kept[digest] = data
        changes.append(Change(path, mode, digest))
    return store.build(base, changes, kept.__getitem__)


def after(wanted: Wanted) -> dict[str, File]:
    """The files of BASE with the changes made, for git's own opinion."""
    files = BASE | {p: f for p, f in wanted.items() if f is not None}
    return {path: file for path, file in files.items() if wanted.get(path, b"") is not None}


CASES: dict[str, Wanted] = {
    "text": {"src/a.py": b"a = 2\n"},
    "crlf": {"crlf.txt": b"a\r\nB\r\n"},
    "other script, separators": {"caf\u00e9/\u6587.txt": "x\u2028y \u00e9\n".encode()},
    "no final newline": {"README.md": b"# Hi"},
    "empty": {"src/empty.py": b""},
    "binary": {"new.bin": bytes(range(256))},
    "executable": {"run.sh": (EXECUTABLE, b"#!/bin/sh\necho\n")},
    "new folders": {"x/y/z/n.py": b"n\n"},
    "delete": {"src/b.py": None},
    "last of a folder": {"only/one": None},
    "last of nested folders": {"src/deep/c.py": None, "src/a.py": None, "src/b.py": None},
    "rename": {"src/b.py": None, "src/d.py": b"b = 1\n"},
    "rename in letter case": {"README.md": None, "readme.md": b"# Hi\n"},
    "order": {"a!": b"1", "a/y": b"2", "a00": b"3"},
    "link and submodule beside": {"m": b"1\n", "t": b"2\n"},
    "file becomes folder": {"a0": None, "a0/y": b"1\n"},
    "folder becomes file": {"only/one": None, "only": b"1\n"},
    "nothing": {},
}
CASES["all together"] = {
    path: file
    for name, wanted in CASES.items()
    if name not in ("last of nested folders", "rename in letter case", "folder becomes file")
    for path, file in wanted.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_candidate_has_the_id_that_git_gives_it(store: Store, git: Git, name: str) -> None:
    base = git.tree(BASE)
    store.validate(base)
    made = build(store, base, CASES[name])
    assert made == git.tree(after(CASES[name]))
    git.run("fsck", "--strict", "--no-dangling", made)
    store.validate(made)


def test_everything_deleted_is_the_empty_tree(store: Store, git: Git) -> None:
    base = git.tree({"a": b"1", "d/b": b"2"})
    assert build(store, base, {"a": None, "d/b": None}) == EMPTY


@pytest.mark.parametrize(
    "wanted",
    [
        {"missing.py": None},
        {"src/missing.py": None},
        {"nowhere/x": None},
        {"src": None},
        {"src": b"a file over a folder"},
        {"README.md/x": b"below a file"},
        {"link/x": b"below a link"},
        {"dirlink/a.py": b"through a link"},
        {"sub/x": b"below a submodule"},
        {"link": b"over a link"},
        {"sub": b"over a submodule"},
        {"link": None},
        {"sub": None},
        {"readme.md": b"twin"},
        {"SRC/n.py": b"twin folder"},
        {"src/A.py": b"twin"},
        {"new/x": b"1", "NEW/y": b"2"},
        {"../x": b"1"},
        {"/etc/passwd": b"1"},
        {".git/config": b"1"},
        {"a\\b": b"1"},
        {"src//x": b"1"},
        {"x.git": b"1", ".g\u200cit/x": b"2"},
        {"n": (LINK, b"src")},
        {"n": (GITLINK, b"1")},
        {"n": (TREE, b"1")},
        {"n": (0o104755, b"1")},
        {"n": (0o100664, b"1")},
    ],
)
def test_what_git_would_not_keep_is_refused(store: Store, git: Git, wanted: Wanted) -> None:
    base = git.tree(BASE)
    with pytest.raises(Refused):
        build(store, base, wanted)


def test_twins_that_the_base_has_are_kept(store: Store, git: Git) -> None:
    base = git.tree({"x/A": b"1\n", "x/a": b"2\n"})
    store.validate(base)
    made = build(store, base, {"x/a": b"3\n", "x/n": b"4\n"})
    assert made == git.tree({"x/A": b"1\n", "x/a": b"3\n", "x/n": b"4\n"})
    with pytest.raises(Refused, match="letter case"):
        build(store, git.tree({"STRASSE": b"1"}), {"stra\u00dfe": b"2"})


def test_one_path_is_changed_once(store: Store, git: Git) -> None:
    base = git.tree(BASE)
    twice = [Change("README.md", 0, ""), Change("README.md", 0, "")]
    with pytest.raises(Refused, match="twice"):
        store.build(base, twice, {}.__getitem__)


def test_bytes_that_are_not_those_named_are_refused(store: Store, git: Git) -> None:
    base = git.tree(BASE)
    digest = hashlib.sha256(b"accepted\n").hexdigest()
    with pytest.raises(IntegrityError):
        store.build(base, [Change("n", FILE, digest)], lambda _: b"other\n")


NAMES = st.sampled_from(["a", "b", "c.x", "a.b", "a-b"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(
    PATHS, st.tuples(st.sampled_from([FILE, EXECUTABLE]), st.binary(max_size=3)), max_size=6
)


def _possible(paths: set[str]) -> bool:
    """No path lies below another one."""
    return not any(p != q and q.startswith(p + "/") for p in paths for q in paths)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(FILES, FILES)
def test_any_set_of_files_is_reached_from_any_other(
    store: Store, git: Git, old: dict[str, File], new: dict[str, File]
) -> None:
    if not old or not _possible(old.keys()) or not _possible(new.keys()):
        return
    base = git.tree(old)
    wanted: Wanted = dict.fromkeys(old.keys() - new.keys())
    made = build(store, base, wanted | new)
    assert made == git.tree(new)
    deltas = store.deltas(base, made)
    assert {d.path for d in deltas} == {
        p for p in old.keys() | new.keys() if old.get(p) != new.get(p)
    }


# -- reading


def test_only_regular_files_are_read(store: Store, git: Git) -> None:
    tree = git.tree(BASE)
    assert store.read(tree, "src/deep/c.py") == b"c = 1\n"
    assert store.read(tree, "run.sh") == b"#!/bin/sh\n"
    no_file = ["link", "dirlink", "sub", "src", "dirlink/a.py", "link/x", "sub/x", "nope", "src/no"]
    odd = ["", "/", ".", "..", "src/", "/src/a.py", "src//a.py", "./README.md", "../x", "a\0b"]
    for path in (*no_file, *odd, "SRC/a.py", "README.md/"):
        with pytest.raises(Missing):
            store.read(tree, path)


def test_a_blob_is_read_by_its_id(store: Store, git: Git) -> None:
    tree = git.tree(BASE)
    assert store.blob(git.blob(b"c = 1\n")) == b"c = 1\n"
    for oid in (tree, "1" * 40, "zz", ""):
        with pytest.raises(Missing):
            store.blob(oid)


# -- differences


OTHER: dict[str, File] = {
    "README.md": b"# Hi\n\nmore\n",
    "src/a.py": (EXECUTABLE, b"a = 1\n"),
    "src/b.py/inner": b"a file became a folder\n",
    "src/deep": b"a folder became a file\n",
    "crlf.txt": b"a\r\nB\r\n",
    "run.sh": (LINK, b"src/a.py"),
    "bin.dat": b"\0\1\3",
    "link": (LINK, b"src/b.py"),
    "sub": (GITLINK, b"2" * 40),
    "late": b"x" * 9_000 + b"\0",
    "empty": b"",
    'tab\t"q"': b"1\n",
    "no-eof": b"1",
    "latin": b"\xe9\n",
}


def test_differences_are_those_that_git_counts(store: Store, git: Git) -> None:
    git.tree({})
    old, new = git.tree(BASE), git.tree(OTHER)
    found = store.deltas(old, new)
    counted = {path: (added, removed) for path, added, removed in git.numstat(old, new)}
    assert counted["run.sh"] == (1, 1)
    assert {d.path: (d.added, d.removed) for d in found} == counted
    assert [d.path for d in found] == sorted(counted)
    modes = {d.path: (d.old_mode, d.new_mode) for d in found}
    assert modes["src/a.py"] == (FILE, EXECUTABLE)
    assert modes["src/b.py"] == (FILE, 0)
    assert modes["src/b.py/inner"] == (0, FILE)
    assert modes["sub"] == (GITLINK, GITLINK)
    assert modes["run.sh"] == (EXECUTABLE, LINK)


def test_equal_trees_have_no_difference(store: Store, git: Git) -> None:
    tree = git.tree(BASE)
    assert store.deltas(tree, tree) == ()
    assert store.diff(tree, tree) == b""


def test_attributes_of_the_repository_change_no_difference(store: Store, git: Git) -> None:
    attributes = b"*.txt binary -diff\n* eol=crlf filter=lfs diff=lfs\n"
    old = git.tree({".gitattributes": attributes, "a.txt": b"1\n"})
    new = git.tree({".gitattributes": attributes, "a.txt": b"2\n"})
    assert store.deltas(old, new) == (Delta("a.txt", FILE, FILE, 1, 1),)
    assert b"-1\n+2\n" in store.diff(old, new)


def test_the_diff_keeps_bytes_and_can_be_applied_by_git(store: Store, git: Git) -> None:
    files: dict[str, File] = {
        "a.py": b"a = 1\n" * 30,
        "crlf.txt": b"a\r\nb\r\n",
        "latin": b"\xe9\n",
        "uml\u00e4ut/p q.txt": b"1\n",
        "gone": b"1\n",
        "no-eof": b"1",
    }
    changed = files | {
        "a.py": b"a = 1\n" * 15 + b"b\n" + b"a = 1\n" * 15,
        "crlf.txt": b"a\r\nB\r\n",
        "latin": b"\xe9\xe8\n",
        "uml\u00e4ut/p q.txt": b"2\n",
        "new": b"n\n",
        "no-eof": b"2",
    }
    del changed["gone"]
    old, new = git.tree(files), git.tree(changed)
    patch = store.diff(old, new)
    assert b"-\xe9\n+\xe9\xe8\n" in patch
    index = str(git.path / "apply-index")
    git.run("read-tree", old, GIT_INDEX_FILE=index)
    git.run("apply", "--cached", "--whitespace=nowarn", "-", data=patch, GIT_INDEX_FILE=index)
    assert git.text("write-tree", GIT_INDEX_FILE=index) == new


def test_a_rename_is_shown_as_one(store: Store, git: Git) -> None:
    text = b"".join(b"line %d\n" % n for n in range(30))
    old, new = git.tree({"a": text}), git.tree({"b": text + b"x\n"})
    assert b"rename from a\nrename to b\n" in store.diff(old, new)
    assert [d.path for d in store.deltas(old, new)] == ["a", "b"]


def test_the_bases_version_takes_the_place_of_whatever_stands_there(store: Store, git: Git) -> None:
    """Links and folders in place of files, and each the other way round."""
    link = (LINK, b"elsewhere")
    theirs: dict[str, File] = {"tests/a.py": b"a", "tests/d/b.py": b"b", "file": b"f", "link": link}
    ours: dict[str, File] = {
        "tests": link,
        "file/in": b"i",
        "link": (EXECUTABLE, b"x"),
        "new": b"n",
    }
    base, mine = git.tree({**theirs, "same": b"s"}), git.tree({**ours, "same": b"s"})
    paths = sorted({*theirs, *ours})
    assert store.put_back(mine, base, paths) == base
    assert store.put_back(base, mine, paths) == mine
    assert store.put_back(mine, mine, paths) == mine
    kept = store.put_back(mine, base, ["tests", "tests/a.py"])
    expected: dict[str, File] = {**ours, "same": b"s", "tests/a.py": b"a"}
    del expected["tests"]
    assert kept == git.tree(expected)
    memory = MemoryObjects()
    left, right = memory.tree({**ours, "same": b"s"}), memory.tree({**theirs, "same": b"s"})
    assert memory.put_back(left, right, paths) == base  # the fake says the same
