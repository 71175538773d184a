"""Markdown as GitHub's pages show it: a few harmless tags live, everything else is text."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

TAGS = ("details", "summary", "br", "sub", "sup", "kbd", "b", "i", "strong", "em", "code", "p")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
PIECE = re.compile(r"<(/?)([a-zA-Z]+)( open)?\s*/?>")


def tamed(markup: str) -> str:
    """Raw HTML of a body: comments go, listed tags without attributes stay, the rest is shown."""
    text, out, at = COMMENT.sub("", markup), [], 0
    for found in PIECE.finditer(text):
        name = found.group(2).lower()
        if name not in TAGS:
            continue
        out.append(html.escape(text[at : found.start()]))
        out.append(f"<{found.group(1)}{name}{found.group(3) or ''}>")
        at = found.end()
    return "".join(out) + html.escape(text[at:])


def _raw(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return tamed(tokens[at].content)


def _image(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """No page loads anything from elsewhere: an image is its address as a text."""
    token = tokens[at]
    return f"[image: {html.escape(token.content)} {html.escape(str(token.attrGet('src')))}]"


def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    made.add_render_rule("html_block", _raw)
    made.add_render_rule("html_inline", _raw)
    made.add_render_rule("image", _image)
    return made


RENDERER = _renderer()


def rendered(text: str | None) -> str:
    """Safe HTML of a Markdown text."""
    return RENDERER.render(text) if text else "<p><i>No description provided.</i></p>"
