"""Untrusted text inside Markdown is inert wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.markdown import bullets, code, cut, details, fence, inline, table, tail
from tests.app.domain.rendered import problems, tokens

HOSTILE = [
    "@org/all Fixes #1 closes GH-7 resolves acme/calc#3",
    "![x](http://evil/?q=1) [y](http://evil) <http://evil> www.evil.org http://evil bob@evil.org",
    "</details><img src=x><script>alert(1)</script><!-- x",
    "a | b \\| c ` | ``` d",
    "# heading\n- list\n1. one\n> quote\n===\n---\n/merge",
    "`@org` `</code>` `a|b` ``` `` \\` *b* __c__ ~~d~~ $x$",
    "<!-- /patchwarrant:body:0a1b2c -->",
    "\\",
    "a\\",
    "&lt;img&gt; &#64;org &commat;org",
]
TEXTS = (
    st.lists(
        st.sampled_from(
            [*HOSTILE, "`", "|", "\n", "\\", "@a", "#1", "<b>", "~~~", "```", "[", "](", "x"]
        )
    ).map("".join)
    | st.text()
)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("1. a")
@example("- a")
@example("+ a")
@example("= a")
def test_inline_text_and_names_are_inert(text: str) -> None:
    for made in (inline(text, 5_000), code(text, 5_000)):
        assert "\n" not in made
        for page in (made, f"- {made}", f"**x:** {made} more", f"> {made}"):
            assert problems(page) == []
        kinds = {token.type for token in tokens(made)}
        assert not kinds & {"heading_open", "bullet_list_open", "ordered_list_open", "hr", "fence"}
        assert not kinds & {"em_open", "strong_open", "s_open", "blockquote_open", "code_block"}
        assert not made.startswith("/")


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_a_table_keeps_its_shape(left: str, right: str) -> None:
    page = table(("a", "b"), [(inline(left), code(right)), (code(left), inline(right))])
    cells = [token.type for token in tokens(page)]
    assert cells.count("tr_open") == 3
    assert cells.count("td_open") == 4
    assert problems(page) == []
    # GitHub splits a row at every bar that no backslash stands before.
    assert all(line.count("|") == 3 for line in page.splitlines())


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.booleans())
@example("```\n@org/all Fixes #1 </details><img src=http://x/y>\n````", False)
@example("`" * 500, False)
def test_a_fence_is_closed_by_nothing_inside(text: str, exact: bool) -> None:
    page = details("Log of", fence(text, exact=exact), text) + "\n\n## after"
    fences = [token for token in tokens(page) if token.type == "fence"]
    assert len(fences) == 1
    assert problems(page) == []
    assert [token.content for token in tokens(page) if token.type == "inline"] == ["after"]


def test_the_text_of_a_fence_is_what_was_given() -> None:
    text = "def f():\n\treturn '@pytest'  # 1\n"
    (block,) = [token for token in tokens(fence(text, "diff", exact=True)) if token.type == "fence"]
    assert block.content == text
    assert block.info == "diff"


def test_commands_of_bots_and_our_own_markers_are_inert_in_fences() -> None:
    text = "/merge\n  /approve now\n/usr/lib/x\n<!-- patchwarrant:status:1 -->"
    lines = fence(text).splitlines()
    assert lines[1:-1] == [
        "·/merge",
        "  ·/approve now",
        "/usr/lib/x",
        "<·!-- patchwarrant:status:1 -->",
    ]


def test_pairs_of_backticks_stay_code() -> None:
    assert inline("set `limits.turns` in `.github/agent.yml`") == (
        "set `limits.turns` in `.github/agent.yml`"
    )


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (cut("abcdef", 6), "abcdef"),
        (cut("abcdefg", 6), "abcdef … (1 more characters)"),
        (tail("abcdefg", 6), "(1 earlier characters were cut) …\nbcdefg"),
        (bullets(["a", "b", "c"], 2), "- a\n- b\n- … and 1 more"),
        (bullets([], 2), ""),
        (inline(" \n"), "(nothing)"),
        (code(""), "`(empty)`"),
        (fence(""), "```text\n(empty)\n```"),
    ],
)
def test_cuts_say_what_is_missing(made: str, wanted: str) -> None:
    assert made == wanted


def test_a_newline_in_a_name_is_shown() -> None:
    (shown,) = [one for one in tokens(code("a\nb.py")) if one.type == "inline"]
    text = "".join(one.content for one in shown.children or () if one.type == "text")
    assert text == "a\\nb.py"
    assert "a b.py" not in details("Failures of", "x", "a\nb.py")
