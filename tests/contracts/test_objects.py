"""What every `ports.Objects` promises, on the fake and on the bare store."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.edit import EXECUTABLE, FILE, LINK, Change, Delta
from app.domain.errors import IntegrityError, Missing, Refused
from app.domain.ports.objects import Objects
from tests.fakes.objects import File, MemoryObjects
from tests.standins.github import GitHubStandin
from tests.standins.github_world import REPO, acme
from worker.runner.repository import Store

FILES: dict[str, File] = {
    "README.md": b"# Hi\n",
    "run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
    "src/a.py": b"a = 1\nb = 2\n",
    "src/b.py": b"b = 1\r\n",
    "src/deep/c.py": b"c = 1",
    "a-b": b"1",
    "a.txt": b"2",
    "a/x": b"3",
    "bin": b"\0\1",
    "caf\u00e9.txt": b"\xc3\xa9\n",
    "link": (LINK, b"src/a.py"),
}


@dataclass
class Case:
    """An implementation, a fetched base made of FILES, and where it came from."""

    objects: Objects
    base: str
    url: str
    token: str
    commit: str


@pytest.fixture(scope="module")
def hub() -> Iterator[GitHubStandin]:
    with GitHubStandin() as standin:
        yield standin


@pytest.fixture(scope="module")
def far(hub: GitHubStandin) -> tuple[str, str, str]:
    """(url, token, commit) of FILES on the stand-in."""
    world = acme(hub)
    files: dict[str, object] = {
        path: None for path in ("src/widgets.py", ".github/workflows/ci.yml")
    }
    for path, file in FILES.items():
        mode, data = file if isinstance(file, tuple) else (FILE, file)
        files[path] = {"base64": base64.b64encode(data).decode(), "mode": f"{mode:o}"}
    commit = hub.push(REPO, "alice", "main", files, "Files")
    return f"{hub.git_url}/{REPO}.git", world.mint(contents="read"), commit


@pytest.fixture(params=["fake", "store"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    if request.param == "fake":
        fake = MemoryObjects()
        commit = fake.commit(FILES)
        return Case(fake, fake.fetch("u", "t", commit), "u", "t", commit)
    url, token, commit = request.getfixturevalue("far")
    store = Store(tmp_path / "1.git")
    return Case(store, store.fetch(url, token, commit), url, token, commit)


def changes(wanted: Mapping[str, File | None]) -> tuple[list[Change], Callable[[str], bytes]]:
    kept: dict[str, bytes] = {}
    made = []
    for path, file in wanted.items():
        if file is None:
            made.append(Change(path, 0, ""))
            continue
        mode, data = file if isinstance(file, tuple) else (FILE, file)
        kept[hashlib.sha256(data).hexdigest()] = data
        made.append(Change(path, mode, hashlib.sha256(data).hexdigest()))
    return made, kept.__getitem__


def build(case: Case, wanted: Mapping[str, File | None]) -> str:
    return case.objects.build(case.base, *changes(wanted))


def test_both_give_the_tree_that_git_gives(case: Case) -> None:
    assert case.base == MemoryObjects().tree(FILES)
    case.objects.validate(case.base)


def test_an_unknown_commit_is_missing(case: Case) -> None:
    with pytest.raises(Missing):
        case.objects.fetch(case.url, case.token, "1" * 40)


def test_entries_are_sorted_and_have_modes_ids_and_sizes(case: Case) -> None:
    entries = case.objects.entries(case.base)
    assert [e.path for e in entries] == sorted(FILES)
    by_path = {e.path: e for e in entries}
    assert by_path["run.sh"].mode == EXECUTABLE
    assert by_path["link"].mode == LINK
    assert by_path["README.md"].size == 5
    assert by_path["a-b"].oid == "56a6051ca2b02b04ef92d5150c9ef600403cb1de"


def test_only_files_are_read(case: Case) -> None:
    assert case.objects.read(case.base, "src/deep/c.py") == b"c = 1"
    for path in ("link", "src", "nope", "link/x", "../x", "", "src//a.py"):
        with pytest.raises(Missing):
            case.objects.read(case.base, path)


@pytest.mark.parametrize(
    "wanted",
    [
        {"src/a.py": b"a = 2\n"},
        {"new/deep/n.py": b""},
        {"src/deep/c.py": None},
        {"run.sh": (EXECUTABLE, b"#!/bin/sh\nexit\n"), "bin": None, "z": b"\xff"},
        {"README.md": None, "readme.md": b"# Hi\n"},
        {"a-b": None, "a-b/x": b"1"},
        {"a/x": None, "a": b"1"},
        {},
    ],
)
def test_a_candidate_has_one_id_whoever_builds_it(
    case: Case, wanted: dict[str, File | None]
) -> None:
    files = FILES | {path: file for path, file in wanted.items() if file is not None}
    expected = {p: f for p, f in files.items() if wanted.get(p, b"") is not None}
    made = build(case, wanted)
    assert made == MemoryObjects().tree(expected)
    case.objects.validate(made)
    assert [e.path for e in case.objects.entries(made)] == sorted(expected)


@pytest.mark.parametrize(
    "wanted",
    [
        {"nope": None},
        {"README.md/x": b"1"},
        {"link/x": b"1"},
        {"link": b"1"},
        {"src": b"1"},
        {"../x": b"1"},
        {".git/x": b"1"},
        {"a//b": b"1"},
        {"readme.md": b"1"},
        {"SRC/n": b"1"},
        {"n": (LINK, b"a")},
        {"n": (0o100664, b"a")},
    ],
)
def test_what_git_would_not_keep_is_refused(case: Case, wanted: dict[str, File | None]) -> None:
    with pytest.raises(Refused):
        build(case, wanted)


def test_a_path_changed_twice_is_refused(case: Case) -> None:
    made, get = changes({"n": b"1"})
    with pytest.raises(Refused):
        case.objects.build(case.base, made * 2, get)


def test_other_bytes_than_those_named_are_refused(case: Case) -> None:
    made, _ = changes({"n": b"accepted"})
    with pytest.raises(IntegrityError):
        case.objects.build(case.base, made, lambda _: b"other")


def test_differences_are_told_path_by_path(case: Case) -> None:
    made = build(
        case,
        {
            "src/a.py": b"a = 1\nb = 3\nc = 4\n",
            "src/b.py": None,
            "n": b"1\n2\n",
            "run.sh": b"#!/bin/sh\n",
            "bin": b"\0\2",
            "src/deep/c.py": b"c = 1\n",
        },
    )
    assert case.objects.deltas(case.base, made) == (
        Delta("bin", FILE, FILE, -1, -1),
        Delta("n", 0, FILE, 2, 0),
        Delta("run.sh", EXECUTABLE, FILE, 0, 0),
        Delta("src/a.py", FILE, FILE, 2, 1),
        Delta("src/b.py", FILE, 0, 0, 1),
        Delta("src/deep/c.py", FILE, FILE, 1, 1),
    )
    assert case.objects.deltas(made, made) == ()
    diff = case.objects.diff(case.base, made)
    assert b"-b = 2\n+b = 3\n+c = 4\n" in diff
    assert b"src/b.py" in diff


def test_the_tar_holds_the_files_with_extra_ones_laid_over(case: Case) -> None:
    data = case.objects.tar(case.base, {"README.md": b"other\n", "scratch/t.py": b"t\n"})
    assert data == case.objects.tar(case.base, {"scratch/t.py": b"t\n", "README.md": b"other\n"})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar if m.isreg()}  # type: ignore[union-attr]
        links = {m.name: m.linkname for m in tar if m.issym()}
        modes = {m.name: m.mode for m in tar if m.isreg()}
    plain = {path: file for path, file in FILES.items() if isinstance(file, bytes)}
    added = {"README.md": b"other\n", "scratch/t.py": b"t\n", "run.sh": b"#!/bin/sh\n"}
    assert files == plain | added
    assert links == {"link": "src/a.py"}
    assert modes["run.sh"] == 0o755
    assert modes["src/a.py"] == 0o644


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        ({"n": b"1"}, {"src/a.py": b"a = 2\nb = 2\n"}, {"n": b"1", "src/a.py": b"a = 2\nb = 2\n"}),
        ({"a-b": None}, {"bin": b"\0\2"}, {"a-b": None, "bin": b"\0\2"}),
        ({"src/a.py": b"x\n"}, {"src/a.py": b"x\n"}, {"src/a.py": b"x\n"}),
        ({"src/b.py": b"c = 1\r\n"}, {}, {"src/b.py": b"c = 1\r\n"}),
        ({}, {"run.sh": None}, {"run.sh": None}),
    ],
)
def test_a_merge_takes_what_either_side_did(
    case: Case, ours: dict[str, File | None], theirs: dict[str, File | None],
    wanted: dict[str, File | None],
) -> None:  # fmt: skip
    made, conflicts = case.objects.reapplied(case.base, build(case, ours), build(case, theirs))
    assert conflicts == ()
    assert made == build(case, wanted)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"src/a.py": b"a = 3\nb = 2\n"}, {"src/a.py": b"a = 4\nb = 2\n"}),
        ({"src/a.py": None}, {"src/a.py": b"a = 4\nb = 2\n"}),
        ({"src/a.py": b"a = 4\nb = 2\n"}, {"src/a.py": None}),
        ({"n": b"1\n"}, {"n": b"2\n"}),
        ({"bin": b"\0\3"}, {"bin": b"\0\4"}),
    ],
)
def test_what_both_sides_changed_otherwise_is_a_conflict_and_no_tree(
    case: Case, ours: dict[str, File | None], theirs: dict[str, File | None]
) -> None:
    made, conflicts = case.objects.reapplied(case.base, build(case, ours), build(case, theirs))
    assert made == "" and conflicts == tuple(sorted(ours))


def test_hunks_that_are_apart_merge_in_one_file_and_a_moved_file_is_not_followed(
    case: Case,
) -> None:
    lines = b"".join(b"%d\n" % n for n in range(30))
    base = build(case, {"long": lines})
    edits = [lines.replace(b"\n3\n", b"\nthree\n"), lines.replace(b"\n25\n", b"\n")]
    ours, theirs = (case.objects.build(base, *changes({"long": one})) for one in edits)
    made, conflicts = case.objects.reapplied(base, ours, theirs)
    assert conflicts == ()
    both = lines.replace(b"\n3\n", b"\nthree\n").replace(b"\n25\n", b"\n")
    assert case.objects.read(made, "long") == both
    away = case.objects.build(base, *changes({"long": None, "moved": lines}))
    assert case.objects.reapplied(base, ours, away) == ("", ("long",))


def test_trees_are_merged_or_name_what_conflicts(case: Case) -> None:
    ours = build(case, {"src/a.py": b"a = 1\nb = 3\n", "new.py": b"n\n"})
    theirs = build(case, {"README.md": b"# News\n", "src/b.py": None})
    tree, clashes = case.objects.merged(case.base, ours, theirs)
    both = {"src/a.py": b"a = 1\nb = 3\n", "new.py": b"n\n", "README.md": b"# News\n"}
    assert (tree, clashes) == (build(case, {**both, "src/b.py": None}), ())
    other = build(case, {"src/a.py": b"a = 1\nb = 4\n", "README.md": b"# More\n"})
    assert case.objects.merged(case.base, ours, other) == ("", ("src/a.py",))
    gone = build(case, {"src/a.py": None})
    assert case.objects.merged(case.base, gone, other) == ("", ("src/a.py",))
    assert case.objects.merged(case.base, ours, case.base) == (ours, ())


def test_a_blob_is_read_by_its_id(case: Case) -> None:
    link = next(one for one in case.objects.entries(case.base) if one.path == "link")
    assert case.objects.blob(link.oid) == b"src/a.py"
    with pytest.raises(Missing):
        case.objects.blob("1" * 40)
