"""A failure's text becomes error, message, place and at most eight telling lines (C5)."""

from __future__ import annotations

from worker.runner.checks.parsers.trace import TRACE_LINES, failure_of


def test_the_last_place_inside_the_repository_is_named() -> None:
    text = (
        "def test_c():\n>       f(1)\n\ntest_c.py:6: \n_ _ _\npkg/c.py:2: in f\n"
        "    return g(x)\n_ _ _\n>       raise ValueError('a')\nE       ValueError: a: b\n\n"
        "/usr/lib/python3/x.py:4: ValueError"
    )
    failure = failure_of("t", text)
    assert (failure.file, failure.line, failure.error, failure.message) == (
        "pkg/c.py",
        2,
        "ValueError",
        "a: b",
    )
    assert failure.trace[0] == ">       f(1)"
    assert len(failure.trace) <= TRACE_LINES


def test_a_chain_of_exceptions_ends_with_the_one_that_came_out() -> None:
    text = (
        ">       int('x')\nE       ValueError: invalid literal\n\na.py:3: ValueError\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        ">       raise KeyError('k')\nE       KeyError: 'k'\n\na.py:5: KeyError"
    )
    failure = failure_of("t", text)
    assert (failure.error, failure.message, failure.line) == ("KeyError", "'k'", 5)


def test_a_bare_assertion_has_its_type_from_the_end() -> None:
    failure = failure_of(
        "t", ">   assert 1 == 2\nE   assert 1 == 2\n\ntests/test_a.py:4: AssertionError"
    )
    assert (failure.error, failure.message) == ("AssertionError", "assert 1 == 2")


def test_a_syntax_error_names_its_line() -> None:
    text = (
        "/usr/lib/python3/ast.py:50: in parse\n    return compile(source)\n"
        'E     File "/workspace/pkg/bad.py", line 2\nE       value = [1, 2\n'
        "E   SyntaxError: '[' was never closed"
    )
    failure = failure_of("t", text)
    assert (failure.error, failure.file, failure.line) == ("SyntaxError", "pkg/bad.py", 2)


def test_a_plain_traceback_is_read_too() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 7, in f\nOSError: [Errno 2] x'
    failure = failure_of("t", text)
    assert (failure.error, failure.message, failure.file, failure.line) == (
        "OSError",
        "[Errno 2] x",
        "a.py",
        7,
    )


def test_without_a_text_the_claim_is_the_message() -> None:
    assert failure_of("t", "", "TypeError: no\nmore").error == "TypeError"
    assert failure_of("t", "", "not as expected").message == "not as expected"
    assert failure_of("t", "", "").error == "failure"


def test_long_traces_keep_the_last_frame_and_the_end() -> None:
    frames = "".join(f"> call{n}()\na.py:{n}: in f\n" for n in range(1, 40))
    body = "".join(f"E   line {n}\n" for n in range(40))
    failure = failure_of("t", f"{frames}{body}a.py:99: AssertionError")
    assert len(failure.trace) == TRACE_LINES
    assert "> call39()" in failure.trace
    assert failure.trace[-1] == "a.py:99: AssertionError"


def test_colours_and_hidden_characters_do_not_hide_anything() -> None:
    failure = failure_of("t", "\x1b[31mE   ValueError: \u202ered\x1b[0m\x00\n")
    assert failure.error == "ValueError"
    assert "\x1b" not in failure.message + "".join(failure.trace)
    assert "\u202e" not in failure.message
