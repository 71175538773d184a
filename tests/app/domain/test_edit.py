"""Edits: all or nothing, gated by the hash of what was read, bytes outside the change kept."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.edit import (
    EXECUTABLE,
    FILE,
    GITLINK,
    LINK,
    MAX_LINE,
    MAX_NEW_FILE,
    MAX_NEW_TOTAL,
    Delete,
    Edit,
    EditRefused,
    Replace,
    Write,
    apply,
    parse,
)
from app.domain.replace import rewrite

Made = dict[str, tuple[int, bytes | None]]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def run(files: dict[str, bytes], *edits: Edit, mode: int = FILE) -> Made:
    return apply(edits, lambda path: (files[path], mode) if path in files else None)


def replaced(data: bytes, *pairs: tuple[str, str]) -> bytes:
    edits = [Replace("a", sha(data), old, new) for old, new in pairs]
    made = run({"a": data}, *edits)["a"][1]
    assert made is not None
    return made


def refused(files: dict[str, bytes], *edits: Edit, mode: int = FILE) -> str:
    with pytest.raises(EditRefused) as answer:
        run(files, *edits, mode=mode)
    return str(answer.value)


# -- what the model may say


def test_edits_are_read_as_they_were_written() -> None:
    given = [
        {"path": "a", "sha256": "AB", "old": "x", "new": "y"},
        {"path": "b", "content": "text"},
        {"path": "c", "sha256": "cd", "content": "", "delete": False},
        {"path": "d", "sha256": "ef", "delete": True},
    ]
    assert parse({"edits": given}) == (
        Replace("a", "ab", "x", "y"),
        Write("b", "", "text"),
        Write("c", "cd", ""),
        Delete("d", "ef"),
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "empty"),
        ([], "empty"),
        ([{"path": "a", "content": ""}] * 65, "65 edits"),
        ([{"path": "a"}], "none of them"),
        ([{"path": "a", "delete": False}], "none of them"),
        ([{"path": "a", "content": "", "delete": True}], "content and delete"),
        ([{"path": "a", "content": "", "old": "x"}], "old/new and content"),
        ([{"path": "a", "sha256": "ab", "old": "x"}], "both `old` and `new`"),
        ([{"path": "a", "sha256": "ab", "new": "x"}], "both `old` and `new`"),
        ([{"path": "a", "old": "x", "new": "y"}], "`sha256` is missing"),
        ([{"path": "ok", "content": ""}, {"path": "a", "delete": True}], r"edits\[1\]: `sha256`"),
    ],
)
def test_an_edit_is_exactly_one_of_three(given: Any, said: str) -> None:
    with pytest.raises(EditRefused, match=said):
        parse({"edits": given} if given is not None else {})


# -- bytes


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb\nc\n", "b", "B", b"a\nB\nc\n"),
        (b"\xef\xbb\xbfa\r\nb\r\nc", "b", "B", b"\xef\xbb\xbfa\r\nB\r\nc"),
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\nb\n", b"a\r\nx\r\ny\r\nb\r\nc\r\n"),
        (b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
        (b"a\nb", "b", "b\r\nc", b"a\nb\nc"),
        (b"a\r\nb\r\n", "a\r\nb", "x", b"x\r\n"),
        (b"one\ntwo\r\nthree\n", "two", "2\n2", b"one\n2\r\n2\r\nthree\n"),
        (b"one\r\ntwo\nthree\r\n", "one\ntwo\nthree", "one\nTWO\nthree", b"one\r\nTWO\nthree\r\n"),
        (b"x = '\xe9'\ny = 1\n", "y = 1", "y = 2", b"x = '\xe9'\ny = 2\n"),
        (b"\xe9\r\na\r\n", "a", "b\nc", b"\xe9\r\nb\r\nc\r\n"),
        (b"lone\rcr\r\nx\r\n", "x", "y", b"lone\rcr\r\ny\r\n"),
        (b"a\r\r\nb\r\n", "b", "c", b"a\r\r\nc\r\n"),
        (b"a", "a", "", b""),
        (b"a\r\n\r\nb", "\n\n", "\n", b"a\r\nb"),
        (b"caf\xc3\xa9\n", "café", "thé", b"th\xc3\xa9\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
    ],
)
def test_everything_outside_the_change_keeps_its_bytes(
    before: bytes, old: str, new: str, after: bytes
) -> None:
    assert replaced(before, (old, new)) == after


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nB\n", b"a\r\nB\r\n"),
        (b"\xef\xbb\xbfa\r\nb", "a\nb\nc", b"\xef\xbb\xbfa\r\nb\r\nc"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        (b"a\nb\r\nc\n", "a\nb\nC\n", b"a\nb\r\nC\n"),
        (b"", "a\n", b"a\n"),
        (b"a\n", "", b""),
        (b"a\n", "a", b"a"),
    ],
)
def test_a_rewritten_file_keeps_mark_and_line_ends(
    before: bytes, content: str, after: bytes
) -> None:
    assert run({"a": before}, Write("a", sha(before), content)) == {"a": (FILE, after)}


TEXT = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "é", ""]), max_size=14).map("".join)


@given(TEXT, TEXT, TEXT)
def test_no_rewriting_touches_the_lines_around_it(head: str, tail: str, new: str) -> None:
    before = f"{head}\n<<old>>\n{tail}".encode()
    content = f"{head}\n{new}\n{tail}".replace("\r\n", "\n")
    after = rewrite(before, content)
    assert after.replace(b"\r\n", b"\n") == content.encode()
    assert after.startswith(head.encode())
    assert after.endswith(tail.encode())


def test_several_replacements_of_one_file_follow_each_other() -> None:
    assert replaced(b"a\nb\n", ("a", "b2"), ("b2\nb", "c")) == b"c\n"


def test_edits_of_several_files_are_all_made() -> None:
    files = {"a": b"1\n", "b": b"2\n", "c": b"3\n"}
    made = run(
        files,
        Replace("a", sha(b"1\n"), "1", "one"),
        Write("new/x.py", "", "n\n"),
        Write("b", sha(b"2\n"), "two\n"),
        Delete("c", sha(b"3\n")),
    )
    assert made == {
        "a": (FILE, b"one\n"),
        "new/x.py": (FILE, b"n\n"),
        "b": (FILE, b"two\n"),
        "c": (0, None),
    }


def test_an_existing_file_keeps_its_mode_and_a_new_one_is_plain() -> None:
    data = b"#!/bin/sh\n"
    assert run({"a": data}, Write("a", sha(data), "x\n"), mode=EXECUTABLE) == {
        "a": (EXECUTABLE, b"x\n")
    }
    assert run({}, Write("b", "", "")) == {"b": (FILE, b"")}


# -- refusals


def test_no_match_shows_the_closest_real_lines() -> None:
    data = b"def total(items):\n    return sum(items)\n\nprint(total([1]))\n"
    said = refused({"a": data}, Replace("a", sha(data), "return sum(item)", "x"))
    assert "occurs nowhere" in said
    assert "2:     return sum(items)" in said


def test_no_match_but_for_white_space_shows_the_whole_place() -> None:
    data = b"x\nif a:\n\treturn  b\n"
    said = refused({"a": data}, Replace("a", sha(data), "if a:\n    return b", "x"))
    assert "2: if a:\n3: \treturn  b" in said


def test_no_match_and_nothing_near_says_so() -> None:
    said = refused({"a": b"alpha\n"}, Replace("a", sha(b"alpha\n"), "zzzzzz\n", "x"))
    assert "No line is close" in said


def test_an_old_text_of_blank_lines_only_is_refused() -> None:
    assert "nowhere" in refused({"a": b"a\n"}, Replace("a", sha(b"a\n"), "\n\n\n", "x"))


def test_several_matches_are_counted_with_their_lines() -> None:
    data = b"}\n}\n"
    said = refused({"a": data}, Replace("a", sha(data), "}", "});"))
    assert "2 matches (lines 1, 2)" in said


def test_overlapping_matches_are_ambiguous_too() -> None:
    assert "2 matches (lines 1, 1)" in refused({"a": b"aaa"}, Replace("a", sha(b"aaa"), "aa", "b"))


@pytest.mark.parametrize(("lines", "said"), [(30, "30 matches"), (5_000, "1000 or more matches")])
def test_very_many_matches_are_cut(lines: int, said: str) -> None:
    data = b"x\n" * lines
    answer = refused({"a": data}, Replace("a", sha(data), "x", "y"))
    assert said in answer
    assert "19, 20, …)" in answer
    assert len(answer) < 400


def test_a_stale_hash_is_refused_with_the_current_one() -> None:
    data = b"now\n"
    for edit in (
        Replace("a", sha(b"then\n"), "now", "x"),
        Write("a", sha(b"then\n"), "x"),
        Delete("a", sha(b"then\n")),
    ):
        said = refused({"a": data}, edit)
        assert sha(data) in said
        assert "Read it again" in said


def test_an_existing_file_is_not_overwritten_without_its_hash() -> None:
    said = refused({"a": b"x\n"}, Write("a", "", "y\n"))
    assert "exists" in said
    assert sha(b"x\n") in said


def test_all_edits_of_a_call_fall_with_one() -> None:
    files = {"a": b"1\n", "b": b"2\n"}
    edits = (Replace("a", sha(b"1\n"), "1", "one"), Replace("b", "0" * 64, "2", "two"))
    assert "`b`" in refused(files, *edits)
    assert files == {"a": b"1\n", "b": b"2\n"}


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", "a//b", "a\\b", "c\0d"])
def test_a_path_without_canonical_form_is_refused(path: str) -> None:
    assert "path is refused" in refused({path: b""}, Write(path, "", "x"))


@pytest.mark.parametrize("path", ["-rf", "con.py", "A~1.TXT"])
def test_a_bad_new_name_is_refused_but_an_existing_one_can_be_edited(path: str) -> None:
    assert "path is refused" in refused({}, Write(path, "", "x"))
    assert run({path: b"a"}, Replace(path, sha(b"a"), "a", "b"))[path] == (FILE, b"b")


def test_a_missing_file_cannot_be_edited() -> None:
    for edit in (Replace("a", "0" * 64, "x", "y"), Delete("a", "0" * 64), Write("a", "0", "x")):
        assert "There is no file `a`" in refused({}, edit)


@pytest.mark.parametrize("mode", [LINK, GITLINK])
def test_links_and_submodules_are_never_edited(mode: int) -> None:
    data = b"target"
    for edit in (Write("a", sha(data), "x"), Delete("a", sha(data))):
        assert "link or a submodule" in refused({"a": data}, edit, mode=mode)
    assert "`a` is not a folder" in refused({"a": data}, Write("a/b/c.py", "", "x"), mode=mode)


def test_binary_files_and_large_file_pointers_are_never_edited() -> None:
    binary, pointer = b"\x89PNG\0", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    assert "binary" in refused({"a": binary}, Write("a", sha(binary), "x"))
    assert "Git LFS" in refused({"a": pointer}, Replace("a", sha(pointer), "oid", "x"))
    assert "Git LFS" in refused({}, Write("a", "", pointer.decode()))
    assert "binary" in refused({}, Write("a", "", "a\0b"))


def test_a_file_that_is_not_utf8_takes_ascii_replacements_only() -> None:
    data = b"caf\xe9 = 1\n"
    assert "only ASCII" in refused({"a": data}, Replace("a", sha(data), "1", "é"))
    assert "not UTF-8" in refused({"a": data}, Write("a", sha(data), "x"))


def test_what_changes_nothing_is_refused() -> None:
    data = b"a\nb\n"
    assert "the same" in refused({"a": data}, Replace("a", sha(data), "a", "a"))
    assert "`old` is empty" in refused({"a": data}, Replace("a", sha(data), "", "x"))
    assert "changes nothing" in refused({"a": data}, Write("a", sha(data), "a\nb\n"))
    there_and_back = (Replace("a", sha(data), "a", "c"), Replace("a", sha(data), "c", "a"))
    assert "changes nothing" in refused({"a": data}, *there_and_back)


def test_two_kinds_of_edit_of_one_file_are_refused() -> None:
    data = b"a\n"
    pair = (Write("a", sha(data), "b\n"), Replace("a", sha(data), "a", "c"))
    assert "edited again" in refused({"a": data}, *pair)
    assert "edited again" in refused({}, Write("n", "", "1"), Write("n", "", "2"))


def test_twins_in_letter_case_are_refused() -> None:
    assert "letter case" in refused({}, Write("A.py", "", "1"), Write("a.py", "", "2"))


def test_sizes_are_capped() -> None:
    line = "x" * 99 + "\n"
    full = line * (MAX_NEW_FILE // 100) + "x" * (MAX_NEW_FILE % 100)
    assert run({}, Write("a", "", full))
    assert "would have" in refused({}, Write("a", "", full + "x"))
    total = [Write(n, "", full) for n in "abc"]
    assert 3 * len(full) > MAX_NEW_TOTAL
    assert "in one call" in refused({}, *total)
    assert run({}, Write("a", "", "y" * MAX_LINE))
    assert "20,001 characters" in refused({}, Write("a", "", "y" * (MAX_LINE + 1)))


def test_a_long_line_that_was_there_may_stay() -> None:
    data = b"y" * (MAX_LINE + 5) + b"\nb\n"
    assert replaced(data, ("b", "c")).endswith(b"\nc\n")


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\U000e0041", "\ufe0f\ufe0f", "\x1b"])
def test_characters_that_hide_are_refused_by_name(char: str) -> None:
    said = refused({}, Write("a.py", "", f"ok\nx = '{char}'\n"))
    assert "line 2" in said
    assert f"U+{ord(char[0]):04X}" in said
    data = f"s = '{char}'\nb\n".encode()
    assert replaced(data, ("b", "c")).endswith(b"c\n")  # what was there may stay
    assert "line 1" in refused({"a": data}, Replace("a", sha(data), "s", "t"))


def test_half_a_surrogate_pair_is_refused() -> None:
    for edit in (Write("a", "", "\ud800"), Replace("a", "0", "\udfff", "x")):
        assert "surrogate" in refused({}, edit)
    assert "no file" in refused({}, Delete("a", "0"))
