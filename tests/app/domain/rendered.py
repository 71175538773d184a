"""A report as a Markdown reader sees it: what in it is live, for tests of breaking out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_OURS = re.compile(
    r"<!-- /?patchwarrant:(?:body|status|ending):[A-Za-z0-9]+ -->"
    r"|<!-- patchwarrant:evidence:[0-9a-f:]+ -->"
    r"|</?(?:sub|details|summary|code)>"
)
# What GitHub makes a call, a reference or a link of, after entities are read.
_LIVE = re.compile(r"(?i)@[a-z0-9]|#[0-9]|\bgh-[0-9]|://|\bwww\.")


def tokens(text: str) -> Iterator[Token]:
    for token in _PARSER.parse(text):
        yield token
        yield from token.children or ()


def problems(text: str, *ours: str) -> list[str]:
    """Everything live in `text` that is not among `ours` (exact texts, cut out before looking)."""
    found: list[str] = []
    inside_code = False
    for token in tokens(text):
        if token.type in ("link_open", "image"):
            found.append(f"{token.type} {token.attrs}")
        elif token.type in ("html_block", "html_inline"):
            rest = _OURS.sub("", token.content)
            if "<" in rest:
                found.append(f"html {token.content!r}")
            inside_code = "<code>" in token.content if token.type == "html_inline" else False
        elif token.type == "text" and not inside_code:
            seen = token.content
            for one in ours:
                seen = seen.replace(one, "")
            if _LIVE.search(seen):
                found.append(f"live {token.content!r}")
        elif token.type == "heading_open" and token.tag != "h2":
            found.append("a heading that is not ours")
    return found


def headings(text: str) -> list[str]:
    found, wanted = [], False
    for token in tokens(text):
        if wanted and token.type == "inline":
            found.append(token.content)
        wanted = token.type == "heading_open"
    return found


def balanced(text: str) -> bool:
    """Every fold that is opened outside of code is closed."""
    html = "".join(t.content for t in tokens(text) if t.type in ("html_block", "html_inline"))
    return html.count("<details>") == html.count("</details>")
