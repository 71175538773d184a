"""What an issue asks for: criteria and reproductions are found; their absence is asked about."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace

import pytest

from app.domain.contract import Request
from app.domain.errors import Halt, Reason
from app.domain.event import Event, EventKind, Person, Repository
from app.domain.intake import (
    BODY_CAP,
    COUNT_CAP,
    TEXT_CAP,
    TITLE_CAP,
    adopting,
    criteria_of,
    edited,
    links_of,
    listed_files,
    request_of,
    require,
    require_size,
)


def event(title: str = "A title", body: str = "A body") -> Event:
    return Event(
        key="issue:1:2:3:now",
        kind=EventKind.ISSUE_LABELED,
        installation=9,
        repository=Repository(1, "acme", "widgets"),
        issue=2,
        sender=Person(11, "alice"),
        label="agent:fix",
        title=title,
        body=body,
        author=Person(12, "bob"),
        updated_at="2026-11-30T10:00:00Z",
    )


def found(body: str, title: str = "A title") -> list[tuple[str, str]]:
    request = Request(title, body, "", 0, "bob", "alice", "")
    return [(one.source, one.text) for one in criteria_of(request)]


def test_a_request_is_cleaned_and_its_digest_is_over_the_original() -> None:
    request = request_of(event("Fix\u200b  it", "Do <!-- secret order --> this\u202e"))
    assert request.title == "Fix it"
    assert "secret order" not in request.body and "\u202e" not in request.body
    assert request.hidden > 20
    original = "Fix\u200b  it\nDo <!-- secret order --> this\u202e"
    assert request.digest == hashlib.sha256(original.encode()).hexdigest()
    assert (request.author, request.adopted_by) == ("bob", "alice")
    assert request.updated_at == "2026-11-30T10:00:00Z"


def test_a_request_is_capped_and_survives_broken_text() -> None:
    request = request_of(event("t" * 5_000, "b" * 100_000 + "\ud800"))
    assert len(request.title) == TITLE_CAP and len(request.body) == BODY_CAP
    assert len(request.digest) == 64


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- [ ] one\n* [x] two", [("checklist", "one"), ("checklist", "two")]),
        ("## Acceptance criteria\n- one\n- two\n\n## Other\n- not this", [
            ("heading", "one"), ("heading", "two")]),
        ("**Acceptance criteria:**\n1. first\n2) second", [
            ("heading", "first"), ("heading", "second")]),
        ("Acceptance criteria:\nadd(1, 2) gives 3", [("heading", "add(1, 2) gives 3")]),
        ("Done when: the list is sorted", [("heading", "the list is sorted")]),
        ("### Definition of Done\nIt works\nand is fast", [("heading", "It works and is fast")]),
        ("Expected: 3\nActual: -1", [("expected-actual", "Expected: 3 Actual: -1")]),
        ("## Expected behavior\n\n3\n\n## Actual behaviour\n\n-1", [
            ("expected-actual", "Expected: 3 Actual: -1")]),
        ("**Expected result**\nthree", [("heading", "three")]),
        ("Steps to reproduce:\n1. run it", [("reproduction", "1. run it")]),
        ("It fails:\n```python\n>>> add(1, 2)\n-1\n```", [("reproduction", ">>> add(1, 2) -1")]),
        ("```\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n"
         "    f()\nValueError: no\n```", [("traceback", "ValueError: no")]),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1\nlib.errors.NoKeyError: x", [
            ("traceback", "lib.errors.NoKeyError: x")]),
        ("```\nTypeError: x is no function\n    at f (/a/b.js:10:3)\n    at g (/a/c.js:1:1)\n```", [
            ("traceback", "TypeError: x is no function")]),
        ("```\npanic: runtime error: index out of range\n```", [
            ("traceback", "panic: runtime error: index out of range")]),
        ("tests/test_a.py::TestX::test_y[1-2] fails", [
            ("failing-test", "The test `tests/test_a.py::TestX::test_y[1-2]` passes.")]),
        ("`test_add` fails", [("failing-test", "The test `test_add` passes.")]),
        ("--- FAIL: TestAdd (0.00s)", [("failing-test", "The test `TestAdd` passes.")]),
        ("`TestAdd` is red", [("failing-test", "The test `TestAdd` passes.")]),
        ("src/a.test.tsx is red", [("failing-test", "The test `src/a.test.tsx` passes.")]),
    ],
)  # fmt: skip
def test_criteria_and_reproductions_are_found(body: str, expected: list[tuple[str, str]]) -> None:
    assert found(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Please make it better.",
        "After I remove an element, slicing it gives wrong results.",
        "## Acceptance criteria\n_No response_",
        "Expected: N/A\nActual: wrong",
        "Acceptance criteria:\n\nTODO",
        "Steps to reproduce:\n",
        "```\njust words here\n```",
        "    at home (with friends)",
        "## Environment\n- linux\n- python",
        "Actual: it is slow",
        "```\n```",
        "We should have a latest_version someday",
        "Note: this is nothing",
    ],
)
def test_what_is_no_criterion_is_not_taken_for_one(body: str) -> None:
    assert found(body) == []


def test_a_checklist_in_code_is_no_checklist_and_an_open_fence_ends_with_the_text() -> None:
    assert found("~~~\n- [ ] not this\n```\nstill code\n~~~\n- [ ] this") == [("checklist", "this")]
    assert found("```\n- [ ] not this") == []


def test_a_title_can_name_the_failing_test() -> None:
    assert found("", "test_parse fails on Windows") == [
        ("failing-test", "The test `test_parse` passes.")
    ]


def test_repeats_are_dropped_and_the_number_and_length_are_capped() -> None:
    assert found("- [ ] one\n- [ ] one") == [("checklist", "one")]
    many = found("\n".join(f"- [ ] item {n} {'x' * 1000}" for n in range(200)))
    assert len(many) == COUNT_CAP
    assert max(len(text) for _, text in many) == TEXT_CAP


def test_a_long_pair_keeps_both_halves() -> None:
    ((source, text),) = found(f"Expected: {'e' * 900}\nActual: {'a' * 900}")
    assert source == "expected-actual" and "eee" in text and "aaa" in text
    assert len(text) <= TEXT_CAP


def test_neither_criteria_nor_reproduction_is_asked_for_both() -> None:
    request = request_of(event("Make it nice", ""))
    with pytest.raises(Halt) as stop:
        require(request, criteria_of(request))
    record = stop.value.record
    assert record.reason is Reason.NEEDS_INFO
    assert "acceptance criteria" in record.message and "reproduction" in record.message
    assert "empty" in record.message
    assert "Make it nice" in record.details[0]
    assert "agent:fix" in record.next_step


def test_the_question_works_without_a_title() -> None:
    with pytest.raises(Halt) as stop:
        require(request_of(event("", "words")), ())
    assert "this issue" in stop.value.record.details[0]
    assert "empty" not in stop.value.record.message


def test_one_criterion_is_enough() -> None:
    request = request_of(event(body="- [ ] one"))
    require(request, criteria_of(request))


@pytest.mark.parametrize(
    "hostile",
    ["a." * 30_000, "test_" * 12_000, "`" * 60_000, "- [ ] " * 10_000, "at a(" * 12_000,
     ("    at " + "x" * 300 + "\n") * 190, "A" * 60_000, "a/" * 30_000 + ".py", "# " * 30_000,
     ("x." * 50 + "\n") * 500, "- " + " " * 59_000 + "x", "**" * 30_000],
)  # fmt: skip
def test_hostile_text_costs_little(hostile: str) -> None:
    began = time.process_time()
    found(hostile)
    assert time.process_time() - began < 1.0


def asked(body: str, text: str = "", title: str = "t") -> Request:
    commented = replace(event(title, body), text=text) if text else event(title, body)
    return request_of(commented)


def test_a_writers_words_are_part_of_the_request_and_a_criterion() -> None:
    request = asked("It is wrong.", "/agent fix it must give 4\u200b\n\n-- \nMona")
    assert request.said == "" and request.body == "It is wrong."  # hidden text: no command
    request = asked("It is wrong.", "/agent fix it must give 4\n\n-- \nMona")
    assert request.body == "It is wrong.\n\nit must give 4"
    assert [(c.text, c.source) for c in criteria_of(request)] == [("it must give 4", "comment")]
    assert request.digest != asked("It is wrong.").digest


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://github.com/acme/widgets/issues/1#issuecomment-12", (12,)),
        ("https://github.com/Acme/Widgets/pull/1#issuecomment-12 twice", (12,)),
        ("https://ghe.acme.test/acme/widgets/issues/1#issuecomment-12.", (12,)),
        ("https://github.com/acme/widgets/issues/2#issuecomment-12", ()),
        ("https://github.com/acme/other/issues/1#issuecomment-12", ()),
        ("https://github.com/acme/widgets/issues/11#issuecomment-12", ()),
        ("#issuecomment-12", ()),
        ("https://github.com/acme/widgets/issues/1#issuecomment-0", ()),
    ],
)
def test_only_links_to_this_issues_comments_adopt_them(text: str, found: tuple[int, ...]) -> None:
    assert links_of(text, "acme", "widgets", 1) == found


def test_an_adopted_comment_is_cleaned_counted_and_in_the_digest() -> None:
    request = asked("It is wrong.")
    taken = adopting(request, [("#issuecomment-1", "zed", "do\u200b this <!-- and that -->")])
    assert taken.body.endswith("Adopted comment by zed (#issuecomment-1):\n\ndo this ")
    assert taken.hidden == 1 + len("<!-- and that -->")
    assert taken.digest != request.digest and taken.adopted == ("#issuecomment-1",)


@pytest.mark.parametrize(
    ("at", "triggered", "words"),
    [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:12Z", "edited 12 s before the trigger by mona"),
        ("2026-11-30T10:00:12Z", "2026-11-30T10:00:00Z", "edited after the trigger by mona"),
        ("", "2026-11-30T10:00:00Z", ""),
        ("soon", "2026-11-30T10:00:00Z", ""),
        ("2026-11-30T10:00:00", "2026-11-30T10:00:00Z", ""),
    ],
)
def test_an_edit_is_told_by_its_distance(at: str, triggered: str, words: str) -> None:
    found = edited(at, "mona", triggered)
    assert found.startswith(words) and bool(found) == bool(words)


@pytest.mark.parametrize(
    ("count", "large", "possible", "words"),
    [
        (8, False, True, ""),
        (9, False, True, "set the label `agent:large`, or split"),
        (9, False, False, "List at most 8 files, or split"),
        (9, True, True, ""),
        (40, True, True, ""),
        (41, True, True, "List at most 40 files, or split"),
        (2, True, False, "Take the label off"),
    ],
)
def test_an_explicit_list_holds_as_many_files_as_its_class(
    count: int, large: bool, possible: bool, words: str
) -> None:
    files = "\n".join(f"- `src/part{n}.py`" for n in range(count))
    request = asked(f"Wrong.\n\n## Files that may change\n\n{files}\n")
    assert len(listed_files(request)) == count
    if not words:
        require_size(request, large=large, possible=possible)
        return
    with pytest.raises(Halt) as halt:
        require_size(request, large=large, possible=possible)
    record = halt.value.record
    assert record.reason is Reason.NEEDS_INFO and words in record.next_step
    assert f"{count} files" in record.message or not possible
