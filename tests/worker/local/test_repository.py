"""A repository of a person is read and never written, wherever its objects lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.edit import FILE, Change
from app.domain.errors import Missing, Refused
from app.domain.record import BLOB_CAP, Kept
from tests.worker.local.world import BEFORE, Scene, commit, git, scene
from worker.local.candidate import ranged
from worker.local.hold import MemoryHold
from worker.local.repository import NotFound, Repository

CONFIG = ".github/agent.yml"


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


def listing(place: Path) -> set[str]:
    return {str(path) for path in (place / ".git" / "objects").rglob("*") if path.is_file()}


def test_a_store_borrows_the_objects_and_writes_elsewhere(made: Scene, tmp_path: Path) -> None:
    before = listing(made.place)
    repository = Repository(made.place)
    store = repository.store(tmp_path / "borrowed.git")
    tree = repository.tree_of(made.head)
    assert store.fetch("", "", made.head) == tree
    hold = MemoryHold(1)
    changed = store.build(tree, [Change("calc.py", FILE, hold.put(BEFORE.encode()))], hold.get)
    assert store.read(changed, "calc.py") == BEFORE.encode()
    assert listing(made.place) == before


def test_a_work_tree_beside_the_main_one_has_its_objects_too(made: Scene, tmp_path: Path) -> None:
    other = tmp_path / "beside"
    git(made.place, "worktree", "add", "-q", "--detach", str(other), made.base)
    repository = Repository(other / "tests")
    assert repository.head() == made.base
    store = repository.store(tmp_path / "borrowed.git")
    assert store.read(repository.tree_of(made.head), "calc.py")


def test_histories_and_who_set_a_file(made: Scene) -> None:
    repository = Repository(made.place)
    main = "refs/heads/main"
    assert repository.contains(made.base, main) is True
    assert repository.contains(made.head, main) is False
    assert repository.contains("0" * 40, main) is None
    assert repository.contains(made.base, "refs/heads/none") is None
    assert repository.parents(made.head) == (made.base,)
    assert repository.parents("0" * 40) is None and repository.tree_of("0" * 40) == ""
    assert f"commit {made.base[:12]} by Mona on 2" in repository.last_change(CONFIG, made.head)
    later = commit(made.place, {CONFIG: "version: 1\n"}, "Other")
    assert later[:12] in repository.last_change(CONFIG, later)
    assert repository.last_change("nowhere", later) == ""
    assert repository.file(CONFIG, later) == b"version: 1\n"
    assert repository.file("tests", later) is None and repository.file("no/where", later) is None


def test_ranges_are_named_as_git_names_them(made: Scene) -> None:
    repository = Repository(made.place)
    for words in ("", "main", "main..", "main..fix", "main...fix", f"{made.base}..{made.head}"):
        found = ranged(repository, words)
        assert (found.base, found.head, found.notes) == (made.base, made.head, ())
    for words in ("fix", "nowhere..fix", "main..nowhere", "fix..main"):
        with pytest.raises(NotFound):
            ranged(repository, words)
    git(made.place, "checkout", "-q", "--orphan", "alone")
    commit(made.place, {"a": "b"}, "Alone")
    with pytest.raises(NotFound, match="no commit in common"):
        ranged(repository, "main..alone")
    git(made.place, "branch", "-q", "-D", "main")
    with pytest.raises(NotFound, match=r"BASE\.\.HEAD"):
        ranged(repository, "")


def test_what_is_no_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="not inside a git repository"):
        Repository(tmp_path)
    with pytest.raises(NotFound, match="not inside a git repository"):
        Repository(tmp_path / "nowhere")


def test_the_hold_in_memory_keeps_what_it_is_given() -> None:
    hold = MemoryHold(1_000)
    data = {"a": (1, 2), "kind": Kept.NOTE}
    first, second = hold.note(Kept.NOTE, data), hold.note(Kept.CHECK, {})
    assert first.data == {"a": [1, 2], "kind": "note"} and first.ms < second.ms
    first.data["a"] = 0
    assert hold.entries()[0].data["a"] == [1, 2]
    digest = hold.put(b"x")
    assert hold.get(digest) == b"x"
    with pytest.raises(Missing):
        hold.get("0" * 64)
    with pytest.raises(Refused):
        hold.put(b"x" * (BLOB_CAP + 1))
    assert hold.recall("n") is None
    hold.remember("n", {"a": 1})
    assert hold.recall("n") == {"a": 1}
    assert hold.intent("k") is None
    hold.intend("k", {"a": 1})
    hold.fulfil("k", {"b": 2})
    hold.intend("k", {"a": 3})
    assert hold.intent("k") == {"a": 1, "b": 2, "done": True}
    hold.look()
    hold.reserve(1)
    hold.settle(1)
