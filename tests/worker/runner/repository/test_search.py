"""Searching a tree: text files, in order, page by page, and what was left out is said."""

from __future__ import annotations

from itertools import count

import pytest

from app.domain.edit import LINK
from tests.fakes.objects import MemoryObjects
from tests.worker.runner.repository.plumbing import Git
from worker.runner.repository import Store
from worker.runner.repository.search import MAX_FILE, PatternRefused, Searcher

FILES = {
    "README.md": b"add two numbers\n",
    "src/a.py": b"def add(a, b):\r\n    return a + b\r\n",
    "src/deep/b.py": b"from a import add\nadd(1, 2)\n",
    "src/latin.py": b"# caf\xe9 add\n",
    "src/u2028.py": "x\u2028add\nadd\n".encode(),
    "bin.dat": b"add\0\n",
    "node_modules/x/add.js": b"add\n",
    "web/app.min.js": b"add\n",
    "poetry.lock": b"add\n",
    "big.txt": b"add\n" * (MAX_FILE // 4 + 1),
    "long.txt": b"x" * 3_000 + b"add\nadd\n",
    "link": (LINK, b"src/a.py"),
}


@pytest.fixture
def objects() -> MemoryObjects:
    return MemoryObjects()


@pytest.fixture
def tree(objects: MemoryObjects) -> str:
    return objects.tree(FILES)


def test_hits_come_in_order_with_path_and_line(objects: MemoryObjects, tree: str) -> None:
    found = Searcher(objects).lines(tree, "add")
    assert [(h.path, h.line, h.text) for h in found.hits] == [
        ("README.md", 1, "add two numbers"),
        ("long.txt", 2, "add"),
        ("src/a.py", 1, "def add(a, b):"),
        ("src/deep/b.py", 1, "from a import add"),
        ("src/deep/b.py", 2, "add(1, 2)"),
        ("src/latin.py", 1, "# caf\ufffd add"),
        ("src/u2028.py", 1, "x\u2028add"),
        ("src/u2028.py", 2, "add"),
    ]
    assert not found.more
    assert (found.files, found.skipped, found.long) == (6, 5, 1)
    assert "5 binary, large, generated or vendored" in found.note
    assert "1 long lines" in found.note


def test_expressions_are_searched_for_on_request(objects: MemoryObjects, tree: str) -> None:
    search = Searcher(objects)
    assert [h.path for h in search.lines(tree, r"^def \w+\(", regex=True).hits] == ["src/a.py"]
    assert search.lines(tree, r"^def \w+\(").hits == ()
    with pytest.raises(PatternRefused):
        search.lines(tree, "(a+)+", regex=True)


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.py", {"src/a.py", "src/deep/b.py", "src/latin.py", "src/u2028.py"}),
        ("src/*.py", {"src/a.py", "src/latin.py", "src/u2028.py"}),
        ("b.py", {"src/deep/b.py"}),
        ("nothing/**", set()),
        ("node_modules/**", {"node_modules/x/add.js"}),
        ("*.lock", {"poetry.lock"}),
        ("**/*.min.js", {"web/app.min.js"}),
    ],
)
def test_a_glob_narrows_and_can_ask_for_what_is_left_out(
    objects: MemoryObjects, tree: str, glob: str, paths: set[str]
) -> None:
    found = Searcher(objects).lines(tree, "add", glob=glob)
    assert {h.path for h in found.hits} == paths
    assert found.note == ""


def test_pages_follow_each_other(objects: MemoryObjects, tree: str) -> None:
    search = Searcher(objects)
    whole = search.lines(tree, "add").hits
    pages = [search.lines(tree, "add", offset=at, cap=3) for at in (0, 3, 6, 9)]
    assert [hit for page in pages for hit in page.hits] == list(whole)
    assert [page.more for page in pages] == [True, True, False, False]
    assert not search.lines(tree, "add", cap=len(whole)).more


def test_a_slow_search_stops_and_says_so(objects: MemoryObjects, tree: str) -> None:
    ticks = count(0, 4)
    found = Searcher(objects, clock=lambda: float(next(ticks))).lines(tree, "a", regex=True)
    assert found.stopped
    assert found.hits
    assert "Stopped after" in found.note


def test_a_long_hit_is_cut(objects: MemoryObjects) -> None:
    tree = objects.tree({"a": b"add" + b"x" * 1_000 + b"\n"})
    (hit,) = Searcher(objects).lines(tree, "add").hits
    assert len(hit.text) == 300


def test_look_is_asked_for_every_file_and_may_end_it(objects: MemoryObjects, tree: str) -> None:
    looked = count()

    def look() -> None:
        if next(looked) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Searcher(objects).lines(tree, "add", look=look)


def test_a_blob_is_decoded_once_and_an_edit_is_seen(
    objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    blob = objects.blob
    monkeypatch.setattr(objects, "blob", lambda oid: (read.append(oid), blob(oid))[1])
    search = Searcher(objects)
    first, second = (
        objects.tree({"a": b"old\n", "b": b"same\n"}),
        objects.tree({"a": b"new\n", "b": b"same\n"}),
    )
    assert not search.lines(first, "new").hits
    assert search.lines(second, "new").hits
    assert search.lines(second, "same").hits
    assert len(read) == 3


def test_the_cache_is_bounded(objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.runner.repository.search.MAX_KEPT", 500)
    search = Searcher(objects)
    tree = objects.tree({f"f{n}": b"line %d\n" % n for n in range(50)})
    assert len(search.lines(tree, "line").hits) == 50
    assert len(search._texts) < 10
    assert len(search.lines(tree, "line").hits) == 50


def test_a_real_store_is_searched_the_same(store: Store, git: Git) -> None:
    found = Searcher(store).lines(git.tree(FILES), "add")
    memory = MemoryObjects()
    assert found == Searcher(memory).lines(memory.tree(FILES), "add")
