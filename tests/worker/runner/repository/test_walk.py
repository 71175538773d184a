"""A base that could not be kept byte for byte is refused before anything is done with it."""

from __future__ import annotations

import pytest

from app.domain.edit import EXECUTABLE, GITLINK, LINK
from app.domain.errors import Halt, Reason
from tests.worker.runner.repository.plumbing import EMPTY, Git
from worker.runner.repository import Store, walk
from worker.runner.repository.tree import rebuilt

ODD_NAMES = {
    "café.txt": b"1",
    "tab\there": b"2",
    'quote"d': b"3",
    "back\\slash": b"4",
    "p b/q": b"5",
    "-rf": b"6",
    "new\nline": b"7",
    "trailing ": b"8",
    "e\u0301": b"9",
    "\u00e9": b"10",
    "CON": b"11",
    "A": b"12",
    "a": b"13",
    "a-b": b"14",
    "a.txt": b"15",
    "a0": b"16",
    "d/a.b/c": b"17",
    "d/a": b"18",
    "d/a-b/c": b"19",
}


def test_every_name_that_git_keeps_is_kept(store: Store, git: Git) -> None:
    tree = git.tree(ODD_NAMES | {"x.sh": (EXECUTABLE, b""), "l": (LINK, b"a"), "e": b""})
    store.validate(tree)
    found = [(e.path, e.mode, e.oid, e.size) for e in store.entries(tree)]
    assert found == sorted(git.listing(tree))
    assert len(found) == len(ODD_NAMES) + 3


def test_links_and_submodules_of_the_base_are_kept(store: Store, git: Git) -> None:
    commit = "1" * 40
    tree = git.tree({"sub": (GITLINK, commit.encode()), "l": (LINK, b"/etc"), "a": b"x"})
    store.validate(tree)
    assert [(e.path, e.mode, e.oid) for e in store.entries(tree)][2] == ("sub", GITLINK, commit)


def test_an_empty_tree_is_valid(store: Store, git: Git) -> None:
    git.literal("tree", b"")
    store.validate(EMPTY)
    assert store.entries(EMPTY) == ()


def refused(store: Store, tree: str) -> str:
    with pytest.raises(Halt) as stopped:
        store.validate(tree)
    assert stopped.value.record.reason is Reason.BASE_INVALID
    assert stopped.value.record.next_step
    with pytest.raises(Halt):
        store.entries(tree)
    return stopped.value.record.message


@pytest.mark.parametrize("mode", ["100664", "100600", "104755", "040000", "0100644", "100645"])
def test_a_legacy_mode_is_refused_at_any_depth(store: Store, git: Git, mode: str) -> None:
    entry = git.raw(("100644", b"x", git.blob(b"x"))) if mode == "040000" else git.blob(b"x")
    inner = git.raw((mode, b"old", entry))
    for tree, path in ((inner, "'old'"), (git.raw(("40000", b"dir", inner)), "'dir/old'")):
        said = refused(store, tree)
        assert path in said
        assert mode in said


@pytest.mark.parametrize(
    "name",
    [b"", b".", b"..", b"a/b", b".git", b".GIT", b"git~1", b".git.", ".g\u200cit".encode()],
)
def test_a_name_that_git_forbids_is_refused(store: Store, git: Git, name: bytes) -> None:
    assert refused(store, git.raw(("100644", name, git.blob(b"x"))))
    inner = git.raw(("100644", b"x", git.blob(b"x")))
    assert refused(store, git.raw(("40000", b"d", git.raw(("40000", name, inner)))))


def test_a_path_in_a_refusal_is_escaped(store: Store, git: Git) -> None:
    tree = git.raw(("100664", "\x1b]8;;\u202eevil".encode(), git.blob(b"x")))
    said = refused(store, tree)
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\\x1b]8;;\\u202eevil" in said


def test_disorder_and_doubles_are_refused(store: Store, git: Git) -> None:
    x = git.blob(b"x")
    sub = git.raw(("100644", b"x", x))
    for entries in (
        [("100644", b"b", x), ("100644", b"a", x)],
        [("100644", b"a", x), ("100644", b"a", x)],
        [("40000", b"a", sub), ("100644", b"a.b", x)],
        [("100644", b"a", x), ("100644", b"a-b", x), ("40000", b"a", sub)],
    ):
        assert "twice or out of order" in refused(store, git.raw(*entries))


def test_names_that_no_file_system_or_text_can_hold_are_refused(store: Store, git: Git) -> None:
    x = git.blob(b"x")
    assert "UTF-8" in refused(store, git.raw(("100644", b"caf\xe9", x)))
    assert "too long" in refused(store, git.raw(("100644", b"n" * 256, x)))


def test_damaged_missing_and_mistyped_objects_are_refused(store: Store, git: Git) -> None:
    x = git.blob(b"x")
    whole = git.raw(("100644", b"a", x))
    assert "damaged" in refused(store, git.literal("tree", b"100644 a\0short"))
    assert "damaged" in refused(store, git.literal("tree", b"no blank at all"))
    assert "not sent" in refused(store, git.raw(("40000", b"d", "1" * 40)))
    assert "not sent" in refused(store, git.raw(("100644", b"a", "1" * 40)))
    assert "no folder" in refused(store, git.raw(("40000", b"d", x)))
    assert "is none" in refused(store, git.raw(("100644", b"a", whole)))


def test_depth_and_number_of_entries_are_bounded(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = git.raw(("100644", b"x", git.blob(b"x")))
    for _ in range(walk.MAX_FOLDERS_DEEP + 1):
        tree = git.raw(("40000", b"d", tree))
    assert "deeper than" in refused(store, tree)
    wide = git.tree({f"f{n}": b"" for n in range(12)})
    store.validate(wide)
    monkeypatch.setattr(walk, "MAX_ENTRIES", 11)
    assert "over 11 entries" in refused(Store(git.path), wide)


def test_writing_every_folder_again_would_show_what_the_walk_overlooked(
    store: Store, git: Git
) -> None:
    x = git.blob(b"x")
    disorder = git.raw(("100644", b"b", x), ("100644", b"a", x))
    for tree in (disorder, git.raw(("40000", b"d", disorder))):
        with pytest.raises(Halt, match="written again"):
            rebuilt(store._repo, tree)
    rebuilt(store._repo, git.tree({"a/b": b"1", "c": b"2"}))


def test_listings_are_kept_for_some_trees_only(store: Store, git: Git) -> None:
    trees = [git.tree({f"f{n}": b"x"}) for n in range(20)]
    for _ in range(2):
        assert [store.entries(tree)[0].path for tree in trees] == [f"f{n}" for n in range(20)]
    assert len(store._listings) < 20
